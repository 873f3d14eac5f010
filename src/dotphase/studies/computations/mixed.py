"""`kind = "mixed"`: the fixed point of a student that has both mechanisms at once, one per column
of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...scenario.scenario import Scenario
from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._rows import solution_row

OVERLAPS = ("m", "theta")
NUMBERS = (*("test_error", "train_loss", *OVERLAPS), "residual", "evaluations")


class Mixed(Computation):
    """Solved from θ in the first column and m in the second; m and theta are sizes, ‖m_1‖ and
    ‖θ_1‖. As α grows, θ can set in continuously: `mechanism` says what the fixed point has.

    - `nodes`: of the Gaussian average; `seed`: which scrambles.
    """

    place: ClassVar[str] = "threads"

    kind: Literal["mixed"] = "mixed"
    nodes: int = Field(2**13, ge=64)
    seed: int = Field(0, ge=0)

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        if scenario.ranks[0] < 2:
            raise ValueError("kind: a mixed start needs a student of rank two or more")

    def variables(self) -> dict[str, Variable]:
        errors = [f"{name}_error" for name in ("test_error", "train_loss", *OVERLAPS)]
        return {name: Variable() for name in (*NUMBERS, *errors)} | {
            "mechanism": Variable((), "str")
        }

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...numerics.rules import Sobol
        from ...theory.solver.solve import solve
        from ...theory.solver.starts import both_mechanisms

        rule = Sobol(self.nodes, seed=self.seed)
        found = solve(point.scenario, both_mechanisms(point.scenario), rule=rule, rtol=None)
        row = solution_row(found)
        for name in OVERLAPS:
            value, error = getattr(found.overlaps, name)[0], getattr(found.overlap_errors, name)[0]
            row |= {
                name: float(np.linalg.norm(value)),
                f"{name}_error": float(np.linalg.norm(error)),
            }
        return row
