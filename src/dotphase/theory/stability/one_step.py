"""`one_step`: one step of replica-symmetry breaking, solved; the equations are in `clusters.py`.

A quasi-Newton method starts at the replica-symmetric solution, with its slopes, and learns from
step to step how they differ. Δ = 0 is always a solution; where the prox jumps there is
another one, which is the one looked for.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...numerics.precision import in_double
from ...numerics.progress import Progress, track
from ...numerics.rules import Sobol
from ...results.estimate import Estimate
from ...scenario.arguments import checked
from ...scenario.checks import check_plain
from ...scenario.scenario import Scenario
from ..solver.reached import QuasiNewton
from ..solver.solution import Solution, SolveError
from ..solver.solve import Start, solve
from .breaking import SURE
from .cluster_map import NUDGE, TRACE, ClusterMap, Place, cluster_map, clusters_at, state_of
from .clusters import TOGETHER, Clusters
from .linearised import linearise
from .one_step_result import OneStep, OneStepScan, largest_ratio


@checked
@in_double
def one_step(
    scenario: Scenario,
    start: Start = "positional",
    y: float = 0.0,
    *,
    rule: Sobol | None = None,
    inner: int = 64,
    tolerance: float = 0.05,
    max_evaluations: int = 25,
) -> OneStep:
    """The solution with one step of breaking that belongs to a replica-symmetric one.

    **Arguments**

    - `scenario`: what is learned;  `start`: of the replica-symmetric solve, or its solution.
    - `y`: the Parisi parameter, per unit of training loss; at zero (q_1, V, m, θ) are the
      replica-symmetric ones.
    - `rule`: nodes for (ξ_0, η), 2^11 unless given; `inner`: how many ξ_1 each of them has, a power
      of two.
    - `tolerance`: of the last step, in standard errors;  `max_evaluations`: of the map.

    **Returns**: a `OneStep`: overlaps, Δ/q, free energy and complexity.

    **Example**

        at = one_step(dotphase.paper(alpha=2, omega=0.3), "positional", y=500)
        print(at.ratio, at.free_energy, at.complexity)
    """
    if not y >= 0:
        raise ValueError(f"y: expected a number of zero or above, got {y:g}")
    return one_step_scan(
        scenario,
        start,
        [y],
        rule=rule,
        inner=inner,
        tolerance=tolerance,
        max_evaluations=max_evaluations,
    ).points[0]


@checked
@in_double
def one_step_scan(
    scenario: Scenario,
    start: Start,
    values: Iterable[float],
    *,
    rule: Sobol | None = None,
    inner: int = 64,
    tolerance: float = 0.05,
    max_evaluations: int = 25,
    progress: Progress = None,
) -> OneStepScan:
    """`one_step` over rising y, each from the one before, on the same nodes.

    **Arguments**: `scenario`, `start`, `rule`, `inner`, `tolerance` and `max_evaluations` as in
    `one_step`; `values`, of y; `progress`, True for a bar, or a function of (done, total).

    **Returns**: a `OneStepScan`: the solution at each y, and the bound on the ground state's
    energy.

    **Example**

        scan = one_step_scan(dotphase.paper(alpha=2, omega=0.3), "positional", [0, 300, 1000, 3000])
        print(scan.bound, scan.ground, scan.reason)
    """
    check_plain("one step of replica-symmetry breaking", scenario)
    ys, rule = sorted(map(float, values)), rule or Sobol(2**11)
    if not ys or ys[0] < 0:
        raise ValueError(f"values: expected numbers of zero or above, got {ys}")
    if inner < 4 or inner > TOGETHER or inner & (inner - 1):
        raise ValueError(f"inner: expected a power of two from 4 to {TOGETHER}, got {inner}")
    symmetric = (
        start
        if isinstance(start, Solution)
        else solve(scenario, start, minimum="lowest", rtol=None)
    )
    if symmetric.minimum != "lowest":
        raise ValueError(
            "start: one step of breaking is about the lowest minima; solve with minimum='lowest'"
        )
    walk, points = _begin(symmetric, rule, inner), []
    for y in track(ys, "one step of breaking", progress):
        began = time.perf_counter()
        try:
            place, reason, spent = walk.solve(y, tolerance, max_evaluations)
        except SolveError as error:
            if not points:
                raise
            return replace(_summary(points, rule), reason=str(error))
        points.append(_assemble(walk, symmetric, place, reason, spent, time.perf_counter() - began))
    return _summary(points, rule)


@dataclass
class _Walk:
    """Where the iteration is: its `state`, the `slope` of F it began with, the `iteration`, which
    has learned what that misses, and the minima `known`."""

    map: ClusterMap
    state: np.ndarray
    slope: np.ndarray
    known: list[Any]
    iteration: QuasiNewton

    def at(self, y: float, state: np.ndarray) -> Place | None:
        place, self.known = self.map(y, state, self.known)
        return place

    def deviations(self, place: Place) -> np.ndarray:
        """How far each replicate's own solution lies from the pooled one, in invariant coordinates,
        (R, k)."""
        return self.iteration.whole_step(self.slope, place.change_scatter.T, place.gauge).T

    def solve(self, y: float, tolerance: float, most: int) -> tuple[Place, str, int]:
        """Iterate to the solution at y: the place, why it is none (or nothing), and the evaluations
        it took."""
        close = 0.01  # a last step may not be longer than this, however large the errors
        place, spent, iteration = self.at(y, self.state), 1, self.iteration
        iteration.share, iteration.last = 1.0, None
        if place is None:
            raise SolveError(f"one step of breaking: the response is not positive at y = {y:g}")
        while True:
            whole = iteration.whole_step(self.slope, place.change, place.gauge)
            errors = self.map.evaluator.rule.error(self.deviations(place))
            if (np.abs(whole) <= np.minimum(tolerance * errors, close) + 1e-9).all():
                self.state = place.state
                return place, "", spent
            dx = iteration.step(self.slope, place.change, place.gauge)
            after, spent = self.at(y, place.state + self.map.basis.T @ dx), spent + 1
            while after is None and spent < most:
                dx = iteration.shorten()
                after, spent = self.at(y, place.state + self.map.basis.T @ dx), spent + 1
            if after is None or spent >= most:
                change = np.abs(place.change).max()
                reason = f"the map still changes coordinates by {change:.1e}"
                return place, f"{reason} after {spent} evaluations", spent
            iteration.learn(self.slope, after.change - place.change)
            place = after


def _begin(symmetric: Solution, rule: Sobol, inner: int) -> _Walk:
    """At the replica-symmetric solution, with a little Δ."""
    first = 0.02  # of q: where the search for Δ begins
    at, o = linearise(symmetric), symmetric.overlaps
    here = cluster_map(symmetric.scenario, at.kept, rule, inner)
    start = Clusters((1 - first) * o.q, first * o.q, o.V, o.m, o.theta)
    slope, own = -0.5 * np.eye(len(here.basis)), len(at.point.slope)  # Δ' grows as √Δ
    slope[:own, :own] = at.point.slope
    iteration = QuasiNewton(longest=0.7, growth=1.5)  # coordinates of Δ: logarithms of its root
    state = state_of(start, symmetric.scenario)
    return _Walk(here, state, slope, here.first_minima(), iteration)


def _assemble(
    walk: _Walk, symmetric: Solution, place: Place, reason: str, spent: int, seconds: float
) -> OneStep:
    scenario, rule, overlaps = symmetric.scenario, walk.map.evaluator.rule, place.overlaps
    moved = [
        clusters_at(place.state + NUDGE * walk.map.basis.T @ dx, scenario)
        for dx in walk.deviations(place)
    ]
    apart = lambda of: (
        np.array([of(each) - of(overlaps) for each in moved]) / NUDGE
    )  # to first order
    error = lambda of: rule.error(apart(of)) if not reason else np.inf
    ratio = 0.0 if largest_ratio(overlaps) < 10 * TRACE else largest_ratio(overlaps)
    errors = [
        error(lambda each, k=k: each[k]) * np.ones_like(part) for k, part in enumerate(overlaps)
    ]
    unsure = rule.error(place.number_scatter) if not reason else np.full(len(place.numbers), np.inf)
    f, complexity, energy = (Estimate(*each) for each in zip(place.numbers, unsure, strict=True))
    return OneStep(
        scenario=scenario,
        branch=symmetric.branch,
        y=place.y,
        overlaps=overlaps,
        overlap_errors=Clusters(*errors),
        ratio=Estimate(ratio, error(largest_ratio)),
        free_energy=f,
        complexity=complexity,
        energy=energy,
        deviations=place.number_scatter[:, 0],
        outcome="stalled" if reason else "converged",
        reason=reason,
        evaluations=spent,
        nodes=walk.map.rule.count,
        inner=walk.map.inner.shape[-1],
        seconds=seconds,
    )


def _summary(points: list[OneStep], rule: Sobol) -> OneStepScan:
    first, rises = points[0], []
    for point in points:
        apart = rule.error(point.deviations - first.deviations)
        rises.append(Estimate(point.free_energy.value - first.free_energy.value, apart))
    usable = [point for point in points if point.outcome == "converged"]
    if not usable:
        unknown = Estimate(first.free_energy.value, np.inf)
        return OneStepScan(points, rises, unknown, first.y, None, "no solution converged")
    best = max(usable, key=lambda point: float(point.free_energy))
    for low, high in pairwise(usable):
        here, there = low.complexity, high.complexity
        if here.value > SURE * here.error and there.value < -SURE * there.error:
            # Where the line between them crosses zero, and how far its errors move that.
            slope = (there.value - here.value) / (high.y - low.y)
            root = Estimate(
                low.y - here.value / slope, float(max(here.error, there.error)) / abs(slope)
            )
            return OneStepScan(points, rises, best.free_energy, best.y, root, "")
    words = f"Σ does not change sign by two errors between y = {usable[0].y:g} and {usable[-1].y:g}"
    return OneStepScan(points, rises, best.free_energy, best.y, None, words)
