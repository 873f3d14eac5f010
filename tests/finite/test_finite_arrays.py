"""Arrays in and out: data for other programs, weights back, and data of one's own."""

import numpy as np
import pytest

import dotphase

SCENARIO = dotphase.paper(alpha=1.5, omega=0.3)


def loss(Q, x, y, p):
    """Σ_μ ‖y − S[(x + p)Q/√d](x + p)‖²/(2d), written once more in numpy."""
    d = x.shape[2]
    seen = x + p
    h = seen @ Q / np.sqrt(d)
    scores = h @ np.swapaxes(h, 1, 2)
    S = np.exp(scores - scores.max(2, keepdims=True))
    S /= S.sum(2, keepdims=True)
    return ((y - S @ seen) ** 2).sum() / (2 * d)


def test_x_y_and_positions_are_the_task():
    data = dotphase.sample(SCENARIO, d=50)
    assert data.x.shape == data.y.shape == (75, 2, 50)
    np.testing.assert_allclose(data.positions @ data.positions.T, [[1, -1], [-1, 1]], atol=1e-12)
    fields = data.x @ data.instance.teacher_weights / np.sqrt(50)
    T = np.stack([np.asarray(SCENARIO.teacher(h)) for h in fields])  # in single precision
    np.testing.assert_allclose(data.y, T @ data.x, atol=1e-5)


def test_weights_trained_elsewhere_come_back():
    """scipy minimises the loss written above; its minimum is that of `train`."""
    from scipy.optimize import minimize

    d = 30
    data = dotphase.sample(SCENARIO, d=d)
    start = dotphase.finite.start_weights(data.instance, "semantic")
    x, y, p = data.x, data.y, data.positions
    objective = lambda q: loss(q.reshape(d, 1), x, y, p) + SCENARIO.ridge / 2 * (q @ q)
    found = minimize(objective, start.ravel(), method="L-BFGS-B", options={"maxiter": 300})
    error = dotphase.exact_test_error(data.instance, found.x.reshape(d, 1))
    ours = dotphase.train(SCENARIO, d, start="semantic")
    assert found.fun / d == pytest.approx(float(ours.train_loss), rel=1e-3)
    assert float(error) == pytest.approx(float(ours.test_error), rel=0.02)


def test_an_array_is_data():
    x = dotphase.sample(SCENARIO, d=40, count=300).x
    assert dotphase.train(SCENARIO, data=x, seeds=2).runs[0].outcome == "converged"
    compared = dotphase.gamp(SCENARIO, data=x, seeds=1)
    assert compared.dimension == 40
    with pytest.raises(ValueError, match=r"^data: expected sentences.*\(n, L, d\)"):
        dotphase.train(SCENARIO, data=x[0])
    with pytest.raises(ValueError, match=r"^data: every entry must be finite"):
        dotphase.train(SCENARIO, data=np.full((100, 2, 10), np.nan))
    with pytest.raises(ValueError, match=r"^data: expected sentences"):
        dotphase.train(SCENARIO, data=[["a", "b"]])
    with pytest.raises(ValueError, match=r"^data: sentences of 3 tokens"):
        dotphase.train(SCENARIO, data=np.ones((100, 3, 10)))


def test_arrays_are_rotated_as_sentences_are():
    x = np.random.default_rng(0).standard_normal((400, 2, 20)) * np.linspace(0.2, 1, 20)
    found = dotphase.text.tokens_from_samples(x)
    turned = found.rotated(x)
    np.testing.assert_allclose((turned**2).sum(2), (x**2).sum(2))
    second = np.einsum("nli,nlj->ij", turned, turned)
    assert np.abs(second - np.diag(np.diagonal(second))).max() < 0.02 * np.abs(second).max()
    with pytest.raises(ValueError, match=r"^sentences: expected shape \(n, L, 20\)"):
        found.rotated(x[0])


@pytest.mark.parametrize("shape", [(49, 1), (50,), (50, 2), (1, 50)])
def test_weights_of_a_wrong_shape_are_refused(shape):
    data = dotphase.sample(SCENARIO, d=50)
    with pytest.raises(ValueError, match=r"^weights: expected shape \(50, 1\)"):
        dotphase.exact_test_error(data.instance, np.ones(shape))
