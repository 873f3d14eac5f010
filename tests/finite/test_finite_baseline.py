import numpy as np
import pytest
from finite_scenarios import uneven

from dotphase.finite.data.sampling import sample
from dotphase.finite.linear_fit import fit_linear, linear_test_error, ridge_matrix
from dotphase.numerics.rules import GaussHermite
from dotphase.scenario.attentions.attention import matrices
from dotphase.scenario.presets import paper


def test_the_closed_form_is_the_least_squares_fit():
    """Each row of W by a regression that never heard of Gram matrices: d·n equations, ridge as L
    more."""
    data = sample(uneven(alpha=2.0), 20, 1)
    x = data.tokens - data.instance.positions[:, None]
    y = np.einsum("lkn,kni->lni", data.answers, x)
    design = np.vstack([x.reshape(3, -1).T, np.sqrt(20 * data.scenario.ridge) * np.eye(3)])
    rows = [
        np.linalg.lstsq(design, np.concatenate([y[l].ravel(), np.zeros(3)]), rcond=None)[0]
        for l in range(3)
    ]
    np.testing.assert_allclose(ridge_matrix(data), rows, rtol=1e-8)


def test_its_test_error_equals_monte_carlo():
    data = sample(uneven(), 12, 3)
    W = ridge_matrix(data)
    fresh = sample(data.instance, count=400_000, stream="test")
    x = fresh.tokens - data.instance.positions[:, None]
    residual = np.einsum("lkn,kni->lni", fresh.answers - W[:, :, None], x)
    losses = (residual**2).sum((0, 2)) / (12 * 3)
    error = losses.std() / np.sqrt(len(losses))
    exact = linear_test_error(data.instance, W)
    assert abs(exact.value - losses.mean()) < 4 * np.hypot(error, exact.error)
    worse = linear_test_error(data.instance, W + 0.05 * np.eye(3))
    assert abs(worse.value - losses.mean()) > 10 * error


def test_it_tends_to_the_average_teacher():
    """ε_lin = (1/L) E Tr[(T − E T) ρ_Σ (T − E T)ᵀ], here averaged over the teacher's fields by
    Gauss–Hermite."""

    nodes, weights = (part[0] for part in GaussHermite(40).nodes(2))
    T = matrices(paper().teacher, 0.5 * nodes.reshape(2, 1, -1))
    limit = 0.25 * ((T - (T @ weights)[..., None]) ** 2).sum((0, 1)) @ weights / 2
    assert limit == pytest.approx(0.00197138, abs=1e-8)
    found = fit_linear(paper(), 400, seeds=32)
    assert abs(found.test_error.value - limit) < 4 * found.test_error.error
    assert np.abs(found.matrix.value - T @ weights).max() < 5 * found.matrix.error.max()


def test_the_answer_as_plain_data():
    plain = fit_linear(paper(), 50, seeds=2).to_dict()
    assert set(plain) >= {"test_error", "train_loss", "matrix", "seconds"}
    assert np.shape(plain["matrix"]["value"]) == (2, 2)
