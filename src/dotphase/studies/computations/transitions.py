"""`kind = "transitions"`: transitions along a parameter, by root-finding on solved branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...scenario.scenario import Scenario
from ..study.axes import is_number_of, same_axis
from ..study.computation import Computation, Point, columns
from ..study.layout import Variable
from ._common import with_errors

if TYPE_CHECKING:
    from ...theory.branches.transitions import Transition

# Transitions that start from few nodes; the others choose their own number.
SMOOTH = ("train-loss", "linear")
NUMBERS = ("location", "location_error", "evaluations", "nodes", "seconds")


class Transitions(Computation):
    """The values of a parameter at which transitions take place, ± errors; not a number where there
    is none.

    - `transitions`: of train-loss (α_c), linear (α_l), spinodal (a branch ends), instability and
      replicon (it becomes unstable); `branch` and `direction` of the last three as in
      `dotphase.critical`.
    - `along`: the parameter, which is then no dimension of the result; `between`: where to look.
    - `precision`: standard error asked for; `budget`: most nodes; `nodes`: to begin with.
    - `minimum`: the inner minimum z* of each sample, "lowest" or "reached", as in
      `dotphase.critical`.
    - `near`: the label of a theory with both branches along the same parameter. A transition is
      then looked for in the uppermost interval of that grid in which the difference changes sign,
      and nowhere if it does not (train-loss and linear only).
    """

    place: ClassVar[str] = "processes"
    growing: ClassVar[tuple[str, ...]] = ("transitions",)

    kind: Literal["transitions"] = "transitions"
    transitions: tuple[
        Literal["train-loss", "linear", "spinodal", "instability", "replicon"], ...
    ] = (
        "train-loss",
        "linear",
    )
    branch: Literal["semantic", "positional", "uninformed"] = "semantic"
    direction: Literal["q", "V", "m", "theta"] | None = None
    along: str = "alpha"
    between: tuple[float, float] = (0.2, 5.0)
    precision: float = Field(2e-3, gt=0)
    budget: int = Field(2**17, ge=64)
    nodes: int = Field(2**13, ge=64)
    minimum: Literal["lowest", "reached"] = "lowest"
    near: str | None = None

    def ignores(self) -> tuple[str, ...]:
        return (self.along,)

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        if not is_number_of(scenario, self.along):
            raise ValueError(f"along: {self.along!r} is not a number of the scenario")
        if not self.between[0] < self.between[1]:
            raise ValueError(f"between: expected low < high, got {self.between}")
        if self.near is not None and not any(same_axis(axis, self.along) for axis in axes):
            raise ValueError(f"near: the study has no axis {self.along}")

    def needs(self) -> tuple[str, ...]:
        return () if self.near is None else (self.near,)

    def check_needed(self, needed: Computation) -> None:
        if "margin" not in needed.variables():
            raise ValueError(
                f"near: {self.near!r} has no semantic and positional branch to compare"
            )

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"transition": self.transitions}

    def variables(self) -> dict[str, Variable]:
        return {name: Variable(("transition",)) for name in NUMBERS}

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        return {"transition": 1}

    def compute_point(self, point: Point) -> dict[str, Any]:
        found = [self._locate(point, name) for name in point.own["transition"]]
        plain = ("evaluations", "nodes", "seconds", "outcome", "reason")
        rows = [{name: getattr(each, name) for name in plain} for each in found]
        return columns(
            [
                row | with_errors(location=each.location)
                for row, each in zip(rows, found, strict=True)
            ]
        )

    def _locate(self, point: Point, name: str) -> Transition:
        from ...numerics.rules import Sobol
        from ...results.estimate import Estimate
        from ...theory.branches.transitions import SCANNED, Transition, critical

        between, scan = self.between, SCANNED
        if self.near is not None and name in SMOOTH:
            grid = point.known[self.near]
            bracket = _bracket(*self._differences(grid, name, point.scenario))
            if bracket is None:
                nowhere = Estimate(np.nan, np.inf)
                return Transition(
                    name, self.along, nowhere, "absent", "no change of sign on the grid", 0, 0, 0.0
                )
            between, scan = bracket, 2
        options: dict[str, Any] = {
            "precision": self.precision,
            "budget": self.budget,
            "rule": Sobol(self.nodes) if name in SMOOTH else None,
        }
        options |= {"start": self.branch, "direction": self.direction, "minimum": self.minimum}
        return critical(point.scenario, name, self.along, between, scan=scan, **options)

    def _differences(
        self, grid: Mapping[str, Any], name: str, scenario: Scenario
    ) -> tuple[np.ndarray, ...]:
        """The parameter on the grid, the difference that vanishes at the transition, and whether
        its branches exist."""
        from ...theory.baseline import linear_baseline

        along = next(grid[axis] for axis in grid if same_axis(axis, self.along))
        exists = (grid["outcome"] == "converged").all(-1)
        if name == "train-loss":
            return along, grid["margin"], exists
        semantic = grid["test_error"][:, list(grid["branch"]).index("semantic")]
        return along, semantic - float(linear_baseline(scenario).test_error.value), exists


def _bracket(
    values: np.ndarray, difference: np.ndarray, exists: np.ndarray
) -> tuple[float, float] | None:
    """The uppermost interval of the grid in which a difference changes sign while its branches
    exist."""
    order = np.argsort(values)
    values, difference, exists = values[order], difference[order], exists[order]
    for upper in range(len(values) - 1, 0, -1):
        if exists[upper - 1 : upper + 1].all() and difference[upper] * difference[upper - 1] <= 0:
            return float(values[upper - 1]), float(values[upper])
    return None
