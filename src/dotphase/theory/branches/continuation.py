"""Branches: a fixed point followed along a parameter, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ...numerics.progress import Progress, counting, track
from ...numerics.rules import Rule, Sobol
from ...scenario.scenario import ALIASES, Scenario
from ..solver.solution import USABLE, Solution
from ..solver.solve import Minimum, Start, solve
from .roots import SCANNED, Transition, over_node_sets, scan_points


def follow(
    scenario: Scenario,
    start: Start,
    parameter: str,
    values: Iterable[float],
    rule: Rule | None = None,
    rtol: float | None = None,
    progress: Progress = None,
    minimum: Minimum = None,
) -> list[Solution]:
    """The branch of a start at each of `values` of a parameter, every solve begun at the last that
    succeeded.

    Where continuation fails the start itself is tried; what fails still is in the list, with its
    reason.

    **Arguments**: `scenario`, `start`, `minimum`, `rule`, `rtol` as in `solve`; `parameter`, by any
    name that `Scenario.vary` takes; `values` in the order of the continuation; `progress(done,
    total)` is called after each.

    **Example**

        follow(dotphase.paper(omega=0.3), "semantic", "alpha", [2, 1.5, 1, 0.7])
    """
    found: list[Solution] = []
    last = start
    for value in track(
        list(values),
        f"following the {start if isinstance(start, str) else 'given'} branch",
        progress,
    ):
        solution = _continued(scenario.vary(**{parameter: value}), last, start, rule, rtol, minimum)
        if solution.outcome in USABLE:
            last = solution
        found.append(solution)
    return found


def _continued(
    scenario: Scenario,
    last: Start,
    start: Start,
    rule: Rule | None,
    rtol: float | None,
    minimum: Minimum,
) -> Solution:
    solution = solve(scenario, last, rule=rule, rtol=rtol, minimum=minimum)
    if solution.outcome in USABLE or last is start:
        return solution
    again = solve(scenario, start, rule=rule, rtol=rtol, minimum=minimum)
    return again if again.outcome in USABLE or solution.outcome == "stalled" else solution


def spinodal(
    scenario: Scenario,
    start: str = "semantic",
    along: str = "sample_ratio",
    between: tuple[float, float] = (0.2, 5.0),
    precision: float = 2e-3,
    rule: Sobol | None = None,
    scan: int = SCANNED,
    minimum: Minimum = None,
    progress: Progress = None,
) -> Transition:
    """Where a branch ends along a parameter: the first end met from the upper side, whether the
    branch lies above it or below (`reason` says which).

    The end is located by bisection to a quarter of `precision` on each of several independent node
    sets; the location is their mean, its error their standard error, which may well be larger than
    `precision`: near its end a branch is soft, and sampling errors are amplified.

    **Arguments**: `scenario`, `along`, `between`, `precision`, `rule`, `scan`, `minimum` and
    `progress` as in `critical`; `start`: the branch.

    **Example**: `spinodal(paper(omega=0.3), "semantic").location`.
    """
    along = ALIASES.get(along, along)
    points = scan_points(between, scan)
    with counting(progress, "spinodal") as tried:
        end = lambda nodes: _end(
            scenario, start, along, points, nodes, precision / 4, minimum, tried
        )
        return over_node_sets("spinodal", along, rule or Sobol(2**14), precision, end)


def _end(
    scenario: Scenario,
    start: str,
    along: str,
    points: np.ndarray,
    rule: Sobol,
    width: float,
    minimum: Minimum = None,
    tried: Callable[[], None] = lambda: None,
) -> tuple[float | None, int, str]:
    """The end of a branch on one node set (None if there is none), the evaluations, and on which
    side it lies."""
    last: Start = start
    spent = 0

    def exists(p: float) -> bool | None:
        """None where that cannot be told."""
        nonlocal last, spent
        solution = _continued(scenario.vary(**{along: p}), last, start, rule, None, minimum)
        spent += solution.evaluations
        tried()
        if solution.outcome == "stalled":
            return None
        there = solution.outcome in USABLE and _present(solution, start)
        if there:
            last = solution
        return there

    seen: list[tuple[float, bool]] = []
    for p in map(float, points):
        there = exists(p)
        if there is not None:
            seen.append((p, there))
        if len(seen) > 1 and seen[-1][1] != seen[-2][1]:
            break
    else:
        what = (
            "does not end"
            if seen and seen[0][1]
            else "exists nowhere"
            if seen
            else "cannot be followed"
        )
        return (
            None,
            spent,
            f"the {start} branch {what} between {along} = {min(points):.4g} and {max(points):.4g}",
        )
    (outside, _), (inside, _) = sorted(seen[-2:], key=lambda pair: pair[1])
    while abs(inside - outside) > width:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if exists(middle) else (inside, middle)
    side = "above" if inside > outside else "below"
    return (inside + outside) / 2, spent, f"the {start} branch lies {side}"


def _present(solution: Solution, start: str) -> bool:
    """Whether the order parameter of a mechanism, θ or m, is there.

    Jumps of single nodes can hold it at a value that is tiny and within its error: that does not
    count.
    """
    significant = 3.0  # errors by which an order parameter must differ from zero
    part = {"semantic": "theta", "positional": "m"}.get(start)
    if part is None:
        return solution.mechanism == start
    value, error = getattr(solution.overlaps, part), getattr(solution.overlap_errors, part)
    largest = np.unravel_index(np.abs(value).argmax(), value.shape)
    return bool(abs(value[largest]) > significant * error[largest]) and solution.mechanism in (
        start,
        "mixed",
    )
