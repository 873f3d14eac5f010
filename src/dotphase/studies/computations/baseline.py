"""`kind = "baseline"`: the linear positional baseline, in the limit or fitted at finite d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._common import Seeds, seeds_of, with_errors


class Baseline(Computation):
    """The best that ignores the tokens: ε_lin ± error as d → ∞, where neither α nor λ matters; with
    `d`, fitted on αd samples for each seed."""

    place: ClassVar[str] = "threads"
    growing: ClassVar[tuple[str, ...]] = ("seeds",)

    kind: Literal["baseline"] = "baseline"
    d: int | None = Field(None, ge=1)
    seeds: Seeds = 8

    def ignores(self) -> tuple[str, ...]:
        return ("alpha", "lambda", "d") if self.d is None else ()

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {} if self.d is None else {"seed": seeds_of(self.seeds)}

    def variables(self) -> dict[str, Variable]:
        if self.d is None:
            return {"test_error": Variable(), "test_error_error": Variable()}
        return {"test_error": Variable(("seed",)), "train_loss": Variable(("seed",))}

    def compute_point(self, point: Point) -> dict[str, Any]:
        if self.d is None:
            from ...theory.baseline import linear_baseline

            return with_errors(test_error=linear_baseline(point.scenario).test_error)
        from ...finite.linear_fit import fit_linear

        fits = fit_linear(point.scenario, self.d, point.own["seed"])
        return {"test_error": np.array(fits.test_errors), "train_loss": np.array(fits.train_losses)}
