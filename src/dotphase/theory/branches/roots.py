"""Roots with errors: where a difference D(p) of solved branches vanishes along a parameter p.

First a change of sign on few nodes, then Brent's method, then Newton's steps with a fixed slope on
ever more nodes. Each replicate r of the nodes has a difference D_r of its own, in which what the
branches' errors share cancels; the root's error is the scatter of p_r = p − D_r/D′ over replicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...numerics.rules import Sobol
from ...results.estimate import Estimate
from ...scenario.scenario import Scenario
from ..solver.checks import beyond_memory, most_that_fit
from ..solver.solution import USABLE, Solution, SolveError
from ..solver.solve import Minimum
from .continuation import Follower

EDGES = 5  # bisections towards the end of a branch, beyond which a change of sign may hide


class Absent(ArithmeticError):
    """There is no root, and why."""


@dataclass
class Difference:
    """D(p) on solved branches, which are followed from one p to the next.

    - `of`: from the solutions of `starts` to D and how far each replicate's lies from it, (R,).
    - `signs`: what D < 0 and D > 0 mean, in words.
    - `sure`: a change of sign counts only where D is beyond two errors on both sides.
    - `tried`: called after every p, to show progress.
    """

    scenario: Scenario
    along: str
    starts: tuple[str, ...]
    of: Callable[[list[Solution]], tuple[float, np.ndarray]]
    signs: tuple[str, str]
    sure: bool = False
    minimum: Minimum = None
    tried: Callable[[], None] = lambda: None
    missing: dict[str, dict[float, str]] = field(default_factory=dict)
    known: dict[tuple[float, Sobol], tuple[float, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.branches = {start: Follower(start, minimum=self.minimum) for start in self.starts}

    @property
    def evaluations(self) -> int:
        return sum(branch.evaluations for branch in self.branches.values())

    def __call__(self, p: float, rule: Sobol) -> tuple[float, np.ndarray]:
        """D(p), not a number where a branch does not exist, and the replicates' deviations from it."""
        if (p, rule) not in self.known:
            self.known[p, rule] = self._solved(p, rule)
            self.tried()
        return self.known[p, rule]

    def _solved(self, p: float, rule: Sobol) -> tuple[float, np.ndarray]:
        scenario, found = self.scenario.vary(**{self.along: p}), []
        for start, branch in self.branches.items():
            branch.rule = rule
            solution = branch(scenario)
            if solution.outcome not in USABLE:
                self.missing.setdefault(start, {})[p] = solution.outcome
                return np.nan, np.full(rule.replicates, np.inf)
            found.append(solution)
        try:
            return self.of(found)
        except SolveError as lost:
            self.missing.setdefault(self.starts[0], {})[p] = str(lost)
            return np.nan, np.full(rule.replicates, np.inf)

    def gone(self) -> str:
        """Which branches were missing where, in words."""
        words = []
        for start, places in self.missing.items():
            spots = sorted(places)
            where = (
                f"{self.along} = {spots[0]:.4g}"
                if len(spots) == 1
                else f"{len(spots)} values of {self.along} from {spots[0]:.4g} to {spots[-1]:.4g}"
            )
            how = " and ".join(sorted(set(places.values())))
            words.append(f"the {start} branch is missing at {where} ({how})")
        return "; ".join(words)


def coarse_root(difference: Difference, points: np.ndarray, rule: Sobol, precision: float) -> float:
    """A root on few nodes: first change of sign along `points`, then Brent's method."""
    from scipy.optimize import brentq

    def value(p: float) -> float:
        found, _ = difference(float(p), rule)
        if not np.isfinite(found):
            raise Absent(f"{difference.gone()}, between points where the difference changes sign")
        return found

    low, high = _bracket(difference, points, rule)
    root: Any = brentq(value, low, high, xtol=precision / 2)
    return float(root)


def slope_at(difference: Difference, p: float, rule: Sobol) -> float:
    """D′(p), from both sides, or from one beside the end of a branch."""
    h = 0.02 * max(abs(p), 0.1)
    near = [(side, difference(side, rule)[0]) for side in (p + h, p, p - h)]
    near = [pair for pair in near if np.isfinite(pair[1])]
    slope = (near[0][1] - near[-1][1]) / (near[0][0] - near[-1][0]) if len(near) > 1 else 0.0
    if slope == 0:
        raise Absent(f"the difference has no slope at {difference.along} = {p:.4g}")
    return slope


