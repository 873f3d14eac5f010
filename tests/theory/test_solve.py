"""The solver on the paper's task: right, exact where symmetry says so, honest about its errors and
failures."""

import numpy as np
import pytest

from dotphase import SolverOptions, attentions
from dotphase.numerics.precision import in_double
from dotphase.numerics.rules import Sobol
from dotphase.overlaps.coordinates import to_coordinates
from dotphase.overlaps.overlaps import Overlaps
from dotphase.overlaps.symmetric import stabiliser
from dotphase.results.estimate import Estimate
from dotphase.scenario.attentions.symmetry import symmetries
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens
from dotphase.theory.solver.solution import SolveError
from dotphase.theory.solver.solve import solve, solve_many
from dotphase.theory.solver.starts import start
from dotphase.theory.state_evolution.evaluator import evaluator_of
from dotphase.theory.state_evolution.half_steps import (
    compiled_evaluate,
    compiled_input,
    compiled_lowest,
)

# Computed independently with 2^15 symmetrised points, to the digits shown: ε_g and ε_t at ω = 0.3.
INDEPENDENT = {
    ("semantic", 2.0): (0.001404, 0.003590),
    ("semantic", 1.25): (0.002353, 0.002720),
    ("positional", 2.0): (0.003483, 0.004508),
    ("positional", 1.25): (0.003391, 0.002717),
}


@pytest.mark.parametrize(("branch", "alpha"), INDEPENDENT)
def test_the_four_fixed_points_agree_with_an_independent_computation(branch, alpha):
    found = solve(paper(alpha, 0.3), branch, rule=Sobol(2**16), rtol=None)
    assert found.ok
    assert found.mechanism == branch
    assert found.residual < 1e-8
    for estimate, reference in zip(
        (found.test_error, found.train_loss), INDEPENDENT[branch, alpha], strict=True
    ):
        assert estimate.value == pytest.approx(reference, rel=5e-3)
        assert 0 < estimate.error < 5e-3 * reference


@pytest.mark.parametrize("branch", ["semantic", "positional"])
def test_error_bars_match_the_scatter_over_independent_scrambles(branch):
    found = solve_many(
        [paper(1.5, 0.3)] * 20, branch, rtol=None, rules=[Sobol(2**15, seed=s) for s in range(20)]
    )
    assert all(solution.ok for solution in found)
    of = {
        "test_error": lambda s: s.test_error,
        "train_loss": lambda s: s.train_loss,
        "q": lambda s: Estimate(s.overlaps.q[0, 0, 0], s.overlap_errors.q[0, 0, 0]),
        "V": lambda s: Estimate(s.overlaps.V[0, 0, 0], s.overlap_errors.V[0, 0, 0]),
    }
    for name, pick in of.items():
        estimates = [pick(solution) for solution in found]
        values, errors = np.array(estimates), np.array([estimate.error for estimate in estimates])
        # Eight replicates know their scatter badly, and their errors make up for it: by √(7/5) in
        # the root mean square.
        scatter, reported = values.std(ddof=1), np.sqrt((errors**2).mean() / (7 / 5))
        assert 1 / 1.5 < reported / scatter < 1.5, name


def test_what_vanishes_by_symmetry_vanishes_exactly():
    semantic, positional = solve_many([paper(1.5, 0.3)] * 2, ["semantic", "positional"], rtol=None)
    assert (semantic.overlaps.m == 0).all()
    assert (positional.overlaps.theta == 0).all()
    assert (positional.overlaps.m[0] == -positional.overlaps.m[1]).all()
    for part in (*semantic.overlaps, positional.overlaps.q, positional.overlaps.V):
        np.testing.assert_array_equal(part[0], part[1])
    assert np.abs(semantic.overlaps.theta).min() > 0.05
    assert np.abs(positional.overlaps.m).min() > 0.05


