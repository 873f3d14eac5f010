"""Special cases with an exact answer, and proof that a wrong equation would be noticed."""

import numpy as np
import pytest
from scipy.optimize import brentq

import dotphase.theory.state_evolution.half_steps as equations
from dotphase import attentions
from dotphase.numerics.rules import GaussHermite
from dotphase.overlaps.coordinates import FLOOR
from dotphase.scenario.attentions.attention import Attention
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Tokens, isotropic, no_positions
from dotphase.theory.baseline import linear_baseline
from dotphase.theory.solver.solve import solve


def identity(h):
    return h


LINEAR = Attention(identity, rank=1)
TWO_LEVELS = Tokens([[2.0], [0.2]], [0.3, 0.7])
CASES = [
    (0.5, 0.1, isotropic(1, 1.0)),
    (2.0, 0.01, isotropic(1, 1.0)),
    (1.0, 1.0, isotropic(1, 0.7)),
    (1.5, 0.3, TWO_LEVELS),
    (0.3, 1e-3, TWO_LEVELS),
    (4.0, 0.05, TWO_LEVELS),
]


def ridge_regression(alpha, ridge, tokens):
    """The exact asymptotic error of ridge regression on noiseless data y = x·β with β ~ N(0, I/d).

    With f the loss's weight ρ = ⟨γ⟩, the effective ridge κ solves κ = (λ/(αρ)) (1 + ρV), V = ⟨γ/(λ
    + αργ/(1 + ρV))⟩, and the error is ρ ⟨γ κ²/(γ + κ)²⟩ / (1 − ⟨γ²/(γ + κ)²⟩/α).
    """
    gamma, share = tokens.gamma[:, 0], tokens.share
    rho = share @ gamma
    V = brentq(
        lambda v: v - share @ (gamma / (ridge + alpha * rho * gamma / (1 + rho * v))),
        1e-12,
        1e12,
        xtol=1e-15,
    )
    kappa = ridge * (1 + rho * V) / (alpha * rho)
    bias = share @ (gamma * (kappa / (gamma + kappa)) ** 2)
    return rho * bias / (1 - share @ (gamma / (gamma + kappa)) ** 2 / alpha)


def solved(alpha, ridge, tokens):
    scenario = Scenario(LINEAR, LINEAR, tokens, no_positions(1), alpha, ridge)
    return solve(scenario, "semantic", rule=GaussHermite(8), rtol=None)


@pytest.mark.parametrize(("alpha", "ridge", "tokens"), CASES)
def test_one_linear_token_is_ridge_regression(alpha, ridge, tokens):
    found = solved(alpha, ridge, tokens)
    assert found.ok
    assert found.test_error.value == pytest.approx(
        ridge_regression(alpha, ridge, tokens), rel=1e-6, abs=1e-9
    )


def _flip_response(structure, values, x, moments):
    right = _right_conjugates(structure, values, x, moments)
    return right._replace(V=-right.V)


def _forget_the_semantic_part(structure, values, x, moments):
    right = _right_conjugates(structure, values, x, moments)
    return right._replace(theta=0.5 * right.theta)


def _double_the_noise(structure, values, x, moments):
    right = _right_conjugates(structure, values, x, moments)
    return right._replace(q=2 * right.q)


_right_conjugates = equations.conjugates


@pytest.mark.parametrize("wrong", [_flip_response, _forget_the_semantic_part, _double_the_noise])
def test_a_wrong_equation_is_noticed(wrong, monkeypatch, nothing_kept):
    alpha, ridge, tokens = CASES[3]
    monkeypatch.setattr(equations, "conjugates", wrong)
    equations.compiled_input.cache_clear()
    try:
        found = solved(alpha, ridge, tokens)
    finally:
        equations.compiled_input.cache_clear()
    exact = ridge_regression(alpha, ridge, tokens)
    assert not found.ok or abs(found.test_error.value - exact) > 1e-3 * exact


@pytest.mark.parametrize(("alpha", "ridge"), [(0.5, 0.1), (1.5, 0.3)])
def test_the_ridge_derivative_of_the_training_loss_is_half_the_norm(alpha, ridge):
    """Envelope: dε_t/dλ = ½⟨‖Q‖²⟩, since the weights minimise the loss. For isotropic tokens ‖Q‖²/d
    = q/γ."""
    step = 1e-4
    up, down, here = (solved(alpha, r, CASES[2][2]) for r in (ridge + step, ridge - step, ridge))
    slope = (up.train_loss.value - down.train_loss.value) / (2 * step)
    half_norm = 0.5 * here.overlaps.q[0, 0, 0] / CASES[2][2].gamma[0, 0]
    assert slope == pytest.approx(half_norm, rel=1e-5)


def test_the_baseline_of_the_paper():
    found = linear_baseline(paper(omega=0.3))
    assert found.test_error.value == pytest.approx(0.00197138, abs=1e-7)
    assert found.test_error.error < 1e-10
    assert linear_baseline(paper(omega=1.0)).test_error.value == pytest.approx(0, abs=1e-12)


def _error_of_constant(matrix, omega):
    """(1/L) E Tr[(T − A)ρ(T − A)ᵀ] = ε_lin + (1/L) Tr[(W − A)ρ(W − A)ᵀ], ρ = σ²."""
    baseline = linear_baseline(paper(omega=omega))
    return baseline.test_error.value + 0.25 * ((baseline.weights - matrix) ** 2).sum() / 2


def test_a_student_that_cannot_learn_keeps_its_attention():
    matrix = np.array([[0.7, 0.3], [0.2, 0.8]])
    found = solve(
        paper(1.5, 0.3).vary(student=attentions.constant(matrix)), "uninformed", rtol=None
    )
    assert found.ok
    assert found.overlaps.q.max() <= 1.01 * FLOOR  # which stands for zero
    assert found.test_error.value == pytest.approx(
        _error_of_constant(matrix, 0.3), abs=4 * found.test_error.error
    )


def test_a_huge_ridge_leaves_uniform_attention():
    found = solve(paper(1.5, 0.3, ridge=50.0), "uninformed", rtol=None)
    assert found.ok
    assert found.overlaps.q.max() < 1e-10
    uniform = np.full((2, 2), 0.5)
    assert found.test_error.value == pytest.approx(
        _error_of_constant(uniform, 0.3), abs=4 * found.test_error.error
    )
