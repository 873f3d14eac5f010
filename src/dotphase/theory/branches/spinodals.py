"""Where a branch ends along a parameter.

The end is found by bisection. Pseudo-arclength continuation, which follows the curve of fixed
points around a fold, was tried too: near its end a branch is rough, because the minima of many
samples jump, and there the curve is lost on some node sets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...numerics.progress import Progress, counting
from ...numerics.rules import Sobol
from ...scenario.arguments import checked_with, number
from ...scenario.scenario import ALIASES, Scenario
from ..solver.solution import USABLE, Solution
from ..solver.solve import Minimum
from .continuation import Follower
from .node_sets import SCANNED, Transition, over_node_sets, scan_points


@checked_with(precision=number(above=True))
def spinodal(
    scenario: Scenario,
    start: str = "semantic",
    along: str = "sample_ratio",
    between: tuple[float, float] = (0.2, 5.0),
    *,
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

    **Returns**: a `Transition`.

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
    branch = Follower(start, rule, None, minimum)

    def exists(p: float) -> bool | None:
        """None where that cannot be told."""
        before, solution = branch.last, branch(scenario.vary(**{along: p}))
        tried()
        if solution.outcome == "stalled":
            return None
        there = solution.outcome in USABLE and _present(solution, start)
        if not there:
            branch.last = before
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
            branch.evaluations,
            f"the {start} branch {what} between {along} = {min(points):.4g} and {max(points):.4g}",
        )
    (outside, _), (inside, _) = sorted(seen[-2:], key=lambda pair: pair[1])
    while abs(inside - outside) > width:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if exists(middle) else (inside, middle)
    side = "above" if inside > outside else "below"
    return (inside + outside) / 2, branch.evaluations, f"the {start} branch lies {side}"


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
