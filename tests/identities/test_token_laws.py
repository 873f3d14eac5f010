"""Correlated tokens and random scales: a case with an exact answer, identities, and proof that a
scale left out of any one average would be noticed."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import dotphase.inner.loss as loss
import dotphase.theory.state_evolution.averages as averages
import dotphase.theory.state_evolution.half_steps as equations
from dotphase import (
    Attention,
    GaussHermite,
    Positions,
    Scales,
    Scenario,
    Sobol,
    Tokens,
    linear_baseline,
    paper,
    solve,
)
from dotphase.overlaps.overlaps import Moments
from dotphase.scenario import correlated, exponential_correlation, isotropic, no_positions
from dotphase.scenario.attentions.attention import matrices
from dotphase.theory.stability.linearised import linearise

TWO = Scales(np.sqrt([0.4, 1.6]))
TOGETHER = Scales([[0.5, 1.5], [1.2, 0.7], [0.4, 0.4]], [0.5, 0.3, 0.2])
CASES = {
    "one token, scaled": replace(isotropic(1, 0.8), scales=TWO),
    "scaled": replace(isotropic(2, 0.8), scales=TWO),
    "scaled together": replace(isotropic(2, 0.8), scales=TOGETHER),
    "correlated": correlated(2, 0.8, 0.4),
    "three correlated": correlated(3, 0.8, exponential_correlation(3, -0.5)),
    "correlated and scaled": replace(correlated(2, 0.8, -0.5), scales=TOGETHER),
}


def first_row(h, bias):
    """A linear attention: only the first token looks, at token l as much as its field h_l says."""
    return jnp.zeros((len(h), len(h))).at[0].set(h[:, 0] + bias)


def linear(bias=0.0):
    return Attention(first_row, 1, {"bias": bias})


def solved(tokens, alpha=1.5, ridge=0.3, bias=0.0, positions=None):
    length = tokens.gamma.shape[1]
    positions = no_positions(length) if positions is None else Positions([positions[:length]])
    scenario = Scenario(linear(bias), linear(), tokens, positions, alpha, ridge)
    return solve(scenario, "semantic", rule=GaussHermite(5), rtol=None)


def ridge_regression(tokens, alpha=1.5, ridge=0.3):
    """ε_g and ε_t of this task, which is ridge regression on noiseless data with rows that have
    weights.

    x = diag(s) c^{1/2} g √γ with g standard, and the loss of a sample is ½ δᵀ diag(s) ρ diag(s) δ,
    δ = x(Q* − Q)/√d. So it is a sum over the eigenvalues e of γ² c^{1/2} s² c s² c^{1/2}, rows of
    weight e, and with the response R,

        R = 1/(λ + α E Σ e/(1 + eR)),   ‖Q − Q*‖²/d = λ²R²/(1 − α R² E Σ e²/(1 + eR)²),
        ε_g = (1/L) E Σ e · ‖Q − Q*‖²/d,   ε_t = ½λ(1 − λR).
    """
    c, length = tokens.Gamma[0] / tokens.gamma[0, 0], tokens.gamma.shape[1]
    values, weights = (
        (np.ones((1, length)), np.ones(1))
        if tokens.scales is None
        else tokens.scales.outcomes(length)
    )
    size, vectors = np.linalg.eigh(c)
    root = vectors * np.sqrt(size) @ vectors.T
    squares = [np.diag(s**2) for s in values]
    e = tokens.gamma[0, 0] ** 2 * np.array(
        [np.linalg.eigvalsh(root @ S @ c @ S @ root) for S in squares]
    )
    mean = lambda each: float(weights @ each.sum(1))
    R = brentq(
        lambda r: r - 1 / (ridge + alpha * mean(e / (1 + e * r))), 1e-12, 1 / ridge, xtol=1e-15
    )
    apart = (ridge * R) ** 2 / (1 - alpha * R**2 * mean((e / (1 + e * R)) ** 2))
    return mean(e) * apart / length, 0.5 * ridge * (1 - ridge * R)


FAST = [
    name if name != "three correlated" else pytest.param(name, marks=pytest.mark.slow)
    for name in CASES
]


@pytest.mark.parametrize("name", FAST)
def test_a_linear_student_is_ridge_regression(name):
    found, exact = solved(CASES[name]), ridge_regression(CASES[name])
    assert found.ok
    assert (found.test_error.value, found.train_loss.value) == pytest.approx(exact, rel=1e-6)


def _features(**left_out):
    """The samples' features with g in the place of ĝ = s g in some of them."""

    def features(here, xi, eta, scale, test_error):
        outer = lambda left, right: left[:, :, None] * right[:, None]
        pulled = here.g / scale
        force = lambda part: pulled if left_out.get(part) else here.g
        moments = Moments(
            outer(force("q"), force("q")),
            outer(force("V"), xi),
            here.g if left_out.get("m") else pulled,
            outer(force("theta"), eta),
            here.loss,
            here.energy,
            test_error,
        )
        return moments.over_samples()

    return {(averages, "_features"): features}


def _unscaled(function):
    return lambda problem, *rest: function(problem._replace(scale=None), *rest)


def _unscaled_test_loss(structure, problem, z, turned):
    at_test = z is problem.centre
    return RIGHT_SLOPES(structure, problem._replace(scale=None) if at_test else problem, z, turned)


def _without_weights(matrix, rho, scale=None):
    return RIGHT_WEIGH(matrix, rho)


