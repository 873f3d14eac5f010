"""Stability: the replicon against its definition, and eigenvalues of the map against iterating it."""

import numpy as np
import pytest

import dotphase
from dotphase.inner.loss import loss_derivatives
from dotphase.numerics.precision import in_double
from dotphase.numerics.rules import Sobol
from dotphase.overlaps.gauge import tangents
from dotphase.theory.stability.breaking import Breaking
from dotphase.theory.stability.linearised import linearise
from dotphase.theory.stability.spectra import spectra
from dotphase.theory.stability.stability import (
    Eigenvalue,
    Stability,
    named_eigenvalues,
    replicon,
    stability,
)
from dotphase.theory.state_evolution.half_steps import fields

RULE = Sobol(2**13)


@pytest.fixture(scope="module")
def positional():
    return dotphase.solve(dotphase.paper(alpha=1.25, omega=0.3), "positional", rule=RULE, rtol=None)


@in_double
def replicon_by_definition(at) -> float:
    """Rank one, equal tokens: Δ_1 = Δ_2 by symmetry, and the map multiplies it by α γ² R² E[Σ_kl
    J_kl²]."""
    scenario, evaluator = at.solution.scenario, at.evaluator
    gamma, total = scenario.distribution.mean_gamma[0], 0.0
    for block, (z, _) in zip(evaluator.ensemble.blocks, at.point.minima.blocks, strict=True):
        f, _, problem = fields(evaluator.structure, evaluator.values, at.point.x, block)
        _, _, H = loss_derivatives(
            evaluator.structure.student, problem, np.asarray(z)[..., : block.xi.shape[-1]]
        )
        V = np.diag(1 / np.asarray(f.precision)[:, 0, 0])
        weights = (evaluator.rule.pool[:, None] * block.weights).ravel()
        for node, weight in enumerate(weights):
            hessian = np.asarray(H[..., node])
            J = -np.linalg.solve(np.eye(2) + hessian @ V, hessian)
            total += weight * (J**2).sum()
    R = V[0, 0] / gamma  # V = γR
    return scenario.sample_ratio * gamma**2 * R**2 * total


def test_replicon_is_its_definition(positional):
    at = linearise(positional, RULE)
    radius = replicon(at)
    assert radius.value == pytest.approx(float(replicon_by_definition(at)), rel=1e-6)
    assert radius.error > 0
    assert 0 < at.point.minima.several < 0.1


def test_replicon_error_covers_the_scatter_over_scrambles():
    """Eight more node sets: their scatter is what the quoted errors say, within a factor of two.
    E[J⁴] is not finite, so one error among them may be far too large: the median is what is
    compared."""
    task, found = dotphase.paper(alpha=2.0, omega=0.3), []
    start = "semantic"
    for seed in range(8):
        rule = Sobol(2**12, seed=seed)
        start = dotphase.solve(task, start, rule=rule, rtol=None)
        found.append(replicon(linearise(start, rule)))
    scatter, quoted = np.std([r.value for r in found], ddof=1), np.median([r.error for r in found])
    assert 0.4 < scatter / quoted < 2.5


def test_symmetries_do_not_change_the_replicon(positional):
    """On a fundamental domain, symmetrised, and on all nodes: the same number."""
    reduced = replicon(linearise(positional, RULE))
    full = replicon(linearise(positional, RULE, every_direction=True))
    assert reduced.value == pytest.approx(full.value, rel=0.02)


def test_all_directions_on_a_fundamental_domain_are_those_of_the_whole_orbit(positional):
    """The Jacobian in every direction, from one node per coset and group averages, against all
    nodes."""
    reduced = linearise(positional, RULE)
    full = linearise(positional, RULE, every_direction=True)
    whole = full.evaluator.basis.T @ (full.point.slope + np.eye(8)) @ full.evaluator.basis
    assert full.point.minima.blur == pytest.approx(reduced.point.minima.blur, rel=1e-9)
    np.testing.assert_allclose(spectra(reduced).jacobian, whole, atol=1e-3 * np.abs(whole).max())
    assert (
        np.abs(whole[-2:, -2:]).max() > 0.1
    )  # along θ, which the branch's own coordinates do not have


