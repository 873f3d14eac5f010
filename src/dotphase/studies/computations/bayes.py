"""`kind = "bayes"`: the Bayes-optimal limit and, with `d`, the message passing that reaches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...scenario.scenario import Scenario
from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._common import Seeds, seeds_of

NUMBERS = ("test_error", "test_error_error", "q", "q_error", "threshold")


class Bayes(Computation):
    """Test error and overlap q (averaged over tokens) of Bayes-optimal inference; `threshold`: of
    weak recovery.

    - `start`: "uninformed" or "informed"; `nodes`: of the Gaussian average.
    - `d`, `seeds`: instead, message passing at finite d: `test_error`, `q`, `overlap` and
      `teacher_excess` per seed.
    """

    place: ClassVar[str] = "threads"
    growing: ClassVar[tuple[str, ...]] = ("seeds",)

    kind: Literal["bayes"] = "bayes"
    start: Literal["uninformed", "informed"] = "uninformed"
    nodes: int = Field(2**15, ge=64)
    d: int | None = Field(None, ge=1)
    seeds: Seeds = 8

    def ignores(self) -> tuple[str, ...]:
        return ("lambda",)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {} if self.d is None else {"seed": seeds_of(self.seeds)}

    def variables(self) -> dict[str, Variable]:
        if self.d is None:
            return {name: Variable() for name in NUMBERS}
        names = ("test_error", "q", "overlap", "teacher_excess", "iterations")
        return {name: Variable(("seed",)) for name in names}

    def compute_point(self, point: Point) -> dict[str, Any]:
        return (
            self._limit(point.scenario)
            if self.d is None
            else self._seen(point.scenario, point.own["seed"], self.d)
        )

    def _limit(self, scenario: Scenario) -> dict[str, Any]:
        from ...bayes.limit import bayes, weak_recovery
        from ...numerics.rules import Sobol

        found = bayes(scenario, self.start, Sobol(self.nodes))
        mean = lambda part: float(np.trace(part, axis1=1, axis2=2).mean())
        row = {
            "test_error": float(found.test_error.value),
            "test_error_error": float(found.test_error.error),
        }
        row |= {"q": mean(found.q.value), "q_error": mean(found.q.error)}
        row |= {"threshold": float(weak_recovery(scenario).sample_ratio)}
        return row | {"outcome": found.outcome, "reason": found.reason}  # type: ignore[operator]

    def _seen(self, scenario: Scenario, seeds: Sequence[int], d: int) -> dict[str, Any]:
        from ...bayes.message_passing import bayes_message_passing

        runs = bayes_message_passing(scenario, d, seeds).runs
        names = ("q", "overlap", "teacher_excess", "iterations", "outcome")
        row: dict[str, Any] = {name: [getattr(run, name) for run in runs] for name in names}
        return row | {
            "test_error": [float(run.test_error) for run in runs],
            "reason": [""] * len(runs),
        }
