"""Which mechanism wins, and where exactly that changes.

A transition is a root of the difference of two observables along a parameter p, with the branches solved at
every p:

    train-loss   ε_t(semantic) − ε_t(positional) = 0     the global minimum changes mechanism (α_c)
    linear       ε_g(semantic) − ε_lin = 0               attention beats the linear positional baseline (α_l)

Both branches use the same scrambled nodes, and each replicate r has a difference D_r of its own, in which
what their errors share cancels. The root's error is the scatter of p_r = p − D_r/D′ over replicates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..gaussian import Estimate, Sobol
from ..scenario.scenario import ALIASES, Scenario
from .baseline import linear_baseline
from .linearised import Linearised, linearise
from .solution import Solution
from .solve import Start, solve

KINDS = ("train-loss", "linear", "spinodal")
SCANNED = 16  # points of the first scan for a change of sign
USABLE = ("converged", "imprecise")


@dataclass(frozen=True)
class Phase:
    """The branch of lowest training loss.

    - `winner`: its mechanism; "undecided" when the margin is within two errors, "unknown" when a solve
      stalled.
    - `margin`: by how much it is lower than the next, with the error of the difference.
    - `solutions`: all branches, the winner first. Starts that led to the same fixed point count once.
    """

    winner: str
    margin: Estimate
    solutions: tuple[Solution, ...]


@dataclass(frozen=True)
class Transition:
    """Where something changes along a parameter.

    - `location`: the parameter's value there, ± its standard error.
    - `outcome`: "located", "imprecise" (the node budget did not bring the error down to what was asked for)
      or "absent" (no change in the interval; the location is then not a number and `reason` says why).
    """

    kind: str
    along: str
    location: Estimate
    outcome: str
    reason: str
    evaluations: int
    nodes: int
    seconds: float


def phase(scenario: Scenario, starts: Iterable[Start] = ("semantic", "positional"), rule: Sobol | None = None) -> Phase:
    """Which mechanism the global minimum of the training loss has, as d → ∞.

    **Example**

        phase(dotphase.paper(alpha=2, omega=0.3)).winner      # "semantic"
    """
    rule = rule or Sobol(2**15)
    found = _distinct([solve(scenario, start, rule=rule, rtol=None) for start in starts])
    if any(s.outcome == "stalled" for s in found):
        return Phase("unknown", Estimate(np.nan, np.inf), tuple(found))
    found.sort(key=lambda s: float(s.train_loss.value))
    if len(found) == 1:
        return Phase(found[0].mechanism, Estimate(np.inf, 0.0), tuple(found))
    best, second = (linearise(s, rule) for s in found[:2])
    margin = _estimate(
        rule, second.point.observables[1] - best.point.observables[1], second.deviations - best.deviations
    )
    decided = margin.value > 2 * margin.error
    return Phase(found[0].mechanism if decided else "undecided", margin, tuple(found))


def _estimate(rule: Sobol, value: float, deviations: np.ndarray) -> Estimate:
    return Estimate(float(value), float(rule.error(deviations[:, 1])))


def _distinct(found: list[Solution]) -> list[Solution]:
    """Without the collapsed ones whose fixed point another start, or nothing of interest, stands for."""
    kept: list[Solution] = []
    for s in found:
        same = (t for t in kept if t.mechanism == s.mechanism and s.outcome != "stalled")
        if not any(abs(float(t.train_loss.value - s.train_loss.value)) < 1e-9 for t in same):
            kept.append(s)
    return kept


@dataclass
class _Difference:
    """D(p) on solved branches, which are followed from one p to the next."""

    scenario: Scenario
    along: str
    starts: tuple[str, ...]
    of: Callable[[list[np.ndarray], Scenario], float]
    combine: Callable[[list[np.ndarray]], np.ndarray]
    last: dict[str, Start] = field(default_factory=dict)
    evaluations: int = 0

    def solved(self, p: float, rule: Sobol) -> list[Solution]:
        scenario = self.scenario.vary(**{self.along: p})
        found = []
        for start in self.starts:
            solution = solve(scenario, self.last.get(start, start), rule=rule, rtol=None)
            if solution.outcome not in USABLE and start in self.last:
                solution = solve(scenario, start, rule=rule, rtol=None)
            self.evaluations += solution.evaluations
            if solution.outcome in USABLE:
                self.last[start] = solution
            found.append(solution)
        return found

    def value(self, p: float, rule: Sobol) -> float:
        """D(p), or not a number where a branch does not exist."""
        found = self.solved(p, rule)
        if any(s.outcome not in USABLE for s in found):
            return np.nan
        observables = [np.array([s.test_error.value, s.train_loss.value], float) for s in found]
        return self.of(observables, found[0].scenario)

    def replicated(self, p: float, rule: Sobol) -> tuple[float, np.ndarray]:
        """D(p), and how far each replicate's lies from it."""
        found = self.solved(p, rule)
        bad = [s for s in found if s.outcome not in USABLE]
        if bad:
            raise ArithmeticError(f"{bad[0].branch} at {self.along} = {p:.6g}: {bad[0].outcome}: {bad[0].reason}")
        lines: list[Linearised] = [linearise(s, rule) for s in found]
        self.evaluations += sum(line.evaluator.evaluations for line in lines)
        value = self.of([line.point.observables for line in lines], found[0].scenario)
        return value, self.combine([line.deviations for line in lines])


