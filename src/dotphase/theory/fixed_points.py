"""Fixed points of state evolution, by an implicit method that starts as a damped iteration and ends as Newton's.

The plain iteration x ← map(x) oscillates: along m its slope is about −3 at the positional fixed point. Instead, with
F(x) = map(x) − x and J = ∂F/∂x, each step solves

    (1/δ − J) dx = F(x),

an implicit Euler step of length δ along the flow dx/dt = F(x). δ grows as |F| falls, so that the steps follow the flow
into a fixed point's basin and then become Newton's, which converge to stable and unstable fixed points alike.
A student of rank above one has a gauge (`gauge.py`): steps do not go along its orbits, where J is singular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .evaluator import Evaluator, Point

LONGEST_MOVE = 1.0  # of any coordinate in one step: a factor e in √q or √V
FAR = 0.1  # residual above which steps keep to the flow, whose unstable directions would turn Newton's around
SHORTEST = 1e-2  # δ
PATIENCE = 4  # steps without halving the residual, after which jumps are blurred more
MOST_WIDENED = 2  # times; a blur as wide as the gaps themselves would bias the answer
SEARCH_BELOW = 0.02  # residual from which it pays to find the prox globally
FRESH = 0.05  # move of any coordinate up to which minima found globally, and their rivals, are followed safely


class Trail(NamedTuple):
    """How an iteration ended: the last point, whether its residual met the tolerance, and why not."""

    point: Point
    converged: bool
    reason: str


def fixed_point(
    evaluator: Evaluator,
    x: np.ndarray,
    tolerance: float,
    most: int,
    near: bool = False,
    delta: float | None = None,
) -> Trail:
    """Iterate from coordinates `x` to a fixed point: undamped residual below `tolerance`, with all proxes global.

    **Arguments**

    - `most`: how many evaluations of the map are allowed.
    - `near`: the start is already close to the fixed point, so that the prox is searched for globally at once.
    - `delta`: the first δ; if not given, infinite (Newton's steps) when `near`, else 2.

    A `tolerance` above `SEARCH_BELOW` asks only for the neighbourhood of a fixed point: no prox is searched for.
    """
    delta = (np.inf if near else 2.0) if delta is None else delta
    searched = None  # where the prox was last searched for globally
    least, waiting, widened = np.inf, 0, 0
    if near:
        evaluator.search(x)
        searched = x
    point, best = evaluator(x), None
    while evaluator.evaluations < most:
        if not _finite(point):
            if best is None:
                return Trail(point, False, "the map is not defined at the start: the response λ + γV̂ is not positive")
            delta = min(delta, 1.0) / 4
            if delta < 1e-4:
                return Trail(best, False, "the iteration runs into a region where the response is not positive")
            point = evaluator(best.x + step(evaluator, best, delta))
            continue
        if point.residual <= tolerance:
            settled = searched is not None and np.abs(point.x - searched).max() < FRESH
            if settled or tolerance >= SEARCH_BELOW:
                return Trail(point, True, "")
            # Converged for the minima in hand: are they still the global ones?
            evaluator.search(point.x, new_blur=searched is None)
            searched = point.x
            point = evaluator(point.x)
            continue
        if searched is None and point.residual < SEARCH_BELOW:
            evaluator.search(point.x)
            searched = point.x
            point = evaluator(point.x)
            continue
        if best is not None:
            delta = _next_delta(delta, best, point)
        waiting = 0 if point.residual < 0.5 * least else waiting + 1
        least = min(least, point.residual)
        if searched is not None and waiting >= PATIENCE and widened < MOST_WIDENED:
            # Newton's steps go to and fro across a jump of the prox that these nodes resolve too sharply.
            evaluator.blur *= 2.5
            widened += 1
            waiting, least = 0, np.inf
            point = evaluator(point.x)
        best = point
        point = evaluator(point.x + step(evaluator, point, delta))
    last = point if _finite(point) else (best or point)
    return Trail(last, False, f"residual {last.residual:.1e} after {evaluator.evaluations} evaluations")


def step(evaluator: Evaluator, point: Point, delta: float) -> np.ndarray:
    """The implicit step of length δ; far from a fixed point, of one so short that it does not go against the flow."""
    while True:
        matrix = np.eye(len(point.change)) / delta - point.slope
        dx = solve_off_gauge(matrix, point.change, point.gauge)
        if dx @ point.change >= 0 or point.residual < FAR or delta < SHORTEST:
            break
        delta = min(delta, 8.0) / 2
    along = evaluator.basis.T @ dx
    return along * min(1.0, LONGEST_MOVE / max(np.abs(along).max(), 1e-300))


def solve_off_gauge(matrix: np.ndarray, right: np.ndarray, gauge: np.ndarray) -> np.ndarray:
    """The solution of matrix @ y = right that has no component along the gauge directions, nor is asked for one."""
    if not len(gauge):
        return np.linalg.lstsq(matrix, right, rcond=1e-9)[0]
    off = np.eye(len(matrix)) - gauge.T @ gauge
    return off @ np.linalg.lstsq(off @ matrix @ off + gauge.T @ gauge, off @ right, rcond=1e-9)[0]


def _next_delta(delta: float, before: Point, now: Point) -> float:
    ratio = np.linalg.norm(before.change) / max(np.linalg.norm(now.change), 1e-300)
    return float(min(delta * np.clip(ratio * 1.5, 0.5, 10.0), 1e8))


def _finite(point: Point) -> bool:
    return bool(np.isfinite(point.change).all() and np.isfinite(point.slope).all() and np.isfinite(point.residual))
