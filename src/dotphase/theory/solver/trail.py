"""How an iteration ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..state_evolution.evaluator import Point


class Trail(NamedTuple):
    """The last point, whether it is a fixed point, why not or not quite, and the evaluations it
    took."""

    point: Point
    converged: bool
    reason: str
    evaluations: int
