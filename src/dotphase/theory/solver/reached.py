"""Fixed points where every sample sits in the minimum that training reaches.

With the basins of the nodes frozen the map is smooth and Newton's method converges. But basins
change with the overlaps: at the point found, some nodes start in another one. So the point is
*settled*: the minima are found anew at every step, and what J misses, the nodes that change basin,
is learned from step to step (Broyden's update),

    J ← J + (ΔF − J s) sᵀ / s·s,      s the step, ΔF the change of F along it, basins found anew on both sides.

On finitely many nodes F jumps by a node's share whenever one changes basin, so no x need solve F(x)
= 0 exactly: F may change sign at such a jump. Steps that turn around are halved, and one that is
small against the standard error ends it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..state_evolution.evaluator import Evaluator, Point, finite
from .errors import deviations, solve_off_gauge
from .options import SolverOptions


class Settled(NamedTuple):
    """The point, whether its basins are those training reaches there, and why not; `evaluations` it
    took."""

    point: Point
    converged: bool
    reason: str
    evaluations: int


def settle(evaluator: Evaluator, x: np.ndarray, options: SolverOptions) -> Settled:
    """The fixed point near x, basins found anew; its slopes know about the nodes that change basin."""
    point, spent = _anew(evaluator, x), 1
    learned, last, share = np.zeros_like(point.slope), None, 1.0
    for _ in range(options.reached_steps):
        if not finite(point):
            return Settled(
                point, False, "the response is not positive where the reached minima lead", spent
            )
        here = point._replace(slope=point.slope + learned)
        dx = -solve_off_gauge(here.slope, point.change, point.gauge)
        share *= 0.5 if last is not None and dx @ last < 0 else 1.0
        dx = dx * min(share, options.reached_move / max(np.abs(dx).max(), 1e-300))
        if (
            point.residual <= options.tolerance
            or _in_errors(evaluator, here, dx) <= options.rough_errors
        ):
            lowest = evaluator.lowest(point.x, point.minima)
            if lowest.several == 0:  # nobody has another basin to change to
                return Settled(point, True, "", spent)
            minima = point.minima._replace(
                several=lowest.several, higher=evaluator.apart(point.minima, lowest)
            )
            return Settled(
                _with_jumps(evaluator, point, options.probe)._replace(minima=minima),
                True,
                "",
                spent + 1,
            )
        last = dx
        after, spent = _anew(evaluator, point.x + evaluator.basis.T @ dx), spent + 1
        if finite(after):
            missed = after.change - point.change - (after.slope + learned) @ dx
            learned = learned + np.outer(missed, dx) / (dx @ dx)
        point = after
    return Settled(
        point, False, f"basins of some nodes alternate: residual {point.residual:.1e}", spent
    )


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
