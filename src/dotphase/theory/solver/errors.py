"""How far each replicate of the nodes would have ended from the pooled answer: what error bars are
made of.

Replicate r has F_r instead of F; to first order its fixed point lies at dx_r = −J⁻¹ F_r, and its
test error and training loss move along. At the lowest minima the training loss is a stationary
value: there it moves only with the average α E[E(z*)] itself, and not with the overlaps. At the
reached ones it is not: E(z_r) jumps between basins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...inner.minima import Lowest

if TYPE_CHECKING:
    from ..state_evolution.evaluator import Evaluator, Point

NULL = 1e-12  # of the largest singular value: a direction in which nothing is known


class Scatter(NamedTuple):
    """How far ε_g and ε_t of each replicate of the nodes lie from the pooled ones, (R,) each."""

    test_error: np.ndarray
    train_loss: np.ndarray

    @property
    def outlier(self) -> bool:
        """Whether one replicate lies so far from the others that chance would do this in fewer than
        one of a thousand cases (Grubbs' test). The error bars then come from it alone."""
        return any(_outlier(part, 1e-3 / len(self)) for part in self)


class Deviations(NamedTuple):
    """Of each replicate: `coordinates` dx_r, (R, n), and the `scatter` of ε_g and ε_t."""

    coordinates: np.ndarray
    scatter: Scatter


def _outlier(values: np.ndarray, chance: float) -> bool:
    """Whether G = max |x − mean|/s is above (R − 1)/√R · √(t²/(R − 2 + t²)), t the Student quantile
    of `chance`/2R."""
    count = len(values)
    if count < 3 or not np.isfinite(values).all() or np.ptp(values) == 0:
        return False
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    t = stdtrit(count - 2, 1 - chance / (2 * count))
    bound = (count - 1) / np.sqrt(count) * np.sqrt(t**2 / (count - 2 + t**2))
    return bool(np.abs(values - values.mean()).max() > bound * values.std(ddof=1))


def deviations(evaluator: Evaluator, point: Point) -> Deviations:
    """At a fixed point, how far each replicate's own answer lies from the pooled one."""
    dx = -solve_off_gauge(point.slope, point.scatter.T, point.gauge).T
    moved = point.observable_scatter + dx @ point.observable_slope
    train_loss = point.energy_scatter if isinstance(evaluator.minimum, Lowest) else moved[:, 1]
    return Deviations(dx, Scatter(moved[:, 0], train_loss))


def observable_errors(evaluator: Evaluator, point: Point) -> np.ndarray:
    """Standard errors of test error and training loss, (2,)."""
    apart = deviations(evaluator, point)
    return evaluator.rule.error(np.column_stack(apart.scatter))


def solve_off_gauge(matrix: np.ndarray, right: np.ndarray, gauge: np.ndarray) -> np.ndarray:
    """The solution of matrix @ y = right that has no component along the gauge directions, nor is
    asked for one."""
    if not len(gauge):
        return np.linalg.lstsq(matrix, right, rcond=NULL)[0]
    off = np.eye(len(matrix)) - gauge.T @ gauge
    return off @ np.linalg.lstsq(off @ matrix @ off + gauge.T @ gauge, off @ right, rcond=NULL)[0]