RIGHT_SLOPES, RIGHT_WEIGH = averages._loss_slopes, loss.weigh
LEFT_OUT = {
    "q̂": _features(q=True),
    "V̂": _features(V=True),
    "θ̂": _features(theta=True),
    "ε_g": {(averages, "_loss_slopes"): _unscaled_test_loss},
    "ε_t": {(averages, "quadratic_term"): _unscaled(loss.quadratic_term)},
    "ρ_Σ": {(loss, "weigh"): _without_weights, (averages, "weigh"): _without_weights},
    "V": {
        (loss, "stiffness"): _unscaled(loss.stiffness),
        **{
            (room, name): _unscaled(getattr(loss, name))
            for room in (loss, averages)
            for name in ("quadratic_term", "prox_force")
        },
    },
}


@pytest.fixture
def wrong(monkeypatch, nothing_kept):
    """Equations with some functions exchanged, compiled afresh before and after."""

    def exchange(functions):
        equations.compiled_evaluate.cache_clear()
        for (room, name), function in functions.items():
            monkeypatch.setattr(room, name, function)

    yield exchange
    monkeypatch.undo()
    equations.compiled_evaluate.cache_clear()


@pytest.mark.parametrize("average", LEFT_OUT)
def test_a_scale_left_out_of_any_average_is_noticed(average, wrong):
    tokens = CASES["one token, scaled"]
    wrong(LEFT_OUT[average])
    found, exact = solved(tokens), ridge_regression(tokens)
    observed = np.array([found.test_error.value, found.train_loss.value])
    assert not found.ok or (np.abs(observed - exact) > 1e-3 * np.array(exact)).any()


BIASED = {"alpha": 1.5, "ridge": 0.3, "bias": 1.0, "positions": (1.0, -0.4, 0.2)}


def _envelope(tokens):
    """dε_t/dλ and dε_t/dα by differences, and what they must be: ½⟨Q²⟩ and E[E(z*)]."""
    step, here = 1e-4, solved(tokens, **BIASED)
    assert here.ok
    assert np.abs(here.overlaps.m).max() > 0.05  # so that m̂ takes part
    slopes = []
    for name in ("ridge", "alpha"):
        up, down = (
            solved(tokens, **{**BIASED, name: BIASED[name] + sign * step}) for sign in (1, -1)
        )
        slopes.append((up.train_loss.value - down.train_loss.value) / (2 * step))
    moments = Moments.unflat(linearise(here).point.moments, here.scenario.structure.shape)
    return slopes, [0.5 * here.overlaps.q[0, 0, 0] / tokens.gamma[0, 0], float(moments.energy)]


@pytest.mark.parametrize("name", ["scaled together", "correlated", "correlated and scaled"])
def test_the_training_loss_is_stationary_in_the_overlaps(name):
    slopes, known = _envelope(CASES[name])
    np.testing.assert_allclose(slopes, known, rtol=1e-5)


def test_a_scale_too_many_in_the_mean_pull_is_noticed(wrong):
    wrong(_features(m=True))
    slopes, known = _envelope(CASES["correlated and scaled"])
    assert np.abs(np.array(slopes) / known - 1).max() > 1e-3


def test_softmax_attention_is_stationary_too():
    """Within the errors of the nodes, which Stein's form of V̂ costs."""
    tokens = replace(correlated(2, 0.5, 0.3), scales=TWO)
    rule, step = Sobol(2**14), 0.02
    at = lambda alpha: solve(
        paper(alpha, 0.3).vary(tokens=tokens), "semantic", rule=rule, rtol=None
    )
    here, up, down = at(2.0), at(2.0 + step), at(2.0 - step)
    slope = (up.train_loss.value - down.train_loss.value) / (2 * step)
    error = float(rule.error(up.deviations.train_loss - down.deviations.train_loss)) / (2 * step)
    energy = Moments.unflat(linearise(here).point.moments, here.scenario.structure.shape).energy
    assert abs(slope - float(energy)) < 4 * np.hypot(error, float(here.train_loss.error) / 2)


@pytest.mark.parametrize("name", ["scaled", "correlated", "correlated and scaled"])
def test_the_linear_baseline_is_the_best_matrix(name):
    """Against W = E[TG]E[G]⁻¹ of sampled tokens, whose mean error no other W beats."""
    scenario = paper(2.0, 0.3).vary(tokens=CASES[name])
    found, rng, count = linear_baseline(scenario), np.random.default_rng(0), 200_000
    scales = scenario.tokens.scales
    s = np.ones((2, count)) if scales is None else scales.draw(rng, count, 2)
    u = s * (np.linalg.cholesky(scenario.tokens.Gamma[0]) @ rng.normal(size=(2, count)))
    T = matrices(scenario.teacher, u[:, None])
    G = scenario.distribution.mean_Gamma[:, :, None] * s[:, None] * s[None]
    W = np.linalg.solve(G.mean(-1), np.einsum("ijn,jkn->ik", T, G).T / count).T
    each = np.einsum("ijn,jkn,ikn->n", T - W[..., None], G, T - W[..., None]) / 2
    np.testing.assert_allclose(found.weights, W, atol=0.004)
    assert abs(each.mean() - found.test_error.value) < 4 * each.std() / np.sqrt(count)
    if scales is not None:  # the mean of T is not good enough
        mean = T.mean(-1)[..., None]
        assert (
            np.einsum("ijn,jkn,ikn->n", T - mean, G, T - mean).mean() / 2
            > 1.001 * found.test_error.value
        )


def test_equal_scales_of_all_directions_are_no_scales():
    """One scale for every token of a distribution that has but one outcome is no scale: the same scenario,
    the same numbers."""
    plain, trivial = (
        paper(2.0, 0.3),
        paper(2.0, 0.3).vary(tokens=Tokens([[0.25, 0.25]], scales=Scales([3.0]))),
    )
    assert plain == trivial
