"""Experiments at finite d from named starts, for several seeds: `training` and message passing (`gamp`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._common import Seeds, seeds_of

if TYPE_CHECKING:
    from ...finite.training.runs import Runs

OVER_SEEDS = ("start", "seed")
NUMBERS = (
    *("test_error", "test_error_error", "train_loss", "q", "m", "theta"),
    *("gradient_norm", "steps", "evaluations", "teacher_excess", "seconds"),
)


class Experiment(Computation):
    """Base of the experiments at finite d: one unit of work is up to `batch` seeds of one start at
    one point.

    q, m, theta are sizes, Tr q_l, ‖m_l‖, ‖θ_l‖, averaged over tokens. Values are stored per seed,
    not averaged.
    """

    growing: ClassVar[tuple[str, ...]] = ("starts", "seeds")

    d: int = Field(1000, ge=1)
    starts: tuple[Literal["semantic", "positional", "mixed", "random"], ...] = (
        "semantic",
        "positional",
    )
    seeds: Seeds = 8
    batch: int = Field(8, ge=1)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"start": self.starts, "seed": seeds_of(self.seeds)}

    def variables(self) -> dict[str, Variable]:
        return {name: Variable(OVER_SEEDS) for name in NUMBERS}

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        return {"start": 1, "seed": self.batch}

    def compute_point(self, point: Point) -> dict[str, Any]:
        runs = [self.perform(point, start, point.own["seed"]) for start in point.own["start"]]
        return {
            name: [_column(each, name) for each in runs] for name in (*NUMBERS, "outcome", "reason")
        }

    def perform(self, point: Point, start: str, seeds: Sequence[int]) -> Runs:
        """The runs of one start."""
        raise NotImplementedError


def _column(runs: Runs, name: str) -> list[Any]:
    """One entry per seed; not a number where the seed has no answer."""
    if name in ("test_error", "train_loss", "q", "m", "theta"):
        return [np.nan if value is None else value for value in runs.values(name)]
    if name == "test_error_error":
        return [
            np.nan if run.test_error is None else float(run.test_error.error) for run in runs.runs
        ]
    entries = [getattr(run, name) for run in runs.runs]
    return [np.nan if entry is None else entry for entry in entries]


class Training(Experiment):
    """Training by an optimiser: lbfgs, gd or adam, with its `rate`, `steps`, `tolerance` if they
    are given; `precision`: of the data."""

    kind: Literal["training"] = "training"
    optimiser: Literal["lbfgs", "gd", "adam"] = "lbfgs"
    rate: float | None = Field(None, gt=0)
    steps: int | None = Field(None, ge=1)
    tolerance: float | None = Field(None, gt=0)
    precision: Literal["float64", "float32"] = "float64"

    @model_validator(mode="after")
    def _has_a_rate(self) -> Training:
        if self.rate is not None and self.optimiser == "lbfgs":
            raise ValueError("rate: lbfgs has none; choose optimiser gd or adam")
        return self

    def perform(self, point: Point, start: str, seeds: Sequence[int]) -> Runs:
        from ...finite.training.training import train

        return train(point.scenario, self.d, start, self._method(), seeds, precision=self.precision)

    def _method(self) -> Any:
        from ...finite.training.training import as_optimiser

        given = {"rate": self.rate, "steps": self.steps, "tolerance": self.tolerance}
        given = {name: value for name, value in given.items() if value is not None}
        return replace(as_optimiser(self.optimiser, self.precision), **given)  # type: ignore[type-var]


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
