"""What one step of breaking gives at one y, and over several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...results.estimate import Estimate
from ...results.result import Result
from ...results.tables import brief, numbers, per_token
from ...scenario.scenario import Scenario
from .clusters import Clusters


@dataclass(frozen=True, repr=False, eq=False)
class OneStep(Result):
    """One step of breaking at a Parisi parameter y.

    - `overlaps`, `overlap_errors`: q_0, Δ (`spread`), V, m, θ per token; q_1 = q_0 + Δ is
      `overlaps.q_1`.
    - `ratio`: Δ/q_1, of the token where it is largest; zero where Δ vanishes.
    - `free_energy` f; `complexity` Σ; `energy` e = f + Σ/y, the training loss of the clusters that
      y weighs most.
    - `deviations`: how far f of each replicate of the nodes lies from the pooled one, (R,): at
      different y on the same nodes they have most of their errors in common.
    - `outcome`: "converged" or "stalled", and the `reason`; `evaluations` of the map, on `nodes` ×
      `inner` fields.
    """

    scenario: Scenario
    branch: str
    y: float
    overlaps: Clusters
    overlap_errors: Clusters
    ratio: Estimate
    free_energy: Estimate
    complexity: Estimate
    energy: Estimate
    deviations: np.ndarray
    outcome: str
    reason: str
    evaluations: int
    nodes: int
    inner: int
    seconds: float = field(compare=False)

    @property
    def q_1(self) -> Estimate:
        """Tr q_1 averaged over tokens; its error is that of q_0 and Δ together, as if they were
        independent."""
        return self.q_0 + self._mean("spread")

    @property
    def q_0(self) -> Estimate:
        """Tr q_0 averaged over tokens."""
        return self._mean("q_0")

    def _mean(self, name: str) -> Estimate:
        parts = (
            np.trace(getattr(each, name), axis1=1, axis2=2)
            for each in (self.overlaps, self.overlap_errors)
        )
        return Estimate(*(part.mean() for part in parts))

    @property
    def headline(self) -> str:
        numbers = f"f = {self.free_energy:()}  Σ = {self.complexity:()}  e = {self.energy:()}  Δ/q_1 = {self.ratio:()}"
        return f"OneStep({self.branch}, y = {self.y:g}, {self.outcome})  {numbers}"

    def __str__(self) -> str:
        reason = [f"  {self.reason}"] if self.reason else []
        return "\n".join(
            [self.headline, *reason, f"  {brief(self.scenario)}, {self.nodes} × {self.inner} nodes"]
        )

    def rows(self) -> list[dict[str, Any]]:
        words = (
            "branch",
            "y",
            "free_energy",
            "complexity",
            "energy",
            "q_1",
            "q_0",
            "ratio",
            "outcome",
            "reason",
        )
        return [
            numbers(self.scenario)
            | {name: getattr(self, name) for name in (*words, "evaluations", "seconds")}
        ]

    def arrays(self) -> dict[str, Any]:
        parts = ((self.overlaps, ""), (self.overlap_errors, "_error"))
        squares = {
            f"{name}{ending}": (("token", "column", "column_"), getattr(of, name))
            for of, ending in parts
            for name in ("q_0", "spread")
        }
        return squares | per_token(self.overlaps) | per_token(self.overlap_errors, "_error")


@dataclass(frozen=True, repr=False, eq=False)
class OneStepScan(Result):
    """Solutions with one step of breaking over y.

    - `rises`: f(y) − f at the first y, for each of them, without the errors they have in common.
    - `bound`: max_y f, below which no minimum lies, at `bound_y`.
    - `ground`: the y at which Σ = 0, whose f is the ground state's energy, or None, and the
      `reason`.
    """

    points: list[OneStep]
    rises: list[Estimate]
    bound: Estimate
    bound_y: float
    ground: Estimate | None
    reason: str

    row = "point"

    @property
    def headline(self) -> str:
        ground = f"Σ = 0 at y = {self.ground}" if self.ground is not None else self.reason
        return f"OneStepScan({self.points[0].branch})  max f = {self.bound:()} at y = {self.bound_y:g}  {ground}"

    def rows(self) -> list[dict[str, Any]]:
        pairs = zip(self.points, self.rises, strict=True)
        return [row | {"rise": rise} for point, rise in pairs for row in point.rows()]

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {point.headline}" for point in self.points)])

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "points": [point.to_dict() for point in self.points]}


def largest_ratio(overlaps: Clusters) -> float:
    """Tr Δ_l / Tr q_1l, the largest of them."""
    trace = lambda matrix: np.trace(matrix, axis1=-2, axis2=-1)
    return float((trace(overlaps.spread) / trace(overlaps.q_1)).max())
