import numpy as np
import pytest
from finite_scenarios import SCENARIOS, uneven

from dotphase.finite.data.sampling import Grams, sample
from dotphase.finite.training.objective import Objective, gram_loss
from dotphase.scenario.attentions.attention import matrices


def plain(data, weights):
    """The objective as it is written: every output formed, every residual squared."""
    d, seen = data.instance.dimension, data.tokens
    x = seen - data.instance.positions[:, None]
    fields = np.einsum("lni,ir->lrn", seen, weights) / np.sqrt(d)
    guess = matrices(data.scenario.student, fields)
    residual = np.einsum("lkn,kni->lni", data.answers, x) - np.einsum("lkn,kni->lni", guess, seen)
    return (residual**2).sum() / (2 * d) + 0.5 * data.scenario.ridge * (weights**2).sum()


@pytest.fixture(params=SCENARIOS)
def problem(request):
    data = sample(SCENARIOS[request.param], 30, 1)
    random = np.random.default_rng(0)
    shape = (30, data.scenario.student.rank)
    return data, random.standard_normal(shape), random.standard_normal(shape)


def test_the_gram_form_is_the_plain_forward_pass(problem):
    data, weights, _ = problem
    assert Objective(data)(weights)[0] == pytest.approx(plain(data, weights), rel=1e-11)


def test_the_wrong_gram_matrix_is_noticed(problem):
    # x instead of x̃ in the student's own term: the encodings forgotten in one place of three.
    data, weights, _ = problem
    fields = Objective(data).fields(weights)
    guess = matrices(data.scenario.student, fields)
    forgetful = Grams(data.grams.true, data.grams.mixed, data.grams.true)
    ridge = 0.5 * data.scenario.ridge * (weights**2).sum()
    right = float(np.sum(gram_loss(data.answers, guess, data.grams))) + ridge
    wrong = float(np.sum(gram_loss(data.answers, guess, forgetful))) + ridge
    assert right == pytest.approx(plain(data, weights), rel=1e-11)
    assert abs(wrong - right) > 1e-3 * right


def test_the_gradient_is_the_slope(problem):
    data, weights, along = problem
    objective = Objective(data)
    h = 1e-5
    slope = (plain(data, weights + h * along) - plain(data, weights - h * along)) / (2 * h)
    assert np.vdot(objective(weights)[1], along) == pytest.approx(slope, rel=1e-6)


def test_the_curvature_is_the_change_of_the_gradient(problem):
    data, weights, along = problem
    objective = Objective(data)
    h = 1e-5
    change = (objective(weights + h * along)[1] - objective(weights - h * along)[1]) / (2 * h)
    np.testing.assert_allclose(
        objective.curvature(weights)(along), change, atol=1e-6 * np.abs(change).max()
    )


def test_pulling_back_is_the_transpose_of_the_fields(problem):
    data, weights, _ = problem
    objective = Objective(data)
    slopes = np.random.default_rng(3).standard_normal(objective.fields(weights).shape)
    there = np.vdot(objective.fields(weights), slopes)
    assert np.vdot(weights, objective.pull_back(slopes)) == pytest.approx(there, rel=1e-12)


def test_single_precision_is_close_and_answers_in_double():
    single, double = (
        Objective(sample(uneven(), 60, 1, precision=p)) for p in ("float32", "float64")
    )
    weights = np.random.default_rng(0).standard_normal((60, 2))
    (value, gradient), (exact, exact_gradient) = single(weights), double(weights)
    assert gradient.dtype == np.float64
    assert value == pytest.approx(exact, rel=1e-6)
    assert np.linalg.norm(gradient - exact_gradient) < 1e-5 * np.linalg.norm(exact_gradient)
    assert value != exact


def test_double_precision_is_not_left_switched_on():
    import jax

    Objective(sample(uneven(), 20, 0))(np.ones((20, 2)))
    assert not jax.config.jax_enable_x64