def _bracket(difference: Difference, points: np.ndarray, rule: Sobol) -> tuple[float, float]:
    """Two parameters, rising, between which D changes sign: among `points`, else beside a branch's
    end.

    Points whose D is within two errors are passed over if there are others: what changes sign there
    may be noise.
    """
    sure_errors = 2.0  # errors by which a difference must differ from zero to have a sign
    values: list[float] = []
    sure: list[tuple[float, float]] = []
    for p in map(float, points):
        value, deviations = difference(p, rule)
        values.append(value)
        if np.isfinite(value) and abs(value) > sure_errors * rule.error(deviations):
            sure.append((p, value))
        if len(sure) > 1 and sure[-1][1] * sure[-2][1] < 0:
            return sure[-1][0], sure[-2][0]
    for k in range(len(points) - 1):
        first, second = float(points[k]), float(points[k + 1])
        if values[k] * values[k + 1] <= 0 and not difference.sure:
            return second, first
        window = _window(difference, first, second, rule)
        for inside, outside in () if window is None else ((window, first), (window, second)):
            found = _beside_the_end(difference, inside, outside, rule)
            if found is not None and not difference.sure:
                return found
    lowest, highest = float(min(points)), float(max(points))
    where = f"between {difference.along} = {lowest:.4g} and {highest:.4g}"
    there = [v for v in values if np.isfinite(v)]
    if not there:
        raise Absent(f"none {where}: {difference.gone()}")
    gone = f"; {difference.gone()}" if difference.missing else ""
    unsure = ", or within two errors of a change," if min(there) * max(there) < 0 else ""
    most = difference.signs[int(np.median(there) > 0)]
    raise Absent(f"none {where}: {most}{unsure} throughout{gone}")


def _window(difference: Difference, first: float, second: float, rule: Sobol) -> float | None:
    """Where D exists, at or between two points of which at least one is beyond the end of a branch."""
    exists = lambda p: np.isfinite(difference(p, rule)[0])
    gone = lambda p: next(
        (start for start, places in difference.missing.items() if p in places), ""
    )
    if exists(first) or exists(second):
        return None if exists(first) and exists(second) else first if exists(first) else second
    for _ in range(EDGES):
        middle = (first + second) / 2
        if gone(first) == gone(second):  # nothing lies between, as far as one can tell
            return None
        if exists(middle):
            return middle
        first, second = (middle, second) if gone(middle) == gone(first) else (first, middle)
    return None


def _beside_the_end(
    difference: Difference, inside: float, outside: float, rule: Sobol
) -> tuple[float, float] | None:
    value, _ = difference(inside, rule)
    for _ in range(EDGES):
        middle = (inside + outside) / 2
        there, _ = difference(middle, rule)
        if not np.isfinite(there):
            outside = middle
        elif there * value <= 0:
            return min(inside, middle), max(inside, middle)
        else:
            inside, value = middle, there
    return None


def refined_root(
    difference: Difference, p: float, rule: Sobol, precision: float, budget: int
) -> tuple[Estimate, Sobol, str]:
    """Newton's steps with a fixed slope on ever more nodes, each until it is small against the
    error; and what stopped them short of the precision."""
    longest = 0.1  # of the parameter in one step
    newton = 8  # steps on one set of nodes
    located, slope, error = (Estimate(p, np.inf), rule), slope_at(difference, p, rule), np.inf
    while True:
        for _ in range(newton):
            value, deviations = difference(p, rule)
            if not np.isfinite(value):
                return *located, f"on {rule.count} nodes {difference.gone()}"
            error, step = float(rule.error(deviations)) / abs(slope), -value / slope
            located = Estimate(p, error), rule
            if abs(step) <= 0.1 * max(error, precision / 10):
                break
            p += float(np.clip(step, -longest * abs(p), longest * abs(p)))
        else:
            return *located, f"Newton's method does not converge on {rule.count} nodes"
        if error <= precision or 2 * rule.count > budget:
            short = f"budget of {budget} nodes reached: error {error:.3g}, asked {precision:.3g}"
            return (
                *located,
                "" if error <= precision else f"{short}; raise the budget to {4 * budget}",
            )
        asked = rule.refined(error / precision, budget, most=3)
        finer = most_that_fit(difference.scenario, asked, rule.count)
        if finer is None:
            full = beyond_memory(difference.scenario, asked)
            return *located, f"error {error:.3g}, asked {precision:.3g}: {full}"
        rule = finer
        difference.missing.clear()
