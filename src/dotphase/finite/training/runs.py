"""What training and message passing answer: one `Run` per seed, and the `Runs` of several."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...overlaps.overlaps import WeightOverlaps
from ...results.estimate import Estimate
from ...results.result import Result
from ...results.statistics import over_seeds
from ...results.tables import brief, numbers, per_token
from ...scenario.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AVERAGED = ("test_error", "train_loss", "m", "theta", "q")


@dataclass(frozen=True, repr=False, eq=False)
class Trajectory(Result):
    """What was recorded on the way: `step` (k,), `loss` F/d (k,), and `overlaps`, each with a first
    axis k."""

    step: np.ndarray
    loss: np.ndarray
    overlaps: WeightOverlaps

    row, curve = "step", True

    @property
    def headline(self) -> str:
        return f"{len(self.step)} records up to step {self.step[-1]}"

    def rows(self) -> list[dict[str, Any]]:
        columns = {"step": self.step, "loss": self.loss, **self.overlaps.mean_sizes}
        return [
            dict(zip(columns, entries, strict=True))
            for entries in zip(*columns.values(), strict=True)
        ]

    def arrays(self) -> dict[str, Any]:
        return per_token(self.overlaps, lead=("step",))

    def plot(self) -> Figure:
        """Loss and overlaps against steps."""
        from ...plotting.quick import draw_trajectories

        return draw_trajectories([self])


@dataclass(frozen=True, repr=False, eq=False)
class Run(Result):
    """One seed's answer. After a divergence there is none: all but `outcome`, `reason` and the
    counts are None.

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
    seconds: float = field(compare=False)
    teacher_excess: float
    weights: np.ndarray | None
    test_error: Estimate | None
    train_loss: float | None
    overlaps: WeightOverlaps | None
    gradient_norm: float | None
    trajectory: Any = None

    @property
    def recorded(self) -> dict[str, np.ndarray]:
        """Tr q_l, ‖m_l‖, ‖θ_l‖ averaged over tokens and the training loss at the recorded steps, (k,)
        each, and the test error at the end, (1,)."""
        path, end = self.trajectory, self.test_error
        return {
            **path.overlaps.mean_sizes,
            "train_loss": path.loss,
            "test_error": np.array([np.nan if end is None else float(end.value)]),
        }

    @property
    def headline(self) -> str:
        return f"seed {self.seed}: {self.outcome} after {self.steps} steps ({self.reason})"

    def rows(self) -> list[dict[str, Any]]:
        names = ("seed", "outcome", "test_error", "train_loss")
        sizes = (
            dict.fromkeys(("q", "m", "theta"))
            if self.overlaps is None
            else self.overlaps.mean_sizes
        )
        counts = ("gradient_norm", "steps", "evaluations", "teacher_excess", "seconds")
        entries = lambda listed: {name: getattr(self, name) for name in listed}
        return [entries(names) | sizes | entries(counts)]

    def arrays(self) -> dict[str, Any]:
        if self.overlaps is None:
            return {}
        return {**per_token(self.overlaps), "weights": (("dimension", "column"), self.weights)}


