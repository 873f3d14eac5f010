"""Training in time, d → ∞: learning curves of gradient descent (`learning_curve`); one-pass
learning from a start (`dynamics`), and the flow of m and θ (`flow`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._common import Seeds, seeds_of

OVERLAPS = ("q", "m", "theta")
RECORDED = (*OVERLAPS, "train_loss")
OBSERVABLES = (*OVERLAPS, "train_loss", "test_error", "ridge_loss")
LIMIT = (*OVERLAPS, "test_error", *(f"{name}_error" for name in (*OVERLAPS, "test_error")))


class Curve(Computation):
    """Overlaps and losses of gradient descent at equidistant times t = Σ η, each with its error.

    - `start`: semantic, positional or random; `d`: the dimension of the start and of the loss, as
      in `learning_curve`.
    - `time`: the last time; `points`: how many intervals up to it; `step_size`: the longest step.
    - `paths`, `cut`, `seed`: of the numerical method.
    - `seeds`: also train at `d`; the results are `q_seen`, `m_seen`, `theta_seen`,
      `train_loss_seen`, and `test_error_seen` at the end.
    - `limit`: also the reached minimum of the static theory from this start: `q_limit` and so on.
    """

    place: ClassVar[str] = "threads"
    whole: ClassVar[bool] = True
    growing: ClassVar[tuple[str, ...]] = ("seeds",)

    kind: Literal["learning_curve"] = "learning_curve"
    start: Literal["semantic", "positional", "random"] = "semantic"
    d: int | None = Field(None, ge=2)
    time: float = Field(100.0, gt=0)
    points: int = Field(20, ge=1)
    step_size: float = Field(0.75, gt=0)
    paths: int = Field(4096, ge=64)
    cut: float = Field(1e-5, gt=0)
    seed: int = Field(0, ge=0)
    seeds: Seeds | None = None
    limit: bool = False

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.seeds is not None and self.d is None:
            raise ValueError("seeds: training needs a dimension, d")
        if self.limit and self.start == "random":
            raise ValueError("limit: the minimum of a random start is not known beforehand")
        return self

    def coordinates(self) -> dict[str, Sequence[Any]]:
        times: dict[str, Sequence[Any]] = {
            "time": np.linspace(0, self.time, self.points + 1).tolist()
        }
        return times if self.seeds is None else times | {"seed": seeds_of(self.seeds)}

    def variables(self) -> dict[str, Variable]:
        both = [name + ending for name in OBSERVABLES for ending in ("", "_error")]
        found = {name: Variable(("time",)) for name in both}
        if self.seeds is not None:
            found |= {f"{name}_seen": Variable(("time", "seed")) for name in RECORDED}
            found["test_error_seen"] = Variable(("seed",))
        if self.limit:
            found |= {f"{name}_limit": Variable() for name in (*RECORDED, "test_error")}
        return found

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...learning.full_batch.learning_curve import learning_curve

        every = int(np.ceil(self.time / self.points / self.step_size - 1e-9))
        steps = every * self.points
        options = {"d": self.d, "paths": self.paths, "cut": self.cut, "seed": self.seed}
        found = learning_curve(
            point.scenario, self.start, steps=steps, step_size=self.time / steps, **options
        )
        row: dict[str, Any] = {"outcome": found.outcome, "reason": found.reason}
        for name in OBSERVABLES:
            estimate = getattr(found, name)[::every]
            row |= {
                name: self._padded(estimate.value),
                f"{name}_error": self._padded(estimate.error),
            }
        if self.limit:
            row |= self._limits(point)
        return row if self.seeds is None else row | self._trained(point, steps, every)

    def _limits(self, point: Point) -> dict[str, float]:
        from ...theory.solver.solve import solve

        found = solve(point.scenario, self.start, minimum="reached", d=self.d)
        known = found.outcome in ("converged", "imprecise")
        names = (*RECORDED, "test_error")
        value = lambda name: float(getattr(found, name).value) if known else np.nan
        return {f"{name}_limit": value(name) for name in names}

    def _trained(self, point: Point, steps: int, every: int) -> dict[str, np.ndarray]:
        from ...finite.training.optimisers import GradientDescent
        from ...finite.training.training import train

        method = GradientDescent(self.time / steps, steps, tolerance=1e-300)
        options: dict[str, Any] = {"seeds": point.own["seed"], "record": every}
        runs = train(point.scenario, self.d, self.start, method, **options).runs
        seen = [run.recorded for run in runs]
        along = {f"{name}_seen": np.stack([one[name] for one in seen], 1) for name in RECORDED}
        return along | {"test_error_seen": np.concatenate([one["test_error"] for one in seen])}

    def _padded(self, values: np.ndarray) -> np.ndarray:
        """Not a number at times that were not reached."""
        return np.append(values, np.full(self.points + 1 - len(values), np.nan))


class Dynamics(Computation):
    """Overlaps of the first token and the test error at times t = samples/d from Q = a Q* + b √d
    p_1 + N(0, c²).

    - `semantic` a, `positional` b, `noise` c: the start.
    - `spread_of`: a dimension d. As d → ∞ noise has no overlaps, and a random start does not move;
      with `spread_of` the start has the overlaps of order 1/√d that noise has in that dimension.
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
    most_rest: ClassVar[int] = 8  # rest points that are stored; more have not been seen

    kind: Literal["flow"] = "flow"
    ridge: float | None = Field(None, ge=0)
    largest_m: float = Field(0.45, gt=0)
    largest_theta: float = Field(1.15, gt=0)
    nodes: int = Field(20, ge=5)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        m, theta = (
            np.linspace(0, end, self.nodes).tolist() for end in (self.largest_m, self.largest_theta)
        )
        return {"m": m, "theta": theta, "rest": range(self.most_rest)}

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
        rest = found.rest[: self.most_rest]
        padded = lambda values: [*values, *[np.nan] * (self.most_rest - len(rest))]
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
        kinds = [f"{r.mechanism} {r.kind}" for r in rest] + [""] * (self.most_rest - len(rest))
        return row | {"rest_kind": kinds, "outcome": "converged", "reason": ""}
