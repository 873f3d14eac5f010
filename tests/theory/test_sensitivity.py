"""Derivatives through the fixed point against differences of solved fixed points, on the same
nodes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dotphase
from dotphase.numerics.rules import Sobol
from dotphase.theory.branches import sensitivity
from dotphase.theory.branches.sensitivity import (
    PARAMETERS,
    derivative,
    optimal_ridge,
    sensitivities,
)
from dotphase.theory.solver.solution import SolveError
from dotphase.theory.stability.linearised import linearise

RULE = Sobol(2**12)


@pytest.fixture(scope="module")
def semantic():
    return dotphase.solve(dotphase.paper(alpha=2.0, omega=0.3), "semantic", rule=RULE, rtol=None)


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_derivatives_are_those_of_solved_fixed_points(semantic, parameter):
    """Central differences of step h and 2h, extrapolated to h → 0, on the same nodes."""
    task, p = semantic.scenario, semantic.scenario.value_of(parameter)

    def difference(h: float) -> np.ndarray:
        sides = [
            dotphase.solve(task.vary(**{parameter: p + s}), semantic, rule=RULE, rtol=None)
            for s in (h, -h)
        ]
        values = [np.array([float(s.test_error.value), float(s.train_loss.value)]) for s in sides]
        return (values[0] - values[1]) / (2 * h)

    near, far = difference(0.01 * p), difference(0.02 * p)
    extrapolated, doubt = (4 * near - far) / 3, np.abs(near - far)
    found = derivative(linearise(semantic, RULE), parameter)
    assert (np.abs(found - extrapolated) < doubt + 2e-3 * np.abs(found)).all()


def test_sensitivities_have_errors_and_signs(semantic):
    found = sensitivities(semantic, ["alpha", "lambda"], rule=RULE)
    assert (
        found["alpha"].test_error.value < -3 * found["alpha"].test_error.error
    )  # more data, less error
    assert found["alpha"].train_loss.value > 3 * found["alpha"].train_loss.error
    assert found["lambda"].train_loss.value > 3 * found["lambda"].train_loss.error


def test_training_loss_grows_with_the_ridge_by_half_the_weights(semantic):
    """dε_t/dλ = ⟨Tr Q Qᵀ⟩/2d = q/2γ: the training loss is a minimum over Q (envelope theorem)."""
    found = sensitivities(semantic, ["ridge"], rule=Sobol(2**13))["ridge"].train_loss
    gamma = semantic.scenario.distribution.mean_gamma[0]
    expected = float(semantic.overlaps.q[0, 0, 0]) / gamma / 2
    error = float(semantic.overlap_errors.q[0, 0, 0]) / gamma / 2
    assert abs(found.value - expected) < 3 * np.hypot(found.error, error)


def test_at_the_end_of_the_range_there_is_no_central_derivative():
    at = linearise(
        dotphase.solve(dotphase.paper(alpha=2.0, omega=0.0), "semantic", rule=RULE, rtol=None), RULE
    )
    with pytest.raises(ValueError, match="one-sided"):
        derivative(at, "mixing")


def test_optimal_ridge_is_the_minimum_of_a_scan():
    task = dotphase.paper(alpha=2.0, omega=0.3)
    found = optimal_ridge(task, "positional", rule=RULE)
    assert found.outcome == "interior"
    scan = np.geomspace(0.5, 2.0, 9) * found.ridge.value
    errors = [
        dotphase.solve(task.vary(ridge=r), "positional", rule=RULE, rtol=None).test_error
        for r in scan
    ]
    parabola = np.polyfit(np.log(scan), [float(e.value) for e in errors], 3)
    turning = np.roots(np.polyder(parabola))
    turning = turning[np.polyval(np.polyder(parabola, 2), turning) > 0].real
    assert np.abs(np.log(found.ridge.value) - turning).min() < 0.1
    assert found.solution.test_error.value <= min(e.value + e.error for e in errors)


def test_a_parameter_may_be_zero_inside_its_range():
    task = dotphase.paper(alpha=2.0, omega=0.3).vary(student=shifted(0.0))
    at = linearise(dotphase.solve(task, "semantic", rule=RULE, rtol=None), RULE)
    found = derivative(at, "shift")
    sides = [
        dotphase.solve(task.vary(shift=s), at.solution, rule=RULE, rtol=None) for s in (0.02, -0.02)
    ]
    loss = (sides[0].train_loss.value - sides[1].train_loss.value) / 0.04
    assert found[1] == pytest.approx(loss, rel=0.05)


def shifted(shift):
    def attention(h, shift):
        scores = h @ h.T
        return jax.nn.softmax(scores + shift * jnp.eye(len(h)), axis=-1)

    return dotphase.Attention(attention, rank=1, parameters={"shift": shift})


def test_no_optimal_ridge_is_said_and_why(monkeypatch):
    task = dotphase.paper(alpha=2.0, omega=0.3)
    with pytest.raises(ValueError, match=r"^between: "):
        optimal_ridge(task, between=(0.0, 1.0))
    with pytest.raises(SolveError, match=r"^semantic: collapsed at λ = "):
        optimal_ridge(task.vary(alpha=0.3), "semantic", rule=RULE)


def test_a_branch_lost_between_two_ridges_is_an_error_of_the_solve(monkeypatch):
    """The slope changes sign between two values of λ at which the branch exists, and between them it
    does not."""
    task = dotphase.paper(alpha=2.0, omega=0.3)

    def slope(at, parameter):
        halves = np.log2(at.solution.scenario.ridge / task.ridge)
        if not np.isclose(halves, np.round(halves)):
            raise SolveError("the fixed point is lost")
        return np.array([1.0 if halves > -0.5 else -1.0, 0.0])

    monkeypatch.setattr(sensitivity, "derivative", slope)
    with pytest.raises(SolveError, match="lost"):
        optimal_ridge(task, "positional", rule=Sobol(2**8))
