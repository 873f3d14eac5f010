"""`compare_curve(scenario, start, d, seeds)`: the learning curve of the theory, and training."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..finite.checks import instances, several_seeds
from ..finite.data.instance import Instance
from ..finite.training.optimisers import GradientDescent
from ..finite.training.runs import Run
from ..finite.training.starts import start_weights
from ..finite.training.training import train
from ..learning.full_batch.learning_curve import LearningCurve, learning_curve
from ..learning.full_batch.schedule import schedule_of
from ..learning.online.decomposition import Start, measured
from ..numerics.progress import Progress, track
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from ..results.tables import brief
from ..scenario.arguments import checked
from ..scenario.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RECORDED = ("q", "m", "theta", "train_loss")


@dataclass(frozen=True, repr=False, eq=False)
class CurveComparison(Result):
    """Theory and training at the same steps, averaged over seeds.

    - `steps`, `times`, (T,): where training was recorded.
    - `theory`, `trained`: q, m, θ, ε_t by name, each an `Estimate` (T,) over seeds; `test_error`
      has the last step only, (1,).
    - `gaps`: trained less theory, seed by seed, so that what the two share cancels.
    """

    scenario: Scenario
    dimension: int
    start: str
    seeds: tuple[int, ...]
    steps: np.ndarray
    times: np.ndarray
    theory: dict[str, Estimate]
    trained: dict[str, Estimate]
    gaps: dict[str, Estimate]

    row = "entry"

    @property
    def headline(self) -> str:
        what = f"learning curve and training from the {self.start} start"
        seeds = f"{len(self.seeds)} seeds"
        return f"{what}, d = {self.dimension}, {seeds}: {brief(self.scenario)}"

    @property
    def deviations(self) -> dict[str, np.ndarray]:
        """Trained less theory in standard errors of the mean over seeds; zero at the start, where
        both have the same weights."""
        return {name: np.nan_to_num(gap.deviation()) for name, gap in self.gaps.items()}

    @property
    def worst(self) -> dict[str, float]:
        """The largest deviation of each observable along the curve."""
        return {name: float(np.abs(values).max()) for name, values in self.deviations.items()}

    def rows(self) -> list[dict[str, Any]]:
        deviations = self.deviations
        return [
            {
                "step": int(step),
                "observable": name,
                "theory": self.theory[name][k],
                "training": self.trained[name][k],
                "deviation": float(deviations[name][k]),
            }
            for name in self.gaps
            for k, step in enumerate(self.steps[-len(self.gaps[name]) :])
        ]

    def plot(self) -> Figure:
        """Theory as lines, training as points."""
        from .plots import curves_figure

        return curves_figure(self)


@checked
def compare_curve(
    scenario: Scenario,
    start: Any = "semantic",
    d: int = 1000,
    seeds: int | Iterable[int] = 8,
    *,
    steps: int | None = None,
    time: float | None = None,
    step_size: float | None = None,
    records: int = 10,
    paths: int = 4096,
    cut: float = 1e-5,
    progress: Progress = None,
) -> CurveComparison:
    """Train by gradient descent, and compute each seed's learning curve from its own first weights.

    Every seed has a teacher of its own, whose length and overlap with the encodings differ from the
    expected ones by 1/√d. The theory of each seed starts from the overlaps of its weights, in the
    distribution of directions of its instance. What is left is noise of the samples, and
    corrections of order 1/d.

    **Arguments**

    - `start`: as in `train`, or a `dotphase.learning.Start`.
    - `d`, `seeds`: of training; two seeds at least, from which the errors are estimated.
    - `steps` or `time`, `step_size`, `paths`, `cut`: as in `learning_curve`.
    - `records`: at how many steps the two are compared.
    - `progress`: True for a bar, or a function `progress(done, total)`.

    **Returns**: a `CurveComparison`.

    **Example**: `compare_curve(paper(alpha=1), "positional", d=500, steps=100).worst`
    """
    seeds = several_seeds(seeds)
    schedule = schedule_of(scenario, steps, time, step_size, 0.0)
    total, size = len(schedule.sizes), float(schedule.sizes[0])
    every = max(1, total // records)
    pairs = []
    for instance in track(instances(scenario, d, seeds), f"learning curves, d = {d}", progress):
        weights = _weights(instance, start)
        method = GradientDescent(size, total, tolerance=1e-300)
        run = train(scenario, d, weights, method, [instance.seed], record=every).runs[0]
        first, distribution = measured(instance, weights)
        options: dict[str, Any] = {
            "paths": paths,
            "cut": cut,
            "seed": instance.seed,
            "distribution": distribution,
        }
        found = learning_curve(scenario, first, steps=total, step_size=size, d=d, **options)
        pairs.append((instance.seed, run, found))
    return _compared(scenario, d, str(start), size, pairs)


def _weights(instance: Instance, start: Any) -> np.ndarray:
    if isinstance(start, Start):
        return start.weights(instance)
    return start_weights(instance, start)


def _compared(
    scenario: Scenario, d: int, start: str, size: float, pairs: list[tuple[int, Run, LearningCurve]]
) -> CurveComparison:
    seeds, runs, curves = zip(*pairs, strict=True)
    failed = [run for run in runs if run.outcome == "diverged"]
    if failed:
        raise ValueError(f"step_size: training diverged ({failed[0].reason})")
    steps = runs[0].trajectory.step
    ended = [found for found in curves if len(found.times) <= steps[-1]]
    if ended:
        raise ValueError(f"step_size: the learning curve ended early ({ended[0].reason})")
    seen = [run.recorded for run in runs]
    known = [_theory(found, steps) for found in curves]
    names = seen[0]
    gaps = {
        name: over_seeds([a[name] - b[name] for a, b in zip(seen, known, strict=True)])
        for name in names
    }
    mean = lambda several: {name: over_seeds([each[name] for each in several]) for name in names}
    for name in ("q", "m", "theta"):  # at the start both have the same weights, up to rounding
        gaps[name].value[0] = 0.0
    return CurveComparison(
        scenario, d, start, seeds, steps, size * steps, mean(known), mean(seen), gaps
    )


def _theory(found: LearningCurve, steps: np.ndarray) -> dict[str, np.ndarray]:
    along = {name: getattr(found, name).value[steps] for name in RECORDED}
    return along | {"test_error": found.test_error.value[-1:]}
