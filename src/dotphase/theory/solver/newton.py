"""Fixed points of state evolution, by an implicit method that starts as a damped iteration and ends
as Newton's.

The plain iteration x ← map(x) oscillates: along m its slope is about −3 at the positional fixed
point. Instead, with F(x) = map(x) − x and J = ∂F/∂x, each step solves

    (1/δ − J) dx = F(x),

an implicit Euler step of length δ along the flow dx/dt = F(x). δ grows as |F| falls, so that the
steps follow the flow into a fixed point's basin and then become Newton's, which converge to stable
and unstable fixed points alike. A student of rank above one has a gauge (`gauge.py`): steps do not
go along its orbits, where J is singular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...inner.minima import Lowest, Reached
from ..state_evolution.evaluator import Evaluator, NodeMinima, Point, finite
from .errors import observable_errors, solve_off_gauge
from .reached import SMALL, settle

LONGEST_MOVE = 1.0  # of any coordinate in one step: a factor e in √q or √V
# residual above which steps keep to the flow, whose unstable directions would turn Newton's around
FAR = 0.1
SHORTEST = 1e-2  # δ
# δ; beyond, a column of weights that dies out, whose logarithm falls for ever, would stand still
LONGEST = 1e5
PATIENCE = 4  # steps without halving the residual, after which jumps are blurred more
MOST_WIDENED = 2  # times; a blur as wide as the gaps themselves would bias the answer
SEARCH_BELOW = 0.02  # residual from which it pays to find the inner minima anew
SLOW, SLOW_MOVE = 0.5, 0.3  # δ, and the longest move, of short steps
TURNS = 15  # at Newton's, between short steps, that would use up all evaluations
ROUGH = 5e-3  # residual that rough nodes may leave
FRESH = (
    0.05  # move of any coordinate up to which lowest minima, and their rivals, are followed safely
)


class Trail(NamedTuple):
    """How an iteration ended: the last point, whether it is a fixed point, why not or not quite,
    and what it took."""

    point: Point
    converged: bool
    reason: str
    evaluations: int


class _Walk:
    """The iteration under way: where it is, where it was, and with which minima."""

    def __init__(
        self, evaluator: Evaluator, x: np.ndarray, minima: NodeMinima | None, delta: float
    ) -> None:
        self.evaluator, self.delta = evaluator, delta
        self.searched = None if minima is None else x  # where the inner minima were last found anew
        self.evaluations, self.before = 0, None
        self.least, self.waiting, self.widened = np.inf, 0, 0
        self.point = self.at(x, minima)

    def at(self, x: np.ndarray, minima: NodeMinima | None) -> Point:
        self.evaluations += 1
        if self.searched is None and isinstance(self.evaluator.minimum, Reached):
            # Far from a fixed point the overlaps move so much that minima cannot be followed, only
            # begun anew.
            minima = None
        return self.evaluator(x, minima)

    def search(self) -> None:
        """Find the inner minima anew, where the walk is."""
        x = self.point.x
        minima = self.evaluator.search(x, self.point.minima, new_blur=self.searched is None)
        self.searched, self.point = x, self.at(x, minima)

    def retreat(self) -> None:
        """Back to the last point at which the map was defined, and on with a quarter of the step."""
        assert self.before is not None
        self.delta = min(self.delta, 1.0) / 4
        self.point = self.at(
            self.before.x + step(self.evaluator, self.before, self.delta), self.before.minima
        )

    def advance(self) -> None:
        if self.before is not None:
            self.delta = _next_delta(self.delta, self.before, self.point)
        self.waiting = 0 if self.point.residual < 0.5 * self.least else self.waiting + 1
        self.least = min(self.least, self.point.residual)
        if self.searched is not None and self.waiting >= PATIENCE and self.widened < MOST_WIDENED:
            # Newton's steps go to and fro across a jump of the minima that these nodes resolve too
            # sharply.
            self.widened, self.waiting, self.least = self.widened + 1, 0, np.inf
            wider = self.at(
                self.point.x, self.point.minima._replace(blur=2.5 * self.point.minima.blur)
            )
            self.point = wider if finite(wider) else self.point
        self.before = self.point
        self.point = self.at(
            self.point.x + step(self.evaluator, self.point, self.delta), self.point.minima
        )

    def end(self, converged: bool, reason: str = "") -> Trail:
        last = self.point if finite(self.point) else (self.before or self.point)
        return Trail(last, converged, reason, self.evaluations)


def fixed_point(
    evaluator: Evaluator,
    x: np.ndarray,
    tolerance: float,
    most: int,
    near: bool = False,
    delta: float | None = None,
) -> Trail:
    """Iterate from coordinates `x` to a fixed point: undamped residual below `tolerance`, inner
    minima as asked for.

    **Arguments**

    - `most`: how many evaluations of the map are allowed.
    - `near`: the start is already close to the fixed point, so that the inner minima are searched
      for at once.
    - `delta`: the first δ; if not given, so long that steps are Newton's when `near`, else 2.

    A `tolerance` above `SEARCH_BELOW` asks only for the neighbourhood of a fixed point: no minimum
    is searched for.
    """
    delta = (LONGEST if near else 2.0) if delta is None else delta
    walk = _Walk(evaluator, x, evaluator.search(x) if near else None, delta)
    while walk.evaluations < most:
        point = walk.point
        if not finite(point):
            if walk.before is None:
                return walk.end(
                    False,
                    "the map is not defined at the start: the response λ + γV̂ is not positive",
                )
            if walk.delta < 1e-4:
                return walk.end(
                    False, "the iteration runs into a region where the response is not positive"
                )
            walk.retreat()
        elif point.residual <= tolerance:
            if tolerance >= SEARCH_BELOW:
                return walk.end(True)
            if isinstance(evaluator.minimum, Reached):
                # Converged for the minima in hand: are they still the reached ones?
                end = settle(evaluator, point.x, tolerance)
                return Trail(
                    end.point, end.converged, end.reason, walk.evaluations + end.evaluations
                )
            if walk.searched is not None and np.abs(point.x - walk.searched).max() < FRESH:
                return walk.end(True)
            walk.search()  # are they still the lowest ones?
        elif walk.searched is None and point.residual < SEARCH_BELOW:
            walk.search()
        else:
            walk.advance()
    end = walk.end(False)
    return end._replace(
        reason=f"residual {end.point.residual:.1e} after {end.evaluations} evaluations"
    )


def slowly(evaluator: Evaluator, x: np.ndarray, tolerance: float, most: int) -> Trail:
    """The same by short steps along the flow, the inner minima found anew at each: many
    evaluations, but it does not lose its way where the minima of many samples jump.

    Where they are so many that these nodes do not resolve them, or rounding counts, F is too rough
    for Newton's method. A point will then do where the step that is left changes test error and
    training loss by a tenth of their errors at most, and the reason says so.
    """
    point, before, delta, spent, near = evaluator(x), None, SLOW, 1, SEARCH_BELOW
    while spent < most and delta > SHORTEST * SLOW and not (before is None and not finite(point)):
        if finite(point) and point.residual <= near:
            end = fixed_point(evaluator, point.x, tolerance, most // TURNS, near=True)
            spent, near = spent + end.evaluations, point.residual / 4
            if end.converged:
                return end._replace(evaluations=spent)
            if isinstance(evaluator.minimum, Lowest) and _within_errors(evaluator, point):
                reason = (
                    f"a residual of {point.residual:.1e} is left, a tenth of the errors at most"
                )
                return Trail(point, True, reason, spent)
        before, delta = (point, min(1.5 * delta, SLOW)) if finite(point) else (before, delta / 4)
        assert before is not None
        dx = step(evaluator, before, delta)
        there = before.x + dx * min(1.0, SLOW_MOVE / max(np.abs(dx).max(), 1e-300))
        # The blur is that of the neighbourhood in which the flow ends.
        minima = evaluator.search(there, before.minima, new_blur=before.residual > FAR)
        point, spent = evaluator(there, minima), spent + 1
    last = point if before is None or finite(point) else before
    return Trail(
        last, False, f"residual {last.residual:.1e} after {spent} evaluations in short steps", spent
    )


def _within_errors(evaluator: Evaluator, point: Point) -> bool:
    if point.residual > ROUGH:
        return False
    dx = -solve_off_gauge(point.slope, point.change, point.gauge)
    return bool(
        (np.abs(dx @ point.observable_slope) <= SMALL * observable_errors(evaluator, point)).all()
    )


def step(evaluator: Evaluator, point: Point, delta: float) -> np.ndarray:
    """The implicit step of length δ; far from a fixed point, of one so short that it does not go
    against the flow."""
    while True:
        matrix = np.eye(len(point.change)) / delta - point.slope
        dx = solve_off_gauge(matrix, point.change, point.gauge)
        if dx @ point.change >= 0 or point.residual < FAR or delta < SHORTEST:
            break
        delta = min(delta, 8.0) / 2
    along = evaluator.basis.T @ dx
    return along * min(1.0, LONGEST_MOVE / max(np.abs(along).max(), 1e-300))


def _next_delta(delta: float, before: Point, now: Point) -> float:
    ratio = np.linalg.norm(before.change) / max(np.linalg.norm(now.change), 1e-300)
    return float(min(delta * np.clip(ratio * 1.5, 0.5, 10.0), LONGEST))
