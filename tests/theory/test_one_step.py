"""One step of breaking: its free energy is stationary, its complexity is the derivative, and it
reduces to no step."""

from dataclasses import replace

import numpy as np
import pytest

import dotphase
from dotphase.numerics.precision import in_double
from dotphase.numerics.rules import Sobol
from dotphase.overlaps.overlaps import Moments, coordinate_layout
from dotphase.scenario.distribution import Distribution
from dotphase.theory.stability import one_step as module
from dotphase.theory.stability.cluster_map import clusters_at, state_of
from dotphase.theory.stability.clusters import (
    Averages,
    Clusters,
    compiled_conjugates,
    complexity,
    free_energy,
    overlaps_from,
    per_group,
    positive,
)
from dotphase.theory.stability.one_step import one_step, one_step_scan

Y = 400.0
OPTIONS = {"rule": Sobol(2**12), "inner": 16}


# ------------------------------------------------------------- the input half-step, any L and ranks


def random_case(seed: int = 0, length: int = 3, r_s: int = 2, r_t: int = 1, count: int = 4):
    """A distribution of several groups of directions, conjugates of the right symmetry, and overlaps V of no
    meaning."""
    rng = np.random.default_rng(seed)
    joint = rng.normal(size=(count, length + r_t, length + r_t))
    distribution = Distribution(
        np.full(count, 1 / count),
        rng.uniform(0.2, 1.0, (count, length)),
        joint @ np.swapaxes(joint, 1, 2),
    )
    square = lambda scale: (
        scale * (lambda a: a @ np.swapaxes(a, 1, 2))(rng.normal(size=(length, r_s, r_s)))
    )
    hats = Clusters(
        square(0.1),
        square(0.02),
        square(0.3) + np.eye(r_s),
        rng.normal(size=(length, r_s)),
        rng.normal(size=(length, r_s, r_t)),
    )
    return distribution, hats


RIDGE, SMALL_Y = 0.4, 1.7


def f_of(distribution, hats: Clusters, overlaps: Clusters, y: float = SMALL_Y) -> float:
    return free_energy(per_group(distribution, RIDGE, y, hats), y, overlaps, hats, 2.0, 0.3)


@pytest.mark.parametrize("part", Clusters._fields)
@pytest.mark.parametrize("y", [0.0, SMALL_Y])
def test_f_is_stationary_in_the_conjugates(part, y):
    """At the overlaps that conjugates give, f does not change with any conjugate; exactly."""
    distribution, hats = random_case()
    assert positive(per_group(distribution, RIDGE, y, hats))
    overlaps = overlaps_from(per_group(distribution, RIDGE, y, hats))
    rng = np.random.default_rng(1)
    move = rng.normal(size=getattr(hats, part).shape)
    move = move + np.swapaxes(move, 1, 2) if part in ("q_0", "spread", "V") else move
    f = lambda step: f_of(
        distribution, hats._replace(**{part: getattr(hats, part) + step * move}), overlaps, y
    )
    assert f(1e-4) - f(-1e-4) == pytest.approx(0, abs=1e-9)
    wrong = overlaps._replace(
        **{p: 1.05 * getattr(overlaps, p) for p in ("q_0", "V", "m", "theta")}
    )
    off = lambda step: f_of(
        distribution, hats._replace(**{part: getattr(hats, part) + step * move}), wrong, y
    )
    assert abs(off(1e-4) - off(-1e-4)) > 1e-7 or (part == "q_0" and y == 0)


def test_the_complexity_is_the_explicit_derivative():
    """With the average ln⟨e^{−yM}⟩ of a two-valued M, whose derivative is ⟨M⟩."""
    distribution, hats = random_case(2)
    overlaps = overlaps_from(per_group(distribution, RIDGE, SMALL_Y, hats))
    energies = np.array([0.3, 0.8])
    log = lambda y: float(np.log(np.exp(-y * energies).mean()) / y)
    weights = np.exp(-SMALL_Y * energies)
    f = lambda y: free_energy(
        per_group(distribution, RIDGE, y, hats), y, overlaps, hats, 2.0, log(y)
    )
    at = per_group(distribution, RIDGE, SMALL_Y, hats)
    mean = float(weights @ energies / weights.sum())
    explicit = complexity(at, SMALL_Y, overlaps, hats, 2.0, log(SMALL_Y), mean)
    difference = SMALL_Y**2 * (f(SMALL_Y + 1e-4) - f(SMALL_Y - 1e-4)) / 2e-4
    assert explicit == pytest.approx(difference, rel=1e-6)


