"""`kind = "stability"`: branches of the theory with everything that is known of their stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...scenario import Scenario
from ..engine.kind import Kind, Point
from ..engine.layout import Variable

PARTS = ("q", "V", "m", "theta")
NUMBERS = (
    *("test_error", "test_error_error", "train_loss", "train_loss_error", "replicon", "replicon_error"),
    *("several_minima", *(f"eigenvalue_{part}{error}" for part in PARTS for error in ("", "_error"))),
)


class Stability(Kind):
    """Per branch the replicon ± error, the share of samples with several minima, and `eigenvalue_q`, `_V`, `_m`,
    `_theta` ± error: the real part of the largest eigenvalue of the map along each kind of direction.

    - `branches`: the starts; `nodes`: of the Gaussian average; `seed`: which scrambles.
    """

    place: ClassVar[str] = "threads"
    growing: ClassVar[tuple[str, ...]] = ("branches",)

    kind: Literal["stability"] = "stability"
    branches: tuple[Literal["semantic", "positional", "uninformed"], ...] = ("semantic", "positional")
    nodes: int = Field(2**14, ge=64)
    seed: int = Field(0, ge=0)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"branch": self.branches}

    def variables(self) -> dict[str, Variable]:
        return {name: Variable(("branch",)) for name in NUMBERS}

    def compute_point(self, point: Point) -> dict[str, Any]:
        rows = [self._row(point.scenario, branch) for branch in point.own["branch"]]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def _row(self, scenario: Scenario, branch: str) -> dict[str, Any]:
        from ...gaussian import Sobol
        from ...theory import solve
        from ...theory.stability import stability

        rule = Sobol(self.nodes, seed=self.seed)
        found = solve(scenario, branch, rule=rule, rtol=None)
        row: dict[str, Any] = dict.fromkeys(NUMBERS, np.nan) | {"outcome": found.outcome, "reason": found.reason}
        for name in ("test_error", "train_loss"):
            row |= {name: float(getattr(found, name).value), f"{name}_error": float(getattr(found, name).error)}
        if found.outcome == "stalled":
            return row
        at = stability(found, rule)
        row |= {"replicon": float(at.replicon.value), "replicon_error": float(at.replicon.error)}
        for part, found_along in at.eigenvalues.items():
            growth = found_along.growth
            row |= {f"eigenvalue_{part}": float(growth.value), f"eigenvalue_{part}_error": float(growth.error)}
        return row | {"several_minima": at.several_minima}
