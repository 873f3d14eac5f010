"""`kind = "flow"`: the flow of one-pass learning in the plane of m and θ, its rest points and
basins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..study.computation import Computation, Point
from ..study.layout import Variable

MOST_REST = 8  # points where the flow rests: more have not been seen


class Flow(Computation):
    """dm/d(ηt) and d(θ/ρ)/d(ηt) on a grid without noise, the population loss, and the basin of
    every node.

    - `ridge`: λ₁, λ/α unless given; `largest_m`, `largest_theta`: the corner of the grid; `nodes`:
      per direction.

    `rest_m`, `rest_theta`, `rest_rate` (the fastest growth of a small deviation), `rest_kind`:
    points where it rests, in the order of their loss; `basin` is a number in that list.
    """

    place: ClassVar[str] = "threads"
    whole: ClassVar[bool] = True

    kind: Literal["flow"] = "flow"
    ridge: float | None = Field(None, ge=0)
    largest_m: float = Field(0.45, gt=0)
    largest_theta: float = Field(1.15, gt=0)
    nodes: int = Field(20, ge=5)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        m, theta = (
            np.linspace(0, end, self.nodes).tolist() for end in (self.largest_m, self.largest_theta)
        )
        return {"m": m, "theta": theta, "rest": range(MOST_REST)}

    def variables(self) -> dict[str, Variable]:
        grid = {
            name: Variable(("m", "theta")) for name in ("speed_m", "speed_theta", "loss", "basin")
        }
        rest = {f"rest_{name}": Variable(("rest",)) for name in ("m", "theta", "loss", "rate")}
        return grid | rest | {"rest_kind": Variable(("rest",), "str")}

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...learning.online.phase_portrait import plane

        own = self.coordinates()
        found = plane(point.scenario, np.array(own["m"]), np.array(own["theta"]), ridge=self.ridge)
        rest = found.rest[:MOST_REST]
        padded = lambda values: [*values, *[np.nan] * (MOST_REST - len(rest))]
        row: dict[str, Any] = {
            f"rest_{name}": padded([getattr(r, name) for r in rest])
            for name in ("m", "theta", "loss")
        }
        row |= {"speed_m": found.velocity[..., 0], "speed_theta": found.velocity[..., 1]}
        row |= {
            "loss": found.loss,
            "basin": found.basin.astype(float),
            "rest_rate": padded(max(r.rates) for r in rest),
        }
        kinds = [f"{r.mechanism} {r.kind}" for r in rest] + [""] * (MOST_REST - len(rest))
        return row | {"rest_kind": kinds, "outcome": "converged", "reason": ""}