def test_f_at_small_y_is_f_at_zero():
    distribution, hats = random_case(3)
    overlaps = overlaps_from(per_group(distribution, RIDGE, 0.0, hats))
    assert f_of(distribution, hats, overlaps, 1e-6) == pytest.approx(
        f_of(distribution, hats, overlaps, 0.0), rel=1e-5
    )


# ---------------------------------------------------------------------------------------- solutions


@pytest.fixture(scope="module")
def symmetric():
    return dotphase.solve(
        dotphase.paper(alpha=1.0, omega=0.3), "semantic", rule=Sobol(2**14), rtol=None
    )


@pytest.fixture(scope="module")
def scan(symmetric):
    return one_step_scan(symmetric.scenario, symmetric, [0.0, 0.8 * Y, Y, 1.2 * Y], **OPTIONS)


def test_at_small_y_the_symmetric_numbers_come_back(symmetric, scan):
    at = scan.points[0]
    assert at.outcome == "converged"
    here, errors, there, others = (
        at.overlaps,
        at.overlap_errors,
        symmetric.overlaps,
        symmetric.overlap_errors,
    )
    for name, part in (("q", here.q_1), ("V", here.V), ("m", here.m), ("theta", here.theta)):
        error = getattr(errors, "q_0" if name == "q" else name)
        known = np.hypot(error, getattr(others, name)) + 1e-12
        assert (np.abs(part - getattr(there, name)) < 3 * known).all(), name
    assert abs((at.free_energy - symmetric.train_loss).deviation()) < 3
    assert at.complexity.value == 0
    assert 0 < at.ratio.value < 0.3


def test_the_complexity_is_the_difference_of_solved_f(scan):
    _, low, at, high = scan.points
    assert [point.outcome for point in scan.points] == ["converged"] * 4
    quotient = at.y**2 * (high.free_energy.value - low.free_energy.value) / (high.y - low.y)
    error = at.y**2 * OPTIONS["rule"].error(high.deviations - low.deviations) / (high.y - low.y)
    assert abs(at.complexity.value - quotient) < 3 * np.hypot(error, at.complexity.error)
    assert at.energy.value == pytest.approx(
        at.free_energy.value + at.complexity.value / at.y, rel=1e-9
    )


def test_the_bound_is_the_largest_f(scan):
    assert all(
        0 < rise.error < point.free_energy.error
        for rise, point in zip(scan.rises[1:], scan.points[1:], strict=True)
    )
    assert scan.bound.value == max(point.free_energy.value for point in scan.points)
    assert scan.ground is not None or "Σ does not change sign" in scan.reason
    assert set(scan.to_dict()) == {"bound", "bound_y", "ground", "reason", "points", "rises"}
    assert "OneStep(semantic, y = 400, converged)  f = 0.00" in str(scan)


@pytest.fixture(scope="module")
def walk(symmetric):
    """At the solution at y = Y, with the slopes and minima the iteration ended with."""
    begun = in_double(module._begin)(symmetric, OPTIONS["rule"], OPTIONS["inner"])
    place, reason, _ = in_double(begun.solve)(Y, 0.02, 40)
    assert not reason
    return begun, place


@in_double
def numbers_at(walk, state, hats, y: float = Y) -> np.ndarray:
    """f, Σ, e at a state with conjugates held, pooled and of each replicate, (1 + R, 3)."""
    rows, _ = walk.map._averages(y, state, walk.known)
    here, scenario = clusters_at(state, walk.map.scenario), walk.map.scenario
    at = per_group(scenario.distribution, float(scenario.ridge), y, hats)
    return np.array([walk.map._numbers(y, at, here, hats, row) for row in rows.within])


@in_double
def hats_at(walk, place):
    rows, _ = walk.map._averages(place.y, place.state, walk.known)
    return walk.map._hats(place.y, place.state, Averages(*(row[0] for row in rows)))


def test_f_is_stationary_in_every_overlap(walk):
    """Along every invariant coordinate, conjugates held, in units of what the replicates say; with
    wrong conjugates it is not."""
    begun, place = walk
    hats, rule, step = hats_at(begun, place), begun.map.rule, 0.02

    def slopes(**wrong):
        conjugates = hats._replace(
            **{name: factor * getattr(hats, name) for name, factor in wrong.items()}
        )
        at = lambda state: numbers_at(begun, state, conjugates)[:, 0]
        moves = [step * direction for direction in begun.map.basis]
        found = np.array(
            [(at(place.state + move) - at(place.state - move)) / (2 * step) for move in moves]
        ).T
        return np.abs(found[0] / rule.error(found[1:] - found[0])).max()

    right, *wrong = slopes(), slopes(V=2.0), slopes(q_0=1.2), slopes(theta=1.2)
    assert right < 4 < min(wrong)