def test_a_small_theta_grows_by_the_eigenvalue(positional):
    """Iterate the map once from the positional point with a little θ: it is multiplied by the
    eigenvalue."""
    value = positional.stability.leading["theta"].value
    at = linearise(positional, RULE, every_direction=True)
    nudge = np.zeros_like(at.point.x)
    nudge[-2:] = 1e-4  # both tokens alike
    _iterate = in_double(at.evaluator)
    moved = at.evaluator.basis.T @ _iterate(at.point.x + nudge, at.point.minima).change + nudge
    assert moved[-2:] / 1e-4 == pytest.approx([value.real] * 2, rel=1e-3)
    assert abs(value.imag) < 1e-9


@pytest.mark.parametrize(
    ("branch", "part"), [("semantic", "m"), ("semantic", "theta"), ("positional", "m")]
)
def test_errors_of_eigenvalues_are_the_scatter_over_scrambles(branch, part):
    """Twelve independent node sets: the quoted errors are their scatter, within what twelve can
    tell. As for the replicon, the median is compared: near a jump a replicate's Jacobian is far off
    now and then."""
    task, found, start = dotphase.paper(alpha=1.5, omega=0.3), [], branch
    for seed in range(12):
        start = dotphase.solve(task, start, rule=Sobol(2**13, seed=seed), rtol=None)
        found.append(start.stability.eigenvalues[part])
    values = np.array([e.value.real for e in found])
    quoted = np.median([e.error for e in found])
    assert 0.5 < values.std(ddof=1) / quoted < 2


def test_uninformed_point_is_unstable_to_both_mechanisms():
    """At α = 1.25, ω = 0.3 a little of either mechanism grows from nothing."""
    task = dotphase.paper(alpha=1.25, omega=0.3)
    at = stability(dotphase.solve(task, "uninformed", rule=Sobol(2**16), rtol=None))
    assert at.leaves("m")
    assert at.leaves("theta")
    assert at.branch == "unstable along m, θ"
    assert at.verdict == f"unstable along m, θ; {at.symmetry}"
    assert f"{at.verdict}; replicon" in str(at)
    named = {
        "verdict",
        "branch",
        "replica_symmetry",
        "replicon",
        "several_minima",
        "eigenvalues",
        "leading",
    }
    assert set(at.to_dict()) == named


def test_a_solution_has_its_stability_once_and_on_its_own_nodes(positional):
    assert positional.stability is positional.stability
    assert positional.stability.branch == "stable"
    assert positional.stability.replicon == stability(positional, RULE).replicon


def test_the_verdict_wants_two_errors():
    none = dotphase.Estimate(0.0)

    def judged(growth: float, error: float, radius: float = 0.5) -> str:
        named = {"theta": Eigenvalue(complex(growth), error, np.zeros(8), np.zeros(1))}
        at = Stability(
            named, named, Breaking(dotphase.Estimate(radius, 0.1), 0.0, none, None, none)
        )
        assert at.verdict == f"{at.branch}; {at.symmetry}"
        return at.symmetry if radius > 1 else at.branch

    assert judged(0.9, 0.04) == "stable"
    assert judged(0.9, 0.06) == "undecided along θ"
    assert judged(1.1, 0.06) == "undecided along θ"
    assert judged(1.1, 0.04) == "unstable along θ"
    assert judged(-4.0, 0.1) == "stable"  # oscillates, which damping cures
    assert judged(0.5, 0.1, radius=1.3) == "broken: replicon 1.30 ± 0.10"


@pytest.mark.slow
def test_the_gauge_is_no_instability():
    """Rank two: turning the student's columns changes nothing, an eigenvalue of one that is not a
    direction."""
    task = dotphase.paper(alpha=2.0, omega=0.3, student_rank=2)
    at = linearise(dotphase.solve(task, "semantic", rule=RULE, rtol=None))
    around = spectra(at)
    found = [e.value for group in named_eigenvalues(at, around).values() for e in group]
    (turn,) = in_double(tangents)(
        at.point.x, at.evaluator.rho, at.evaluator.turns, np.eye(len(at.point.x))
    )
    assert np.abs(around.jacobian @ turn).max() < 1e-12
    assert np.abs(turn @ around.jacobian).max() < 1e-12
    assert len(found) <= len(around.jacobian) - 1
    assert min(abs(value - 1) for value in found) > 1e-3


def test_nothing_to_linearise_is_said(positional):
    from dataclasses import replace

    with pytest.raises(dotphase.SolveError, match="no fixed point"):
        linearise(replace(positional, outcome="stalled", reason="for the test"))
