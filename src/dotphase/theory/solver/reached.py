"""Fixed points where every sample sits in the minimum that training reaches.

With the basins of the nodes held fixed the map is smooth and Newton's method converges. But basins
change with the overlaps: at the point found, some nodes start in another one. So the minima are
found anew at every step, and what the slope misses, the nodes that change basin, is learned from
step to step (Broyden's update),

    J ← J + (ΔF − J s) sᵀ / s·s,      s the step, ΔF the change of F along it.

On finitely many nodes F jumps by a node's share whenever one changes basin, so no x need solve F(x)
= 0 exactly: F may change sign at such a jump. Steps that turn around are halved, and one that is
small against the standard error ends it.

**Reference**: C. G. Broyden, A class of methods for solving nonlinear simultaneous equations, Math.
Comp. 19 (1965).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..state_evolution.evaluator import Evaluator, Point, finite
from .errors import deviations, solve_off_gauge
from .options import SolverOptions
from .trail import Trail


@dataclass
class QuasiNewton:
    """The steps of an iteration whose slope is known in part; the rest is learned.

    - `longest`: move of any coordinate in one step.
    - `growth`: by which a shortened step grows again; a step that turns around is halved.
    - `learned`: what has been added to the slope; `share`: of a whole step that is taken; `last`:
      the last step.
    """

    longest: float
    growth: float = 1.0
    learned: np.ndarray | float = 0.0
    share: float = 1.0
    last: np.ndarray | None = None

    def step(self, slope: np.ndarray, change: np.ndarray, gauge: np.ndarray) -> np.ndarray:
        """The step from a point where F is `change`, shortened."""
        dx = self.whole_step(slope, change, gauge)
        turned = self.last is not None and dx @ self.last < 0
        self.share = 0.5 * self.share if turned else min(1.0, self.growth * self.share)
        self.last = self.share * dx * min(1.0, self.longest / max(np.abs(dx).max(), 1e-300))
        return self.last

    def whole_step(self, slope: np.ndarray, change: np.ndarray, gauge: np.ndarray) -> np.ndarray:
        """The step that Newton's method would take."""
        return -solve_off_gauge(slope + self.learned, change, gauge)

    def shorten(self) -> np.ndarray:
        """A quarter of the last step, where the map is not defined at its end."""
        assert self.last is not None
        self.last = 0.25 * self.last
        return self.last

    def learn(self, slope: np.ndarray, change: np.ndarray) -> None:
        """Take in how F changed along the last step, from a point of the given slope."""
        assert self.last is not None
        missed = change - (slope + self.learned) @ self.last
        self.learned = self.learned + np.outer(missed, self.last) / (self.last @ self.last)


def reached_fixed_point(evaluator: Evaluator, x: np.ndarray, options: SolverOptions) -> Trail:
    """The fixed point near x whose basins are those that training reaches there; its slopes count
    the nodes that change basin."""
    point, spent = _anew(evaluator, x), 1
    iteration = QuasiNewton(options.reached_move)
    for _ in range(options.reached_steps):
        if not finite(point):
            reason = "the response is not positive where the reached minima lead"
            return Trail(point, False, reason, spent)
        dx = iteration.step(point.slope, point.change, point.gauge)
        here = point._replace(slope=point.slope + iteration.learned)
        if (
            point.residual <= options.tolerance
            or _in_errors(evaluator, here, dx) <= options.rough_errors
        ):
            lowest = evaluator.lowest(point.x, point.minima)
            if lowest.several == 0:  # no node has another basin to change to
                return Trail(point, True, "", spent)
            minima = point.minima._replace(
                several=lowest.several, higher=evaluator.apart(point.minima, lowest)
            )
            at = _with_jumps(evaluator, point, options.probe)._replace(minima=minima)
            return Trail(at, True, "", spent + 1)
        after, spent = _anew(evaluator, point.x + evaluator.basis.T @ dx), spent + 1
        if finite(after):
            # Its own slope is that of the new point: what is learned holds for both.
            iteration.learn(after.slope, after.change - point.change)
        point = after
    reason = f"basins of some nodes alternate: residual {point.residual:.1e}"
    return Trail(point, False, reason, spent)


def _with_jumps(evaluator: Evaluator, point: Point, probe: float) -> Point:
    """The point with slopes that count changes of basin along the direction its errors are largest
    in."""
    dx = deviations(evaluator, point).coordinates
    _, _, directions = np.linalg.svd(dx, full_matrices=False)
    along, size = directions[0], probe * float(evaluator.rule.error(dx @ directions[0]))
    if not (np.isfinite(size) and size > 0):
        return point
    x = point.x + size * evaluator.basis.T @ along
    anew, followed = _anew(evaluator, x), evaluator(x, point.minima)
    if not (finite(anew) and finite(followed)):
        return point
    missed = (anew.change - followed.change) / size
    missed_observables = (anew.observables - followed.observables) / size
    return point._replace(
        slope=point.slope + np.outer(missed, along),
        observable_slope=point.observable_slope + np.outer(along, missed_observables),
    )


def _in_errors(evaluator: Evaluator, point: Point, dx: np.ndarray) -> float:
    """The largest entry of a step in standard errors of the fixed point."""
    errors = evaluator.rule.error(deviations(evaluator, point).coordinates)
    return float((np.abs(dx) / (errors + 1e-12)).max())


def _anew(evaluator: Evaluator, x: np.ndarray) -> Point:
    return evaluator(x, evaluator.search(x))
