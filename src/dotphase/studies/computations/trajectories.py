"""`kind = "trajectories"`: message passing compared with state evolution from one noisy start,
iteration by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from ..study.computation import Computation, Point
from ..study.layout import Variable

OVERLAPS = ("q", "V", "m", "theta")


class Trajectories(Computation):
    """Undamped iterates of both from Q = a Q* + √d p_1 b + N(0, c²), the start first: the first
    token's overlaps.

    - `d`, `seeds`: of message passing; `steps`: how many iterations; `nodes`: of the theory's
      averages.
    - `semantic` a, `positional` b, `noise` c, `response` V: the start.
    """

    whole: ClassVar[bool] = True

    kind: Literal["trajectories"] = "trajectories"
    d: int = Field(500, ge=2)
    seeds: int = Field(8, ge=2)
    steps: int = Field(4, ge=1)
    nodes: int = Field(2**14, ge=64)
    semantic: float = 0.6
    positional: float = 0.05
    noise: float = 0.4
    response: float = 2.0

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"iterate": range(self.steps + 1), "seed": range(self.seeds)}

    def variables(self) -> dict[str, Variable]:
        passed = {name: Variable(("iterate", "seed")) for name in OVERLAPS}
        limit = {f"{name}_limit": Variable(("iterate",)) for name in OVERLAPS}
        return passed | limit

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...comparison.trajectories import NoisyStart, follow
        from ...numerics.rules import Sobol

        start = NoisyStart(self.semantic, self.positional, self.noise, self.response)
        seeds = list(point.own["seed"])
        followed = follow(point.scenario, self.d, seeds, start, self.steps, Sobol(self.nodes))
        row: dict[str, Any] = {}
        for name in OVERLAPS:
            column = _column(followed.labels, name)
            row |= {
                name: followed.passed[:, :, column].T,
                f"{name}_limit": followed.theory[:, column],
            }
        return row


def _column(labels: Sequence[str], name: str) -> int:
    """The index of an overlap of the first token among the labels."""
    letter = {"theta": "θ"}.get(name, name)
    return next(k for k, label in enumerate(labels) if label.startswith(f"{letter}_1"))
