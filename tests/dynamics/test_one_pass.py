"""One-pass learning: exact symmetries, rest points against independent minima, agreement with
simulations, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from dotphase import attentions
from dotphase.finite.data.instance import Instance
from dotphase.finite.test_error import exact_test_error
from dotphase.learning.online.agreement import agreement
from dotphase.learning.online.decomposition import Start
from dotphase.learning.online.escape import escape_rates
from dotphase.learning.online.one_pass import one_pass
from dotphase.learning.online.phase_portrait import PlaneFlow, rest_points
from dotphase.learning.online.simulation import simulate
from dotphase.numerics.rules import GaussHermite
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens

CHEAP = GaussHermite(6)


@pytest.mark.parametrize(("start", "zero"), [("positional", "theta"), ("semantic", "m")])
def test_what_is_zero_by_symmetry_stays_zero(start, zero):
    found = one_pass(paper(omega=0.3), start, rate=20, until=[0, 5, 40], rule=CHEAP)
    assert found.outcome == "finished"
    assert (getattr(found, zero).value == 0).all()
    assert found.mechanism == start


def test_a_random_start_without_a_dimension_does_not_move_and_with_one_it_does():
    stays = one_pass(paper(omega=0.6), "random", rate=20, until=[0, 10], rule=CHEAP)
    assert stays.mechanism == "uninformed"
    leaves = one_pass(paper(omega=0.6), "random", rate=20, until=[0, 20], d=1000, rule=CHEAP)
    assert leaves.mechanism == "positional"


def smallest(scenario, d, ridge, start):
    """The minimum of (L/2) ε_g + (λ₁/2)⟨Q²⟩ over a Q* + b √d p_1 at finite d, by a search that
    knows no slopes."""
    instance = Instance(scenario, d, 0)
    p = np.sqrt(d) * instance.positions[0]
    teacher = instance.teacher_weights[:, 0] - p * (p @ instance.teacher_weights[:, 0]) / d
    teacher *= np.sqrt(d) / np.linalg.norm(teacher)
    instance.__dict__["teacher_weights"] = teacher[
        :, None
    ]  # of exactly the expected length, across the encodings

    def loss(x):
        Q = (x[1] * teacher + x[0] * p)[:, None]
        return (
            float(exact_test_error(instance, Q, GaussHermite(8)).value)
            + 0.5 * ridge * (Q**2).sum() / d
        )

    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    return found.x


def test_rest_points_are_the_minima_of_the_exact_test_error():
    scenario, ridge = paper(omega=0.6), 0.005
    rest = [
        point
        for point in rest_points(PlaneFlow(scenario, ridge, GaussHermite(8)), (0.4, 1.0), 3)
        if point.kind == "minimum"
    ]
    assert {point.mechanism for point in rest} == {"semantic", "positional"}
    for point in rest:
        start = [0.25, 0.02] if point.mechanism == "positional" else [0.02, 0.7]
        at = [smallest(scenario, d, ridge, start) for d in (1000, 2000)]
        limit = np.abs(2 * at[1] - at[0])  # 1/d taken out
        np.testing.assert_allclose(limit, [point.m, point.theta], atol=5e-5)
        # The correction is there, and another ridge has another minimum.
        assert np.abs(at[0] - at[1]).max() > 1e-5
    other = rest_points(PlaneFlow(scenario, 2 * ridge, GaussHermite(8)), (0.4, 1.0), 3)
    assert abs(other[0].m + other[0].theta - rest[0].m - rest[0].theta) > 1e-3


def test_small_steps_end_where_the_flow_rests():
    scenario = paper(omega=0.6)
    flow = PlaneFlow(scenario, 0.005, CHEAP)
    rest = {
        point.mechanism: point
        for point in rest_points(flow, (0.4, 1.0), 3)
        if point.kind == "minimum"
    }
    found = one_pass(
        scenario, Start(positional=0.2, noise=0.1), 0.5, [0, 2500], ridge=0.005, rule=CHEAP
    )
    assert abs(found.m.value[-1, 0, 0]) == pytest.approx(
        rest["positional"].m, abs=3e-3
    )  # of order η
    assert max(rest["positional"].rates) < 0


def test_position_grows_first_from_small_random_weights():
    for omega in (0.0, 0.6):
        rates = escape_rates(paper(omega=omega))
        assert rates["m"] > 2 * rates["theta"] > 0


def test_a_simulation_follows_the_equations_and_not_others():
    start = Start(0.4, 0.2, 0.4)
    seen = simulate(paper(omega=0.3), 600, start, 25.0, [0, 1.5, 3.0], 8, ridge=0.01)
    found = agreement(seen, CHEAP)
    assert max(found.worst.values()) < 4, found.worst
    other = replace(
        seen, step=seen.step._replace(rate=0.4 * seen.step.rate)
    )  # what another rate would have done
    assert max(agreement(other, CHEAP).worst.values()) > 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: one_pass(paper(), "nowhere"), "start: expected"),
        (lambda: one_pass(paper(), "random", rate=0), "rate"),
        (lambda: one_pass(paper(), "random", until=[3, 1]), "until"),
        (lambda: one_pass(paper(), "random", until=[0.0]), "^until: expected a positive time"),
        (lambda: one_pass(paper(), "random", until=[[0, 1], [0, 2]]), "^until: expected"),
        (
            lambda: agreement(simulate(paper(), 30, "random", until=0.5, seeds=1)),
            "^simulation: at least two seeds",
        ),
        (lambda: Start(), "does not move"),
        (lambda: PlaneFlow(paper(student_rank=2)), "plane: needs"),
        (lambda: simulate(paper(), 50, "random", seeds=0), "seeds"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_rate_that_is_too_high_is_an_outcome():
    scenario = paper(omega=0.3).vary(
        student=attentions.linear(1)
    )  # whose slopes grow without bound, unlike a softmax's
    found = one_pass(scenario, Start(noise=1.0), rate=100.0, until=[0, 50], rule=CHEAP)
    assert found.outcome == "diverged"
    assert "lower the rate" in found.reason
    assert np.isfinite(found.test_error.value).all()


def test_one_token_has_a_plane_too():
    one = Scenario(
        attentions.softmax(1), attentions.linear(1), Tokens([[0.3]]), Positions([[1.0]]), 1.0, 0.01
    )
    assert PlaneFlow(one).gram.shape == (1, 1)
