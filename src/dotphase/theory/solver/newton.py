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

from dataclasses import replace

import numpy as np

from ...inner.minima import Lowest, Reached
from ..state_evolution.evaluator import Evaluator, NodeMinima, Point, finite
from .errors import observable_errors, solve_off_gauge
from .options import SolverOptions
from .reached import reached_fixed_point
from .trail import Trail


class _Walk:
    """The iteration under way: where it is, where it was, and with which minima."""

    def __init__(
        self,
        evaluator: Evaluator,
        x: np.ndarray,
        minima: NodeMinima | None,
        delta: float,
        options: SolverOptions,
    ) -> None:
        self.evaluator, self.delta, self.options = evaluator, delta, options
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
            self.before.x + step(self.evaluator, self.before, self.delta, self.options),
            self.before.minima,
        )

    def advance(self) -> None:
        if self.before is not None:
            self.delta = _next_delta(self.delta, self.before, self.point, self.options)
        self.waiting = 0 if self.point.residual < 0.5 * self.least else self.waiting + 1
        self.least = min(self.least, self.point.residual)
        if (
            self.searched is not None
            and self.waiting >= self.options.patience
            and self.widened < self.options.widenings
        ):
            # Newton's steps go to and fro across a jump of the minima that these nodes resolve too
            # sharply.
            self.widened, self.waiting, self.least = self.widened + 1, 0, np.inf
            wider = self.at(
                self.point.x, self.point.minima._replace(blur=2.5 * self.point.minima.blur)
            )
            self.point = wider if finite(wider) else self.point
        self.before = self.point
        self.point = self.at(
            self.point.x + step(self.evaluator, self.point, self.delta, self.options),
            self.point.minima,
        )

    def end(self, converged: bool, reason: str = "") -> Trail:
        last = self.point if finite(self.point) else (self.before or self.point)
        return Trail(last, converged, reason, self.evaluations)


def fixed_point(
    evaluator: Evaluator,
    x: np.ndarray,
    options: SolverOptions,
    near: bool = False,
    delta: float | None = None,
) -> Trail:
    """Iterate from coordinates `x` to a fixed point: undamped residual below the tolerance, inner
    minima as asked for.

    **Arguments**

    - `options`: its `tolerance`, and `attempt` evaluations of the map at most.
    - `near`: the start is already close to the fixed point, so that the inner minima are searched
      for at once.
    - `delta`: the first δ; if not given, so long that steps are Newton's when `near`, else 2.

    A tolerance above `search_below` asks only for the neighbourhood of a fixed point: no minimum
    is searched for.
    """
    tolerance, longest = options.tolerance, options.longest_step
    delta = (longest if near else options.first_step) if delta is None else delta
    walk = _Walk(evaluator, x, evaluator.search(x) if near else None, delta, options)
    most = min(options.attempt, options.max_evaluations)
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
            if tolerance >= options.search_below:
                return walk.end(True)
            if isinstance(evaluator.minimum, Reached):
                # Converged for the minima in hand: are they still the reached ones?
                end = reached_fixed_point(evaluator, point.x, options)
                return end._replace(evaluations=walk.evaluations + end.evaluations)
            if walk.searched is not None and np.abs(point.x - walk.searched).max() < options.fresh:
                return walk.end(True)
            walk.search()  # are they still the lowest ones?
        elif walk.searched is None and point.residual < options.search_below:
            walk.search()
        else:
            walk.advance()
    end = walk.end(False)
    return end._replace(reason=f"the residual is still {end.point.residual:.1e}")


def small_steps(evaluator: Evaluator, x: np.ndarray, options: SolverOptions) -> Trail:
    """The same by short steps along the flow, the inner minima found anew at each: many
    evaluations, but it does not lose its way where the minima of many samples jump.

    Where they are so many that these nodes do not resolve them, or rounding counts, F is too rough
    for Newton's method. A point will then do where the step that is left changes test error and
    training loss by a tenth of their errors at most, and the reason says so.
    """
    most = min(options.small_step_attempts * options.attempt, options.max_evaluations)
    newton = replace(options, attempt=max(most // options.small_step_turns, 1))
    point, before, delta, spent, near = (
        evaluator(x),
        None,
        options.small_step,
        1,
        options.search_below,
    )
    shortest = options.shortest_step * options.small_step
    while spent < most and delta > shortest and not (before is None and not finite(point)):
        if finite(point) and point.residual <= near:
            left = replace(newton, max_evaluations=max(most - spent, 1))
            end = fixed_point(evaluator, point.x, left, near=True)
            spent, near = spent + end.evaluations, point.residual / 4
            if end.converged:
                return end._replace(evaluations=spent)
            if isinstance(evaluator.minimum, Lowest) and _within_errors(evaluator, point, options):
                reason = (
                    f"residual {point.residual:.1e}: it changes the results by at most a tenth "
                    "of their errors"
                )
                return Trail(point, True, reason, spent)
        before, delta = (
            (point, min(1.5 * delta, options.small_step)) if finite(point) else (before, delta / 4)
        )
        assert before is not None
        dx = step(evaluator, before, delta, options)
        there = before.x + dx * min(1.0, options.small_move / max(np.abs(dx).max(), 1e-300))
        # The blur is that of the neighbourhood in which the flow ends.
        minima = evaluator.search(there, before.minima, new_blur=before.residual > options.far)
        point, spent = evaluator(there, minima), spent + 1
    last = point if before is None or finite(point) else before
    return Trail(last, False, f"the residual is still {last.residual:.1e}", spent)


def _within_errors(evaluator: Evaluator, point: Point, options: SolverOptions) -> bool:
    if point.residual > options.rough_residual:
        return False
    dx = -solve_off_gauge(point.slope, point.change, point.gauge)
    return bool(
        (
            np.abs(dx @ point.observable_slope)
            <= options.rough_errors * observable_errors(evaluator, point)
        ).all()
    )


def step(evaluator: Evaluator, point: Point, delta: float, options: SolverOptions) -> np.ndarray:
    """The implicit step of length δ; far from a fixed point, of one so short that it does not go
    against the flow."""
    while True:
        matrix = np.eye(len(point.change)) / delta - point.slope
        dx = solve_off_gauge(matrix, point.change, point.gauge)
        if dx @ point.change >= 0 or point.residual < options.far or delta < options.shortest_step:
            break
        delta = min(delta, 8.0) / 2
    along = evaluator.basis.T @ dx
    return along * min(1.0, options.longest_move / max(np.abs(along).max(), 1e-300))


def _next_delta(delta: float, before: Point, now: Point, options: SolverOptions) -> float:
    ratio = np.linalg.norm(before.change) / max(np.linalg.norm(now.change), 1e-300)
    return float(min(delta * np.clip(ratio * 1.5, 0.5, 10.0), options.longest_step))