@pytest.mark.parametrize("branch", ["semantic", "positional"])
def test_the_fundamental_domain_gives_what_the_whole_orbit_gives(branch):
    """One node per coset, averaged over the stabiliser, is the map on all nodes: in all coordinates
    and observables."""
    scenario = paper(1.5, 0.3)
    group = symmetries(scenario)
    overlaps = start(scenario, branch)

    @in_double
    def compare():
        x = np.asarray(to_coordinates(overlaps, scenario.distribution.rho))
        part = evaluator_of(scenario, Sobol(2**13), group, stabiliser(group, overlaps))
        whole = evaluator_of(scenario, Sobol(2**13), group, group[:1])
        minima, all_minima = part.search(x), whole.search(x)
        return (
            part.basis,
            part(x, minima),
            whole.basis,
            whole(x, all_minima._replace(blur=minima.blur)),
        )

    basis, part, all_basis, whole = compare()
    assert len(part.change) == 3
    assert len(whole.change) == 8
    np.testing.assert_allclose(
        basis.T @ part.change, all_basis.T @ whole.change, rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(part.observables, whole.observables, rtol=1e-9)


def test_a_batch_is_what_single_solves_are_and_compiles_once():
    scenarios = [paper(alpha, omega) for alpha in (1.0, 1.7) for omega in (0.1, 0.3)]
    together = solve_many(scenarios, "positional", rtol=None)
    structure = scenarios[0].structure
    alone = [solve(scenario, "positional", rtol=None) for scenario in scenarios]
    for one, other in zip(together, alone, strict=True):
        assert one.to_dict() | {"seconds": 0} == other.to_dict() | {"seconds": 0}
    before = [len(kernel.programs) for kernel in _kernels(structure)]
    solve_many(
        [paper(1.2 + 0.1 * k, 0.2, sigma=0.45, ridge=0.02) for k in range(4)],
        "positional",
        rtol=None,
    )
    assert [len(kernel.programs) for kernel in _kernels(structure)] == before


def _kernels(structure):
    from dotphase.theory.state_evolution.evaluator import RIVALS

    return (
        compiled_lowest(structure, RIVALS),
        compiled_evaluate(structure),
        compiled_input(structure),
    )


def test_refinement_meets_the_asked_precision_or_says_that_it_could_not():
    loose = solve(paper(1.5, 0.3), "semantic", rtol=3e-3)
    assert loose.ok
    assert loose.nodes > 2**13
    assert loose.test_error.error <= 3e-3 * loose.test_error.value
    poor = solve(paper(1.5, 0.3), "semantic", rtol=1e-4, budget=2**14)
    assert poor.outcome == "imprecise"
    assert "1.0e-04 was asked for" in poor.reason


def test_where_a_branch_does_not_exist_it_says_so():
    found = solve(paper(0.4, 0.3), "semantic", rtol=None)
    assert found.outcome == "collapsed"
    assert found.mechanism == "uninformed"
    assert "no semantic fixed point" in found.reason
    with pytest.raises(SolveError, match="collapsed"):
        solve(paper(0.4, 0.3), "semantic", rtol=None, throw=True)


@pytest.mark.parametrize("branch", ["semantic", "positional"])
def test_where_the_ridge_makes_all_weights_vanish_it_says_so(branch):
    """λ = 0.1, α = 1: q → 0, and what is left is the attention of zero weights, 1/L everywhere."""
    found = solve(paper(1.0, 0.3, ridge=0.1), branch, rtol=None)
    assert found.outcome == "collapsed"
    assert "q → 0: all weights vanish" in found.reason
    assert found.mechanism == "uninformed"
    assert np.abs(found.overlaps.q).max() < 1e-12
    assert found.train_loss.value == pytest.approx(
        found.test_error.value, rel=1e-6
    )  # α L ε_g / 2 without weights
    assert found.stability.branch == "stable"


@pytest.mark.slow
def test_a_rank_two_student_that_loses_its_positions_is_collapsed():
    """Three tokens with three spectra: there is no positional branch, and jumps of few nodes keep m
    from dying out."""
    scenario = Scenario(
        teacher=attentions.mixture(
            np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]), 0.3
        ),
        student=attentions.softmax(2),
        tokens=Tokens([[0.25, 0.4, 0.3], [0.5, 0.2, 0.6]], [0.7, 0.3]),
        positions=Positions([[1.0, -0.5, 0.3], [-0.4, 1.2, 0.6]]),
        sample_ratio=2.0,
        ridge=0.02,
    )
    for ridge in (0.01, 0.02):
        found = solve(scenario.vary(ridge=ridge), "positional", rtol=None)
        uninformed = solve(scenario.vary(ridge=ridge), "uninformed", rtol=None)
        assert found.outcome == "collapsed", found
        assert (
            abs(found.train_loss.value - uninformed.train_loss.value) < uninformed.train_loss.error
        )


def test_rounding_leaves_a_residual_but_an_answer():
    """At α = 10¹² F is known to few digits; the minimum is that of the population loss, as at α =
    10⁶."""
    found, limit = (solve(paper(alpha, 0.3), "semantic", rtol=0.1) for alpha in (1e12, 1e6))
    assert (found.outcome, limit.outcome) == ("imprecise", "converged")
    assert "tenth of their errors" in found.reason
    assert found.test_error.value == pytest.approx(
        limit.test_error.value, abs=0.1 * limit.test_error.error
    )


def test_an_unfinished_iteration_is_no_answer():
    found = solve(paper(1.5, 0.3), "semantic", rtol=None, solver=SolverOptions(max_evaluations=3))
    assert found.outcome == "stalled"
    assert "3 evaluations" in found.reason
    assert found.to_dict()["test_error"]["error"] is None


def test_a_solution_is_a_start_and_overlaps_are_too():
    first = solve(paper(1.5, 0.3), "semantic", rtol=None)
    again = solve(paper(1.5, 0.3), first, rtol=None)
    assert again.evaluations < first.evaluations
    assert again.test_error.value == pytest.approx(first.test_error.value, rel=1e-7)
    moved = solve(paper(1.6, 0.3), first.overlaps, rtol=None)
    named = solve(paper(1.6, 0.3), "semantic", rtol=None)
    assert moved.test_error.value == pytest.approx(named.test_error.value, rel=1e-5)


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("mystic", "start: expected one of"),
        ("random", 'random weights are called "uninformed" in the theory'),
        (np.ones((40, 1)), "got weights; `dotphase.train` starts from weights"),
        (None, "got NoneType"),
        (
            Overlaps(np.eye(2), np.eye(2), np.zeros(2), np.zeros(2)),
            r"start.q: expected shape \(2, 1, 1\)",
        ),
        (
            Overlaps(
                np.full((2, 1, 1), 0.01), np.ones((2, 1, 1)), np.zeros((2, 1)), np.ones((2, 1, 1))
            ),
            "no weights have such overlaps",
        ),
    ],
)
def test_bad_starts_are_refused(start, says):
    with pytest.raises(ValueError, match=says):
        solve(paper(), start)
