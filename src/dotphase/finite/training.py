"""Training at finite d: `train(scenario, d, start, optimiser, seeds)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from ..estimate import Estimate, over_seeds
from ..scenario import Scenario
from .checkpoint import objective_of
from .instance import Instance
from .optimisers import LBFGS, Adam, Descent, GradientDescent, Optimiser
from .overlaps import Overlaps, overlaps
from .progress import track
from .starts import Start, name_of, start_weights
from .test_error import exact_test_error

SINGLE_TOLERANCE = 1e-4
OPTIMISERS = {"lbfgs": LBFGS, "gd": GradientDescent, "adam": Adam}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What was recorded on the way: `step` (k,), `loss` F/d (k,), and `overlaps`, each with a first axis
    k."""

    step: np.ndarray
    loss: np.ndarray
    overlaps: Overlaps


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's answer. After a divergence there is none: all but `outcome`, `reason` and the counts are
    None.

    - `test_error`: ε_g, exact for these weights, with the error of its Gaussian average.
    - `train_loss`: ε_t = F/d at the end.
    - `overlaps`: with their signs.
    - `gradient_norm`: ‖∇F‖ ‖Q‖/F.
    - `teacher_excess`: how much longer than expected this seed's teacher is.
    """

    seed: int
    outcome: str
    reason: str
    steps: int
    evaluations: int
    seconds: float
    teacher_excess: float
    weights: np.ndarray | None
    test_error: Estimate | None
    train_loss: float | None
    overlaps: Overlaps | None
    gradient_norm: float | None
    trajectory: Any = None


@dataclass(frozen=True, eq=False)
class Runs:
    """The answers of several seeds, and their averages.

    `test_error`, `train_loss`, `gradient_norm` are averages over the seeds that gave an answer; so are `q`,
    `m`, `theta`, the sizes Tr q_l, ‖m_l‖, ‖θ_l‖ averaged over tokens (at rank one q, |m|, |θ|). `per_token`
    keeps the tokens apart, and each of `runs` its signs.
    """

    scenario: Scenario
    dimension: int
    start: str
    method: str
    runs: tuple[Run, ...]
    seconds: float

    @property
    def outcomes(self) -> dict[str, int]:
        return dict(Counter(run.outcome for run in self.runs))

    @property
    def test_error(self) -> Estimate:
        return over_seeds(self.values("test_error"))

    @property
    def train_loss(self) -> Estimate:
        return over_seeds(self.values("train_loss"))

    @property
    def gradient_norm(self) -> Estimate:
        return over_seeds([run.gradient_norm for run in self.runs])

    @property
    def q(self) -> Estimate:
        return over_seeds(self.values("q"))

    @property
    def m(self) -> Estimate:
        return over_seeds(self.values("m"))

    @property
    def theta(self) -> Estimate:
        return over_seeds(self.values("theta"))

    @property
    def per_token(self) -> dict[str, Estimate]:
        """q, m, theta as averages of arrays (L,)."""
        sizes = [None if run.overlaps is None else run.overlaps.sizes for run in self.runs]
        return {name: over_seeds([size and size[name] for size in sizes]) for name in ("q", "m", "theta")}

    def values(self, name: str) -> list[float | None]:
        """One observable of every seed: `test_error`, `train_loss`, or the token-averaged size of `q`, `m`,
        `theta`."""
        return [None if run.overlaps is None else _value(run, name) for run in self.runs]

    def adjusted(self, name: str) -> Estimate:
        """The average at a teacher of the expected length: what is left when `teacher_excess` is regressed
        out."""
        return over_seeds(self.values(name), control=[run.teacher_excess for run in self.runs])

    def to_dict(self) -> dict[str, Any]:
        """The averages, the counts of outcomes and the time, as plain data."""
        names = ("test_error", "train_loss", "m", "theta", "q", "gradient_norm")
        return {
            "d": self.dimension,
            "start": self.start,
            "method": self.method,
            "seeds": [run.seed for run in self.runs],
            **{name: getattr(self, name).to_dict() for name in names},
            "per_token": {name: mean.to_dict() for name, mean in self.per_token.items()},
            "outcome": self.outcomes,
            "reasons": sorted({run.reason for run in self.runs if run.outcome == "diverged"}),
            "seconds": self.seconds,
        }


def _value(run: Run, name: str) -> float:
    if name == "test_error":
        return float(run.test_error.value)  # type: ignore[union-attr]
    return run.train_loss if name == "train_loss" else float(run.overlaps.sizes[name].mean())  # type: ignore


def train(
    scenario: Scenario,
    d: int,
    start: Start = "semantic",
    optimiser: str | Optimiser = "lbfgs",
    seeds: int | Iterable[int] = 1,
    *,
    precision: str = "float64",
    record: int | None = None,
    progress: bool = False,
) -> Runs:
    """Minimise F(Q) = Σ_μ ‖y^μ − f_Q(x^μ)‖²/(2d) + (λ/2)‖Q‖² over n = αd samples, for each seed.

    **Arguments**

    - `scenario`, `d`: what is learned, and in how many dimensions.
    - `start`: `"semantic"`, `"positional"`, `"random"`, `Random(scale)` or weights (d, r_s).
    - `optimiser`: `"lbfgs"`, `"gd"`, `"adam"`, or one of `LBFGS`, `GradientDescent`, `Adam` with its
      settings.
    - `seeds`: how many (then 0, 1, …), or which.
    - `precision`: of the data, `"float64"` or `"float32"`.
    - `record`: keep loss and overlaps of every `record`-th step.
    - `progress`: show a bar.

    **Example**

        train(paper(alpha=2.0, omega=0.3), d=1000, start="positional", seeds=8).test_error
    """
    method = as_optimiser(optimiser, precision)
    seeds = as_seeds(seeds)
    begin = perf_counter()
    runs = []
    for seed in track(seeds, f"training, d = {d}", progress):
        runs.append(_train_one(Instance(scenario, d, seed), start, method, precision, record))
    return Runs(scenario, d, name_of(start), type(method).__name__, tuple(runs), perf_counter() - begin)


def _train_one(instance: Instance, start: Start, method: Optimiser, precision: str, record: int | None) -> Run:
    begin = perf_counter()
    weights = start_weights(instance, start)
    objective = objective_of(instance, precision)
    recorder = None if record is None else _Recorder(instance, record)
    end = method.minimise(objective, weights, recorder)
    return answer(instance, end, begin, recorder and recorder.trajectory)


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
        test_error=exact_test_error(instance, end.weights) if found else None,
        train_loss=end.value / instance.dimension if found else None,
        overlaps=overlaps(instance, end.weights) if found else None,
        gradient_norm=end.gradient_norm if found else None,
        teacher_excess=instance.teacher_excess,
        trajectory=trajectory,
        seconds=perf_counter() - begin,
    )


class _Recorder:
    def __init__(self, instance: Instance, every: int) -> None:
        self.instance, self.every, self.rows = instance, every, []

    def __call__(self, step: int, weights: np.ndarray, value: float) -> None:
        if step % self.every == 0:
            self.rows.append((step, value / self.instance.dimension, overlaps(self.instance, weights)))

    @property
    def trajectory(self) -> Trajectory:
        steps, losses, values = zip(*self.rows, strict=True)
        return Trajectory(np.array(steps), np.array(losses), Overlaps(*map(np.stack, zip(*values, strict=True))))


def as_optimiser(optimiser: str | Optimiser, precision: str = "float64") -> Optimiser:
    """A named optimiser with its defaults; on single-precision data it stops where rounding hides the
    gradient."""
    if not isinstance(optimiser, str):
        return optimiser
    if optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser: expected one of {', '.join(OPTIMISERS)}, got {optimiser!r}")
    method = OPTIMISERS[optimiser]()
    return method if precision == "float64" else replace(method, tolerance=SINGLE_TOLERANCE)


def as_seeds(seeds: int | Iterable[int]) -> list[int]:
    listed = list(range(seeds)) if isinstance(seeds, int | np.integer) else list(seeds)
    if not listed:
        raise ValueError(f"seeds: at least one is needed, got {seeds!r}")
    return listed