@dataclass(frozen=True, repr=False, eq=False)
class Runs(Result):
    """The answers of several seeds, and their averages.

    `test_error`, `train_loss`, `gradient_norm` are averages over the seeds that gave an answer; so
    are `q`, `m`, `theta`, the sizes Tr q_l, ‖m_l‖, ‖θ_l‖ averaged over tokens (at rank one q, |m|,
    |θ|). `per_token` keeps the tokens apart, and each of `runs` its signs.
    """

    scenario: Scenario
    dimension: int
    start: str
    method: str
    runs: tuple[Run, ...]
    seconds: float = field(compare=False)

    row = "seed"

    @property
    def headline(self) -> str:
        outcomes = ", ".join(f"{count} {name}" for name, count in self.outcomes.items())
        return f"{self.method} from the {self.start} start, d = {self.dimension}: {outcomes}, {self.seconds:.1f} s"

    def rows(self) -> list[dict[str, Any]]:
        each = zip(self.runs, self.mechanisms, strict=True)
        return [row | {"mechanism": found} for run, found in each for row in run.rows()]

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What each seed has learned: semantic, positional, mixed or uninformed; "diverged" if it
        gave no answer.

        Random weights of variance v = q/γ have overlaps m ~ √(v/d) and θ ~ γ√(v/d) by chance. An
        overlap larger than five times this counts as a signal.
        """
        gamma = self.scenario.distribution.mean_gamma
        return tuple(mechanism_of(run.overlaps, gamma, self.dimension) for run in self.runs)

    def arrays(self) -> dict[str, Any]:
        answered = [run.overlaps for run in self.runs if run.overlaps is not None]
        # An array has no room for a seed without an answer; the rows have.
        if len(answered) < len(self.runs):
            return {}
        return per_token(WeightOverlaps.stacked(answered), lead=("seed",))

    def __str__(self) -> str:
        lines = [self.headline, f"  {brief(self.scenario)}"]
        lines += [f"  {name:<14}{getattr(self, name)}" for name in AVERAGED]
        if self.gradient_norm.count:
            lines.append(f"  {'gradient_norm':<14}{self.gradient_norm:.1e}")
        return "\n".join([*lines, *(f"  {caveat}" for caveat in self.caveats)])

    @property
    def caveats(self) -> tuple[str, ...]:
        found, learned = [], Counter(self.mechanisms)
        if len(learned) > 1:
            counts = ", ".join(f"{count} {name}" for name, count in learned.items())
            found.append(f"the seeds learned different mechanisms, which are averaged: {counts}")
        if self.outcomes.get("stopped"):
            stopped = f"{self.outcomes['stopped']} of {len(self.runs)} seeds"
            found.append(f"{stopped} stopped before the gradient had vanished")
        return *found, *(run.headline for run in self.runs if run.outcome == "diverged")

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
        return {
            name: over_seeds([size and size[name] for size in sizes])
            for name in ("q", "m", "theta")
        }

    def values(self, name: str) -> list[float | None]:
        """One observable of every seed: `test_error`, `train_loss`, or the token-averaged size of
        `q`, `m`, `theta`."""
        return [None if run.overlaps is None else float(run.rows()[0][name]) for run in self.runs]

    def adjusted(self, name: str) -> Estimate:
        """The average at a teacher of the expected length: what is left when `teacher_excess` is
        regressed out."""
        return over_seeds(self.values(name), control=[run.teacher_excess for run in self.runs])

    def plot(self) -> Figure:
        """Every seed's errors and overlaps; loss and overlaps on the way, where they were recorded."""
        from ...plotting.quick import draw_runs, draw_trajectories

        recorded = [run.trajectory for run in self.runs if isinstance(run.trajectory, Trajectory)]
        return draw_trajectories(recorded, self.headline) if recorded else draw_runs(self)

    def to_dict(self) -> dict[str, Any]:
        """The averages, the counts of outcomes and the time, as plain data."""
        return {
            "d": self.dimension,
            "start": self.start,
            "method": self.method,
            "scenario": numbers(self.scenario),
            "seeds": [run.seed for run in self.runs],
            **{name: getattr(self, name).to_dict() for name in (*AVERAGED, "gradient_norm")},
            "per_token": {name: mean.to_dict() for name, mean in self.per_token.items()},
            "outcome": self.outcomes,
            "reasons": sorted({run.reason for run in self.runs if run.outcome == "diverged"}),
            "seconds": self.seconds,
        }


def mechanism_of(overlaps: WeightOverlaps | None, gamma: np.ndarray, d: int) -> str:
    if overlaps is None:
        return "diverged"
    variance = np.trace(overlaps.q, axis1=1, axis2=2) / gamma / overlaps.q.shape[1]
    noise = 5 * np.sqrt(variance / d)
    positional = np.abs(overlaps.m).max() > noise.max()
    semantic = np.abs(overlaps.theta).max() > (gamma * noise).max()
    both = {(True, True): "mixed", (True, False): "positional", (False, True): "semantic"}
    return both.get((bool(positional), bool(semantic)), "uninformed")