@in_double
def test_V_hat_is_the_mean_slope_of_g(symmetric):
    """For M = k w²/2, where all averages are known: ⟨g⟩ = −k w_0/(1 + ykΔ), Var g = k²Δ/(1 + ykΔ),
    and V̂ = αk."""
    scenario, k, y = symmetric.scenario, 0.3, 7.0
    overlaps = _broken(symmetric)._replace(theta=0 * symmetric.overlaps.theta)
    x = state_of(overlaps, scenario)[: coordinate_layout(scenario.structure.shape).size]
    softened = 1 + y * k * overlaps.spread
    between = k**2 * overlaps.q_0 / softened**2
    rest = (
        -k * np.sqrt(overlaps.q_0) / softened,
        np.zeros((2, 1)),
        np.zeros((2, 1, 1)),
        np.zeros(()),
        np.zeros(()),
        np.zeros(()),
    )
    rows = [
        np.asarray(Moments(gg, *rest).flat())
        for gg in (between + k**2 * overlaps.spread / softened, between)
    ]
    hats = compiled_conjugates(scenario.structure)(scenario.values, x, y, Averages(*rows))
    np.testing.assert_allclose(hats.V, scenario.sample_ratio * k, rtol=1e-12)
    without = compiled_conjugates(scenario.structure)(scenario.values, x, 0.0, Averages(*rows))
    assert np.abs(np.asarray(without.V) - scenario.sample_ratio * k).max() > 1e-3 * k


def test_complexity_at_fixed_overlaps_is_the_partial_derivative(walk):
    begun, place = walk
    hats = hats_at(begun, place)
    f = lambda y: numbers_at(begun, place.state, hats, y)[0, 0]
    quotient = Y**2 * (f(1.01 * Y) - f(0.99 * Y)) / (0.02 * Y)
    assert place.numbers[1] == pytest.approx(quotient, rel=1e-3)


def test_without_jumps_there_is_no_spread():
    at = one_step(
        dotphase.paper(alpha=2.0, omega=0.3), "semantic", 300.0, rule=Sobol(2**11), inner=16
    )
    assert at.outcome == "converged"
    assert at.ratio.value == 0
    assert abs(at.complexity.value) < 1e-6 * 300 * at.free_energy.value


def test_states_and_overlaps_go_both_ways(symmetric):
    overlaps = in_double(clusters_at)(
        in_double(state_of)(_broken(symmetric), symmetric.scenario), symmetric.scenario
    )
    for here, there in zip(overlaps, _broken(symmetric), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-12)


def _broken(symmetric) -> Clusters:
    o = symmetric.overlaps
    return Clusters(0.9 * o.q, 0.1 * o.q, o.V, o.m, o.theta)


def test_moments_have_room_for_what_is_averaged():
    """`Averages` borrow the layout of `Moments`: the names it relies on are there."""
    assert Moments._fields[:4] == ("gg", "g_xi", "g", "g_eta")
    assert {"loss", "energy"} <= set(Moments._fields)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"y": -1.0}, "y: expected"), ({"y": 1.0, "inner": 12}, "inner: expected a power of two")],
)
def test_what_cannot_be_is_said(options, words):
    with pytest.raises(ValueError, match=words):
        one_step(dotphase.paper(alpha=2.0, omega=0.3), "semantic", **options)


def test_reached_minima_are_refused(symmetric):
    with pytest.raises(ValueError, match="lowest minima"):
        one_step(symmetric.scenario, replace(symmetric, minimum="reached"), 1.0)


@pytest.mark.slow
def test_rank_two():
    """Any L and ranks: at small y the replica-symmetric numbers, in units of their errors."""
    task = dotphase.paper(alpha=2.5, omega=0.3, student_rank=2)
    symmetric = dotphase.solve(task, "semantic", rule=Sobol(2**13), rtol=None)
    at = one_step(task, symmetric, 0.0, **OPTIONS)
    assert at.outcome == "converged"
    assert abs((at.free_energy - symmetric.train_loss).deviation()) < 4
