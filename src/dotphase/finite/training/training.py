"""Training at finite d: `train(scenario, d, start, optimiser, seeds)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from ...numerics.progress import Progress, track_with_notes
from ...overlaps.overlaps import WeightOverlaps
from ...scenario.arguments import checked
from ...scenario.scenario import Scenario
from ...scenario.validation import whole_number
from ..checks import instances
from ..data.instance import Instance
from ..data.source import Data
from ..overlaps import overlaps
from ..test_error import error_of_weights
from .checkpoint import objective_of
from .optimisers import LBFGS, Adam, Descent, GradientDescent, Optimiser
from .runs import Run, Runs, Trajectory
from .starts import Start, name_of, start_weights

OPTIMISERS = {"lbfgs": LBFGS, "gd": GradientDescent, "adam": Adam}


@checked
def train(
    scenario: Scenario,
    d: int | None = None,
    start: Start = "semantic",
    optimiser: str | Optimiser = "lbfgs",
    seeds: int | Iterable[int] = 1,
    *,
    precision: str = "float64",
    record: int | None = None,
    data: Data | np.ndarray | None = None,
    progress: Progress = None,
) -> Runs:
    """Minimise F(Q) = Σ_μ ‖y^μ − f_Q(x^μ)‖²/(2d) + (λ/2)‖Q‖² over n = αd samples, for each seed.

    **Arguments**

    - `scenario`, `d`: what is learned, and in how many dimensions.
    - `start`: `"semantic"`, `"positional"`, `"random"`, `Random(scale)` or weights (d, r_s).
    - `optimiser`: `"lbfgs"`, `"gd"`, `"adam"`, or one of `LBFGS`, `GradientDescent`, `Adam` with
      its settings.
    - `seeds`: how many (then 0, 1, …), or which.
    - `precision`: of the data, `"float64"` or `"float32"`.
    - `record`: keep loss and overlaps of every `record`-th step.
    - `data`: sentences to train on instead of drawing them: an array (n, L, d), in the eigenbasis
      of the scenario's tokens, or `read_text()`. Then d is the dimension of the data. Each seed
      trains on αd of the sentences and is tested on the others.
    - `progress`: True for a bar, or a function `progress(done, total)` called after each seed.

    **Returns**: `Runs`, one per seed: means with standard errors over the seeds, and each run with
    its weights.

    **Example**

        train(paper(alpha=2.0, omega=0.3), d=1000, start="positional", seeds=8).test_error
    """
    method = as_optimiser(optimiser, precision)
    every = None if record is None else whole_number("record", record)
    begin, realised = perf_counter(), instances(scenario, d, seeds, precision, data)
    d = realised[0].dimension
    with closing(track_with_notes(realised, f"training, d = {d}", progress)) as each:
        runs = [_train_one(seed, start, method, precision, every, note) for seed, note in each]
    return Runs(
        scenario, d, name_of(start), type(method).__name__, tuple(runs), perf_counter() - begin
    )


def _train_one(
    instance: Instance,
    start: Start,
    method: Optimiser,
    precision: str,
    record: int | None,
    note: Callable[[str], None],
) -> Run:
    begin = perf_counter()
    weights = start_weights(instance, start)
    objective = objective_of(instance, precision)
    recorder = _Recorder(instance, record, note)
    end = method.minimise(objective, weights, recorder)
    return answer(instance, end, begin, recorder.trajectory)


def answer(instance: Instance, end: Descent, begin: float, trajectory: Any = None) -> Run:
    """What the weights at the end of a descent amount to."""
    found = end.outcome != "diverged"
    return Run(
        seed=instance.seed,
        outcome=end.outcome,
        reason=end.reason,
        steps=end.steps,
        evaluations=end.evaluations,
        weights=end.weights if found else None,
        test_error=error_of_weights(instance, end.weights) if found else None,
        train_loss=end.value / instance.dimension if found else None,
        overlaps=overlaps(instance, end.weights) if found else None,
        gradient_norm=end.gradient_norm if found else None,
        teacher_excess=instance.teacher_excess,
        trajectory=trajectory,
        seconds=perf_counter() - begin,
    )


class _Recorder:
    """Watches a descent: notes how far it is, and keeps every `every`-th step."""

    def __init__(self, instance: Instance, every: int | None, note: Callable[[str], None]) -> None:
        self.instance, self.every, self.note, self.rows = instance, every, note, []

    def __call__(self, step: int, weights: np.ndarray, value: float) -> None:
        loss = value / self.instance.dimension
        self.note(f"seed {self.instance.seed}: step {step}, loss {loss:.4g}")
        if self.every is not None and step % self.every == 0:
            self.rows.append((step, loss, overlaps(self.instance, weights)))

    @property
    def trajectory(self) -> Trajectory | None:
        """What was recorded; None without `every`, or after a divergence before the first record."""
        if not self.rows:
            return None
        steps, losses, values = zip(*self.rows, strict=True)
        return Trajectory(np.array(steps), np.array(losses), WeightOverlaps.stacked(values))


def as_optimiser(optimiser: str | Optimiser, precision: str = "float64") -> Optimiser:
    """A named optimiser with its defaults; on single-precision data it stops where rounding hides
    the gradient."""
    if not isinstance(optimiser, str):
        return optimiser
    if optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser: expected one of {', '.join(OPTIMISERS)}, got {optimiser!r}")
    method = OPTIMISERS[optimiser]()
    return method if precision == "float64" else replace(method, tolerance=1e-4)
