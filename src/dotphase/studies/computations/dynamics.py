"""`kind = "dynamics"`: one-pass learning as d → ∞ and, with `d`, simulated for several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._seeds import Seeds, seeds_of

OVERLAPS = ("q", "m", "theta")
LIMIT = (*OVERLAPS, "test_error", *(f"{name}_error" for name in (*OVERLAPS, "test_error")))


class Dynamics(Computation):
    """Overlaps of the first token and the test error at times t = samples/d from Q = a Q* + b √d
    p_1 + N(0, c²).

    - `semantic` a, `positional` b, `noise` c: the start; `spread_of`: a dimension, whose overlaps
      of order 1/√d the noise is given in the limit, without which a random start does not move.
    - `rate` η, `ridge` λ₁ (λ/α unless given); `until`: the last time; `points`: how many times;
      `early`: space them evenly in log t from this time on.
    - `d`, `seeds`: also simulate; the results are `q_seen`, `m_seen`, `theta_seen`.
    """

    place: ClassVar[str] = "threads"
    whole: ClassVar[bool] = True
    growing: ClassVar[tuple[str, ...]] = ("seeds",)

    kind: Literal["dynamics"] = "dynamics"
    semantic: float = 0.0
    positional: float = 0.0
    noise: float = Field(0.1, ge=0)
    spread_of: int | None = Field(None, ge=2)
    rate: float = Field(10.0, gt=0)
    ridge: float | None = Field(None, ge=0)
    until: float = Field(100.0, gt=0)
    points: int = Field(21, ge=2)
    early: float | None = Field(None, gt=0)
    d: int | None = Field(None, ge=2)
    seeds: Seeds = 8

    def times(self) -> np.ndarray:
        if self.early is None:
            return np.linspace(0, self.until, self.points)
        return np.concatenate([[0.0], np.geomspace(self.early, self.until, self.points - 1)])

    def coordinates(self) -> dict[str, Sequence[Any]]:
        times: dict[str, Sequence[Any]] = {"time": self.times().tolist()}
        return times if self.d is None else times | {"seed": seeds_of(self.seeds)}

    def variables(self) -> dict[str, Variable]:
        found = {name: Variable(("time",)) for name in LIMIT}
        if self.d is not None:
            found |= {f"{name}_seen": Variable(("time", "seed")) for name in OVERLAPS}
        return found

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...learning.online.decomposition import Start
        from ...learning.online.one_pass import one_pass
        from ...learning.online.simulation import simulate

        start = Start(self.semantic, self.positional, self.noise)
        times, ridge = self.times(), self.ridge
        found = one_pass(point.scenario, start, self.rate, times, d=self.spread_of, ridge=ridge)
        row: dict[str, Any] = {"outcome": found.outcome, "reason": found.reason}
        for name in (*OVERLAPS, "test_error"):
            estimate = getattr(found, name)
            row |= {name: self._first(estimate.value), f"{name}_error": self._first(estimate.error)}
        if self.d is not None:
            seen = simulate(
                point.scenario, self.d, start, self.rate, times, point.own["seed"], ridge=ridge
            )
            for name in OVERLAPS:
                row[f"{name}_seen"] = np.stack(
                    [self._first(getattr(each, name)) for each in seen.overlaps], axis=1
                )
        return row

    def _first(self, values: np.ndarray) -> np.ndarray:
        """The first entry at every time; not a number at times that were not reached."""
        flat = np.full(self.points, np.nan)
        flat[: len(values)] = np.reshape(values, (len(values), -1))[:, 0]
        return flat
