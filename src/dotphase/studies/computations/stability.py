"""`kind = "stability"`: branches of the theory with their stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...scenario.scenario import Scenario
from ..study.computation import Computation, Point, columns
from ..study.layout import Variable
from ._common import BREAKING, breaking_row, solution_row, with_errors

PARTS = ("q", "V", "m", "theta")
NUMBERS = (
    *("test_error", "test_error_error", "train_loss", "train_loss_error", "several_minima"),
    *(f"{name}{error}" for name in BREAKING for error in ("", "_error")),
    *(f"eigenvalue_{part}{error}" for part in PARTS for error in ("", "_error")),
)


class Stability(Computation):
    """Per branch how far replica symmetry holds, and `eigenvalue_q`, `_V`, `_m`, `_theta` ± error:
    the real part of the largest eigenvalue of the map along each group of directions.

    Of replica symmetry: the `replicon`'s regular part, `jump_density` and `squared_jump` of samples
    at a jump, and `breaking`, Δ/q, each ± error; the verdict in words, `symmetry`; the share of
    samples with `several_minima`.

    - `branches`: the starts; `nodes`: of the Gaussian average; `seed`: of the scrambling.
    """

    place: ClassVar[str] = "threads"
    growing: ClassVar[tuple[str, ...]] = ("branches",)

    kind: Literal["stability"] = "stability"
    branches: tuple[Literal["semantic", "positional", "uninformed"], ...] = (
        "semantic",
        "positional",
    )
    nodes: int = Field(2**14, ge=64)
    seed: int = Field(0, ge=0)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"branch": self.branches}

    def variables(self) -> dict[str, Variable]:
        found = {name: Variable(("branch",)) for name in NUMBERS}
        return found | {"symmetry": Variable(("branch",), "str")}

    def compute_point(self, point: Point) -> dict[str, Any]:
        rows = [self._row(point.scenario, branch) for branch in point.own["branch"]]
        return columns(rows)

    def _row(self, scenario: Scenario, branch: str) -> dict[str, Any]:
        from ...numerics.rules import Sobol
        from ...theory.solver.solve import solve
        from ...theory.stability.stability import stability

        rule = Sobol(self.nodes, seed=self.seed)
        found = solve(scenario, branch, rule=rule, rtol=None)
        row: dict[str, Any] = (
            dict.fromkeys(NUMBERS, np.nan) | {"symmetry": ""} | solution_row(found)
        )
        if found.outcome == "stalled":
            return row
        at = stability(found, rule)
        row |= with_errors(
            **{f"eigenvalue_{part}": along.growth for part, along in at.eigenvalues.items()}
        )
        return row | breaking_row(at.breaking)