def _difference(scenario: Scenario, kind: str, along: str) -> _Difference:
    if kind == "train-loss":
        of = lambda seen, _: float(seen[0][1] - seen[1][1])
        return _Difference(scenario, along, ("semantic", "positional"), of, lambda seen: seen[0][:, 1] - seen[1][:, 1])
    if kind == "linear":
        of = lambda seen, at: float(seen[0][0] - linear_baseline(at).test_error.value)
        return _Difference(scenario, along, ("semantic",), of, lambda seen: seen[0][:, 0])
    raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")


def critical(
    scenario: Scenario,
    kind: str = "train-loss",
    along: str = "sample_ratio",
    between: tuple[float, float] = (0.2, 5.0),
    precision: float = 2e-3,
    budget: int = 2**17,
    rule: Sobol | None = None,
    scan: int = SCANNED,
) -> Transition:
    """The value of a parameter at which a transition takes place, ± its error.

    **Arguments**

    - `kind`: `"train-loss"`, `"linear"` or `"spinodal"` (where the semantic branch ends).
    - `along`: the parameter, by any name `Scenario.vary` takes; all others are the scenario's.
    - `between`: where to look. The scan begins at the upper end, where both branches exist as a rule.
    - `scan`: how many points the first scan has at most: two, if `between` is known to bracket the
      transition.
    - `precision`: refine the nodes until the standard error is this small, or `budget` nodes are reached.

    **Example**

        critical(dotphase.paper(omega=0.3)).location         # 1.25… ± …

    **Reference**: arXiv 2402.03902 prints α_c = 1.24 and α_l = 1.45 at ω = 0.3, from a 144-node rule that
    does not resolve the jumps of the prox.
    """
    along = ALIASES.get(along, along)
    scenario.value_of(along)  # complains about an unknown name at once
    if not (np.isfinite(between).all() and between[0] < between[1]) or not precision > 0:
        raise ValueError(
            f"between, precision: expected low < high and a positive precision, got {between}, {precision}"
        )
    if kind == "spinodal":
        from .branches import spinodal

        return spinodal(scenario, "semantic", along, between, precision, rule)
    began = time.perf_counter()
    rule = rule or Sobol(2**13)
    difference = _difference(scenario, kind, along)
    try:
        p, slope = _coarse(difference, _grid(between, scan), rule, precision)
        location, rule = _refined(difference, p, slope, rule, precision, budget)
    except ArithmeticError as error:
        nowhere = Estimate(np.nan, np.inf)
        seconds = time.perf_counter() - began
        return Transition(kind, along, nowhere, "absent", str(error), difference.evaluations, rule.count, seconds)
    outcome, reason = ("located", "") if location.error <= precision else ("imprecise", f"{budget} nodes were allowed")
    seconds = time.perf_counter() - began
    return Transition(kind, along, location, outcome, reason, difference.evaluations, rule.count, seconds)


def _grid(between: tuple[float, float], count: int) -> np.ndarray:
    """From the upper end to the lower, evenly in proportion where that makes sense."""
    low, high = between
    return np.geomspace(high, low, count) if low > 0 else np.linspace(high, low, count)


def _coarse(difference: _Difference, points: np.ndarray, rule: Sobol, precision: float) -> tuple[float, float]:
    """A root on few nodes and the slope there: first change of sign along `points`, then Brent's method."""
    from scipy.optimize import brentq

    missing, upper, at_upper = [], np.nan, np.nan
    for p in points:
        value = difference.value(float(p), rule)
        missing += [f"{p:.4g}"] * (not np.isfinite(value))
        if value * at_upper <= 0:
            break
        upper, at_upper = float(p), value
    else:
        where = f"{difference.along} between {points[-1]:g} and {points[0]:g}"
        gone = f"; a branch is missing at {', '.join(missing)}" if missing else ""
        raise ArithmeticError(f"no change of sign for {where}{gone}")
    root: Any = brentq(lambda p: _finite(difference, p, rule), float(p), upper, xtol=precision / 2)
    p, h = float(root), 0.02 * max(abs(root), 0.1)
    slope = (_finite(difference, p + h, rule) - _finite(difference, p - h, rule)) / (2 * h)
    return p, slope


def _finite(difference: _Difference, p: float, rule: Sobol) -> float:
    value = difference.value(p, rule)
    if not np.isfinite(value):
        raise ArithmeticError(f"a branch is missing at {difference.along} = {p:.4g}")
    return value


def _refined(
    difference: _Difference, p: float, slope: float, rule: Sobol, precision: float, budget: int
) -> tuple[Estimate, Sobol]:
    """Newton's steps with a fixed slope on ever more nodes, each until it is small against the error."""
    while True:
        error, step, tries = 0.0, np.inf, 0
        while abs(step) > 0.1 * max(error, precision / 10) and tries < 6:
            value, deviations = difference.replicated(p, rule)
            error, step = float(rule.error(deviations)) / abs(slope), -value / slope
            p, tries = p + step, tries + 1
        if error <= precision or 2 * rule.count > budget:
            return Estimate(p, error), rule
        # Errors fall about as the power 0.65 of the count.
        factor = 2 ** int(np.clip(np.ceil(np.log2(error / precision) / 0.65), 1, 3))
        rule = replace(rule, count=min(rule.count * factor, budget))


def critical_line(
    scenario: Scenario,
    kind: str,
    values: Iterable[float],
    across: str = "mixing",
    progress: Callable[[int, int], None] | None = None,
    **options,
) -> list[Transition]:
    """A transition traced over values of another parameter: α_c(ω) unless told otherwise; options as in
    `critical`.
    """
    values, found = list(values), []
    for value in values:
        found.append(critical(scenario.vary(**{across: value}), kind, **options))
        if progress is not None:
            progress(len(found), len(values))
    return found
