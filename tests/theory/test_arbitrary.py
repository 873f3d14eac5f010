"""Whatever the scenario, a solve ends with a fixed point, and never with an exception."""

import re

import numpy as np
import pytest

import dotphase
from dotphase import SolverOptions
from dotphase.scenario.random_scenarios import arbitrary_scenario
from dotphase.theory.solver.checks import memory_needed


def check(solution):
    assert solution.outcome in ("converged", "collapsed"), solution.reason
    rough = solution.several_minima > 0.1  # jumps that these nodes do not resolve
    assert solution.residual < (SolverOptions().rough_residual if rough else 1e-8)
    numbers = (
        *solution.overlaps,
        solution.test_error.value,
        solution.train_loss.value,
        solution.test_error.error,
    )
    assert all(np.isfinite(part).all() for part in numbers)
    assert np.linalg.eigvalsh(solution.overlaps.V).min() > 0


def spread_positions(alpha, start):
    A = np.full((4, 4), 0.4 / 3) + (0.6 - 0.4 / 3) * np.eye(4)
    tokens, positions = (
        dotphase.scenario.isotropic(4, 0.5),
        dotphase.Positions([np.linspace(1, -1, 4)]),
    )
    student = dotphase.attentions.softmax(2)
    return dotphase.Scenario(
        dotphase.attentions.mixture(A, 0.3), student, tokens, positions, alpha, 0.01
    ), start


@pytest.mark.parametrize(
    ("alpha", "start"), [(0.5, "positional"), (2.0, "semantic"), (6.0, "semantic")]
)
def test_fields_too_narrow_for_their_minima_are_widened(alpha, start):
    """Here the map is not defined at the start itself, whatever its response."""
    solution = dotphase.solve(*spread_positions(alpha, start), rtol=None)
    check(solution)
    assert solution.outcome == "converged"


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_arbitrary_scenarios_have_fixed_points(seed):
    check(dotphase.solve(arbitrary_scenario(seed), ("semantic", "positional")[seed % 2], rtol=None))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_arbitrary_scenarios_have_fixed_points(seed):
    check(dotphase.solve(arbitrary_scenario(seed), ("semantic", "positional")[seed % 2], rtol=None))


@pytest.mark.parametrize(
    ("seed", "outcome"),
    [(142, "collapsed"), pytest.param(7, "converged", marks=pytest.mark.slow)],
    ids=["an attention of one token", "a head that dies out"],
)
def test_weights_that_vanish_are_no_stall(seed, outcome):
    solution = dotphase.solve(
        arbitrary_scenario(seed), ("semantic", "positional")[seed % 2], rtol=None
    )
    assert solution.outcome == outcome, solution.reason


@pytest.mark.slow
@pytest.mark.parametrize("seed", [139, 199])
def test_short_steps_lead_where_many_minima_jump(seed):
    """To the point that other nodes lead to, within the errors of both."""
    found = [
        dotphase.solve(
            arbitrary_scenario(seed), "positional", rule=dotphase.Sobol(2**13, seed=k), rtol=None
        )
        for k in range(2)
    ]
    assert all(solution.outcome == "collapsed" for solution in found)
    assert abs(found[0].test_error.deviation(found[1].test_error)) < 4


def test_what_cannot_fit_is_refused_at_once(monkeypatch):
    import psutil

    scenario, rule = dotphase.paper(), dotphase.Sobol(2**13)
    assert memory_needed(scenario, rule) < memory_needed(scenario, dotphase.Sobol(2**20)) < 2e9
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**8}))
    with pytest.raises(
        ValueError,
        match=r"rule: 8192 nodes of 2 tokens and rank 1 take 0\.\d+ GB of memory, 0\.1 GB",
    ):
        dotphase.solve(scenario, rule=rule)


def test_nodes_are_refined_as_long_as_they_fit(monkeypatch):
    """What was found on the last nodes that fit is kept, and the reason says why it went no further."""
    from dotphase.theory.solver import checks

    enough = memory_needed(dotphase.paper(), dotphase.Sobol(2**14))
    monkeypatch.setattr(checks, "free_memory", lambda: 1.001 * enough)
    found = dotphase.solve(dotphase.paper(alpha=2), rtol=1e-6, budget=2**40)
    assert found.outcome == "imprecise"
    assert re.match(r"relative error .*, 1.0e-06 was asked for: .* GB of memory", found.reason)
    assert found.nodes == 2**14  # as many as fit
    assert np.isfinite(found.test_error.error)
    relative = [float(e.error / e.value) for e in (found.test_error, found.train_loss)]
    met = dotphase.solve(dotphase.paper(alpha=2), rtol=1.1 * max(relative), budget=2**40)
    assert met.outcome == "converged"
    at = dotphase.critical(
        dotphase.paper(omega=0.3),
        "linear",
        between=(1.4, 1.6),
        precision=1e-6,
        budget=2**40,
        scan=2,
    )
    assert at.outcome == "imprecise"
    assert "GB of memory" in at.reason
    assert abs(at.location.value - 1.492) < 4 * at.location.error
