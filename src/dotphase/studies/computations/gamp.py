"""`kind = "gamp"`: message passing at finite d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ..study.computation import Point
from .training import Experiment

if TYPE_CHECKING:
    from ...finite.training.runs import Runs


class Gamp(Experiment):
    """Message passing to a critical point of training: `damping`, `iterations`, `tolerance` as in
    `dotphase.gamp`."""

    kind: Literal["gamp"] = "gamp"
    damping: float = Field(0.8, ge=0, lt=1)
    iterations: int = Field(1000, ge=1)
    tolerance: float = Field(1e-7, gt=0)

    def perform(self, point: Point, start: str, seeds: Sequence[int]) -> Runs:
        from ...finite.message_passing.gamp import gamp

        options = {
            "damping": self.damping,
            "iterations": self.iterations,
            "tolerance": self.tolerance,
        }
        return gamp(point.scenario, self.d, start, seeds, **options)
