"""Stability: the replicon against its definition, and eigenvalues of the map against iterating it."""

import numpy as np
import pytest

import dotphase
from dotphase.gaussian import Sobol
from dotphase.precision import in_double
from dotphase.prox.loss import loss_derivatives
from dotphase.theory.linearised import linearise
from dotphase.theory.stability import eigenvalues, replicon, stability
from dotphase.theory.state_evolution import fields

RULE = Sobol(2**12)


@pytest.fixture(scope="module")
def positional():
    return dotphase.solve(dotphase.paper(alpha=1.25, omega=0.3), "positional", rule=RULE, rtol=None)


@in_double
def replicon_by_definition(at) -> float:
    """Rank one, equal tokens: Δ_1 = Δ_2 by symmetry, and the map multiplies it by α γ² R² E[Σ_kl J_kl²]."""
    scenario, evaluator = at.solution.scenario, at.evaluator
    gamma, total = scenario.law.mean_gamma[0], 0.0
    for block, (z, _) in zip(evaluator.ensemble.blocks, evaluator.minima, strict=True):
        f, _, problem = fields(evaluator.structure, evaluator.values, at.point.x, block)
        _, _, H = loss_derivatives(evaluator.structure.student, problem, np.asarray(z)[..., : block.xi.shape[-1]])
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
    radius, several = replicon(at)
    assert radius.value == pytest.approx(replicon_by_definition(at), rel=1e-6)
    assert radius.error > 0
    assert 0 < several < 0.1


def test_replicon_error_covers_the_scatter_over_scrambles():
    """Eight more node sets: their scatter is what the quoted errors say, within a factor of two."""
    task, found = dotphase.paper(alpha=2.0, omega=0.3), []
    start = "semantic"
    for seed in range(8):
        rule = Sobol(2**12, seed=seed)
        start = dotphase.solve(task, start, rule=rule, rtol=None)
        found.append(replicon(linearise(start, rule))[0])
    scatter, quoted = np.std([r.value for r in found], ddof=1), np.sqrt(np.mean([r.error**2 for r in found]))
    assert 0.4 < scatter / quoted < 2.5


def test_symmetries_do_not_change_the_replicon(positional):
    """On a fundamental domain, symmetrised, and on all nodes: the same number."""
    reduced, _ = replicon(linearise(positional, RULE))
    full, _ = replicon(linearise(positional, RULE, every_direction=True))
    assert reduced.value == pytest.approx(full.value, rel=0.02)


def test_a_small_theta_grows_by_the_eigenvalue(positional):
    """Iterate the map once from the positional point with a little θ: it is multiplied by the eigenvalue."""
    value = eigenvalues(positional, RULE)["theta"]
    at = linearise(positional, RULE, every_direction=True)
    nudge = np.zeros_like(at.point.x)
    nudge[-2:] = 1e-4  # both tokens alike
    _iterate = in_double(at.evaluator)
    moved = at.evaluator.basis.T @ _iterate(at.point.x + nudge).change + nudge
    assert moved[-2:] / 1e-4 == pytest.approx([value.real] * 2, rel=1e-3)
    assert abs(value.imag) < 1e-9


def test_uninformed_point_is_unstable_to_both_mechanisms():
    """At α = 1.25, ω = 0.3 a little of either mechanism grows from nothing."""
    at = stability(dotphase.solve(dotphase.paper(alpha=1.25, omega=0.3), "uninformed", rule=RULE, rtol=None), RULE)
    assert at.leaves("m")
    assert at.leaves("theta")
    assert at.grows("m")
    assert "replicon" in str(at)
    assert set(at.to_dict()) == {"replicon", "several_minima", "eigenvalues"}


def test_nothing_to_linearise_is_said(positional):
    from dataclasses import replace

    with pytest.raises(dotphase.SolveError, match="no fixed point"):
        linearise(replace(positional, outcome="stalled", reason="for the test"))
