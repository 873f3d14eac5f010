"""Learning curves of a quadratic loss, where gradient descent has a closed form: the spectrum of
the samples' covariance is Marchenko and Pastur's, and every eigenvalue moves on its own."""

import numpy as np
import pytest

from dotphase import Attention, Scenario, Tokens, learning_curve
from dotphase.learning import Start
from dotphase.learning.full_batch.modes import Modes
from dotphase.scenario.tokens import isotropic, no_positions

LINEAR = Attention(lambda h: h, rank=1)  # one token: S[h] = h, so that f = (x·Q/√d) x


def regression(alpha, ridge, deviation=0.8):
    return Scenario(LINEAR, LINEAR, isotropic(1, deviation), no_positions(1), alpha, ridge)


def spectrum(alpha, nodes=400):
    """Eigenvalues of Σ_μ x xᵀ/d, x of unit variance and αd of them, and their weights; the zero
    eigenvalue last."""
    low, high = (1 - np.sqrt(alpha)) ** 2, (1 + np.sqrt(alpha)) ** 2
    # s = middle + radius cos φ takes the square roots at both ends out of the integral.
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    middle, radius = (high + low) / 2, (high - low) / 2
    values = middle + radius * np.cos(angle)
    weights = radius**2 * np.sin(angle) ** 2 / (2 * np.pi * values) * np.pi / nodes
    return np.append(values, 0.0), np.append(weights, max(0.0, 1 - alpha))


def closed_form(scenario, start, sizes, momentum=0.0):
    """q, θ, ε_t, ε_g of gradient descent: along an eigenvalue s the weights are φ Q* + χ noise."""
    variance = scenario.distribution.gamma[0, 0]
    s, weight = spectrum(scenario.sample_ratio)
    slope = variance**2 * s  # ℓ = ½ σ² (u − h)², and the fields have variance σ² themselves
    state = np.array([np.full_like(s, start.semantic), np.full_like(s, start.noise)])
    target = np.array([np.ones_like(s), np.zeros_like(s)])
    velocity = np.zeros_like(state)
    rows = []
    for size in [*sizes, 0.0]:
        gap = target - state
        norm = (state**2).sum(0)
        fit = 0.5 * slope * (gap**2).sum(0)
        rows.append(
            [
                weight @ (variance * norm),
                weight @ (variance * state[0]),
                weight @ (fit + 0.5 * scenario.ridge * norm),
                weight @ (variance**2 * (gap**2).sum(0)),
            ]
        )
        velocity = size * (slope * gap - scenario.ridge * state) + momentum * velocity
        state = state + velocity
    return np.array(rows)


def found(curve):
    names = ("q", "theta", "train_loss", "test_error")
    return np.array([getattr(curve, name).value for name in names]).T


@pytest.mark.parametrize(("alpha", "momentum"), [(0.6, 0.0), (1.7, 0.0), (1.7, 0.6)])
def test_gradient_descent_of_ridge_regression_to_rounding(alpha, momentum):
    scenario, start = regression(alpha, 0.05), Start(semantic=0.3, noise=0.7)
    sizes = 0.6 / (1 + 0.1 * np.arange(12))
    options = {"step_size": sizes, "momentum": momentum, "paths": 512, "cut": 1e-20}
    curve = learning_curve(scenario, start, **options)
    exact = closed_form(scenario, start, sizes, momentum)
    assert curve.outcome == "finished"
    # Second moments of the paths are exact, and the loss is quadratic; the test error is an average
    # over other nodes.
    np.testing.assert_allclose(found(curve)[:, :3], exact[:, :3], rtol=1e-8)
    test = (curve.test_error.value - exact[:, 3]) / curve.test_error.error
    assert np.abs(test).max() < 4
    assert exact[-1, 1] > exact[0, 1] + 0.1  # there was something to learn


def test_the_default_cut_costs_less_than_a_thousandth():
    scenario, start = regression(1.2, 0.05), Start(semantic=0.3, noise=0.7)
    curve = learning_curve(scenario, start, steps=200, step_size=0.5, paths=512)
    exact = closed_form(scenario, start, np.full(200, 0.5))
    worst = np.abs(found(curve)[:, :3] / exact[:, :3] - 1).max()
    assert 1e-8 < worst < 1e-3
    finer = learning_curve(scenario, start, steps=200, step_size=0.5, paths=512, cut=1e-7)
    assert np.abs(found(finer)[:, :3] / exact[:, :3] - 1).max() < worst / 5


@pytest.mark.parametrize("term", ["memory", "response"])
def test_a_missing_term_is_not_close(term, monkeypatch):
    if term == "memory":
        _forget_memory(monkeypatch)
    else:
        _forget_response(monkeypatch)
    scenario, start = regression(1.2, 0.05), Start(semantic=0.3, noise=0.7)
    curve = learning_curve(scenario, start, steps=40, step_size=0.5, paths=512)
    exact = closed_form(scenario, start, np.full(40, 0.5))
    assert np.abs(found(curve)[:, :3] / exact[:, :3] - 1).max() > 0.1


def test_groups_of_one_variance_are_one_group():
    """Two groups of directions that are (almost) alike have a mode for each force twice, and the
    same curve."""
    tokens = Tokens([[0.64], [0.64 * (1 + 1e-9)]], [0.3, 0.7])
    scenario, start = regression(1.2, 0.05), Start(semantic=0.3, noise=0.7)
    split = scenario.vary(tokens=tokens)
    options = {"steps": 12, "step_size": 0.5, "paths": 512, "cut": 1e-20}
    one, two = (learning_curve(each, start, **options) for each in (scenario, split))
    assert len(split.distribution.weight) == 2
    assert two.modes > 1.5 * one.modes
    np.testing.assert_allclose(found(two)[:, :3], found(one)[:, :3], rtol=1e-7)


def _forget_memory(monkeypatch):
    def fields_without(self, k, amplitude, push=None):
        xi = complete(self, k, amplitude, push)
        if push is not None:
            self.fields[:, -1] = self.deviations[k] * np.sqrt(self.distribution.weight[k]) * xi
        return xi

    complete = Modes.add
    monkeypatch.setattr(Modes, "add", fields_without)


def _forget_response(monkeypatch):
    """Modes made by forces feel the forces along their pushes, but not E[g ξ]."""

    def forces_without(self, g, alpha):
        force = complete(self, g, alpha)
        pushed = self.pushes[0].shape[1]
        if pushed:
            along = self.deviations[0] * g @ self.pushes[0].swapaxes(1, 2)
            force[..., -pushed:] = alpha / self.noise.shape[-1] * along
        return force

    complete = Modes.forces
    monkeypatch.setattr(Modes, "forces", forces_without)
