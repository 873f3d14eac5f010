"""The theory at finite d: what S[z] p adds to the loss of every sample."""

import numpy as np
import pytest

import dotphase as dp

SAME_SIDE = dp.paper(alpha=2.0, omega=0.3).vary(positions=dp.Positions([[1.0, 0.5]]))


def test_training_follows_the_theory_at_its_own_d_and_not_that_at_infinity():
    d = 600
    runs = dp.train(SAME_SIDE, d, "semantic", seeds=8)
    here, limit = (dp.solve(SAME_SIDE, "semantic", minimum="reached", d=at) for at in (d, None))
    for name in ("train_loss", "test_error"):
        trained = runs.adjusted(name)
        assert abs(trained.deviation(getattr(here, name))) < 3
        assert trained.deviation(getattr(limit, name)) > 20


def test_a_constant_student_has_it_in_closed_form():
    """S = M whatever the fields: the loss is that at infinity, and ½ Tr[M p pᵀ Mᵀ]/d."""
    M, d = np.array([[0.7, 0.3], [0.4, 0.6]]), 50
    task = SAME_SIDE.vary(student=dp.attentions.constant(M), ridge=0.1)
    limit, here = (dp.solve(task, "uninformed", d=at) for at in (None, d))
    p = np.array([[1.0, 0.5]])
    expected = 0.5 * ((M @ p.T) ** 2).sum() / d
    assert here.train_loss.value - limit.train_loss.value == pytest.approx(
        task.sample_ratio * expected, rel=1e-9
    )
    assert here.test_error.value - limit.test_error.value == pytest.approx(expected, rel=1e-9)


def test_it_vanishes_as_the_dimension_grows():
    limit, far = (dp.solve(SAME_SIDE, "semantic", rtol=None, d=at) for at in (None, 10**9))
    assert far.train_loss.value == pytest.approx(limit.train_loss.value, rel=1e-6)


def test_derivatives_know_of_it():
    """dε_t/dα, from the averages' own slopes, is that by differences."""
    rule, step = dp.Sobol(2**13), 1e-3
    up, down = (
        dp.solve(SAME_SIDE.vary(alpha=2.0 + s), "semantic", rule=rule, rtol=None, d=100)
        for s in (step, -step)
    )
    here = dp.theory.sensitivities(
        dp.solve(SAME_SIDE, "semantic", rule=rule, rtol=None, d=100), ["sample_ratio"], rule
    )
    slope = (up.train_loss.value - down.train_loss.value) / (2 * step)
    assert here["sample_ratio"].train_loss.value == pytest.approx(slope, rel=1e-3)


def test_a_scenario_file_keeps_the_dimension():
    task = dp.paper().vary(dimension=600)
    assert dp.scenario.scenario_from_toml(dp.scenario.scenario_to_toml(task)) == task
    with pytest.raises(ValueError, match="d: expected a whole number"):
        dp.solve(dp.paper(), d=0)
