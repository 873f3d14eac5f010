"""One table: every optimiser through the same invariants. Adding a method is adding a row."""

import numpy as np
import pytest
from finite_scenarios import SCENARIOS, uneven

from dotphase import attentions
from dotphase.finite.data.sampling import sample
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.optimisers import LBFGS, Adam, GradientDescent
from dotphase.finite.training.starts import start_weights
from dotphase.finite.training.training import train
from dotphase.scenario.presets import paper

METHODS = {
    "lbfgs": LBFGS(tolerance=1e-7),
    "gd": GradientDescent(rate=0.5, steps=20_000, tolerance=1e-7),
    "adam": Adam(rate=0.01, steps=20_000, tolerance=1e-5),
}


@pytest.fixture(scope="module")
def objective():
    return Objective(sample(paper(alpha=2.0, ridge=0.05), 60, 1))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("start", ["semantic", "positional", "random"])
def test_every_method_ends_at_a_stationary_point_below_its_start(objective, name, start):
    weights = start_weights(objective.sample.instance, start)
    before = objective(weights)[0]
    end = METHODS[name].minimise(objective, weights)
    value, gradient = objective(end.weights)
    assert end.outcome == "converged"
    assert value == end.value < before
    assert (
        objective.relative_gradient(end.weights, value, gradient)
        == end.gradient_norm
        <= METHODS[name].tolerance
    )


def test_all_methods_find_the_same_minimum_from_the_teacher(objective):
    start = start_weights(objective.sample.instance, "semantic")
    ends = [method.minimise(objective, start) for method in METHODS.values()]
    for end in ends[1:]:
        assert end.value == pytest.approx(ends[0].value, rel=1e-8)
        assert np.linalg.norm(end.weights - ends[0].weights) < 1e-3 * np.linalg.norm(
            ends[0].weights
        )


@pytest.mark.parametrize("name", METHODS)
def test_at_a_minimum_no_method_moves(objective, name):
    there = LBFGS(tolerance=1e-10).minimise(
        objective, start_weights(objective.sample.instance, "semantic")
    )
    assert there.outcome == "converged"
    again = METHODS[name].minimise(objective, there.weights)
    assert again.steps == 0
    np.testing.assert_array_equal(again.weights, there.weights)


@pytest.mark.parametrize("name", SCENARIOS)
def test_lbfgs_converges_for_every_student(name):
    found = train(SCENARIOS[name], 60, "semantic", "lbfgs", seeds=2)
    assert found.outcomes == {"converged": 2}


def test_few_steps_are_an_outcome(objective):
    end = GradientDescent(steps=3).minimise(
        objective, start_weights(objective.sample.instance, "semantic")
    )
    assert (end.outcome, end.steps) == ("stopped", 3)
    assert "asked for" in end.reason


@pytest.mark.parametrize("method", [GradientDescent(rate=1e4), Adam(rate=1e300)])
def test_divergence_is_an_outcome_without_numbers(method):
    with np.errstate(all="ignore"):
        found = train(uneven(), 30, "semantic", method, seeds=2)
    assert found.outcomes == {"diverged": 2}
    assert "rate" in found.runs[0].reason
    assert np.isnan(found.test_error.value)
    assert found.test_error.count == 0
    run = found.runs[0]
    assert (
        run.weights is run.test_error is run.train_loss is run.overlaps is run.gradient_norm is None
    )


def test_a_student_that_ignores_its_fields_shrinks_to_nothing():
    """With S constant only the ridge is left: the minimum is Q = 0 and the loss there is that of
    the constant."""
    scenario = paper().vary(student=attentions.constant([[0.6, 0.4], [0.4, 0.6]]))
    run = train(scenario, 40, "semantic", LBFGS(tolerance=1e-12), seeds=1).runs[0]
    assert run.outcome == "converged"
    assert np.abs(run.weights).max() < 1e-10


def test_a_strong_ridge_leaves_no_signal():
    weak, strong = (train(paper(ridge=ridge), 60, "semantic", seeds=1) for ridge in (0.01, 50.0))
    assert strong.q.value < 1e-12 < 1e-2 < weak.q.value
