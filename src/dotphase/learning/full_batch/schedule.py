"""The steps of gradient descent: how many, how long, and with which momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...scenario.scenario import Scenario
from ...scenario.validation import finite_number, whole_number

StepSize = float | Sequence[float] | np.ndarray


class Schedule(NamedTuple):
    """`sizes`: η_t, (T,); `momentum`: β of Q(t+1) = Q(t) − η_t ∇F + β (Q(t) − Q(t−1))."""

    sizes: np.ndarray
    momentum: float

    @property
    def times(self) -> np.ndarray:
        """Σ_{s<t} η_s for t = 0 … T, (T + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.sizes)])


def schedule_of(
    scenario: Scenario,
    steps: int | None,
    time: float | None,
    step_size: StepSize | None,
    momentum: float,
) -> Schedule:
    """The steps that a call asks for: a number of steps, or the sum of their sizes."""
    if step_size is not None and np.ndim(step_size):
        return Schedule(_sequence(steps, time, step_size), momentum)
    size = default_step(scenario) if step_size is None else _positive("step_size", step_size)
    if (steps is None) == (time is None):
        raise ValueError("steps: give either steps or time (the sum of the step sizes)")
    if steps is not None:
        return Schedule(np.full(_bounded("steps", whole_number("steps", steps)), size), momentum)
    time = _positive("time", time)
    count = _bounded("time", np.ceil(time / size - 1e-9))  # 1e-9: rounding is no further step
    return Schedule(np.full(count, time / count), momentum)


def _bounded(name: str, count: float) -> int:
    most = 10**6  # minutes of computing and a gigabyte; the answer has a row for every step
    if count > most:
        raise ValueError(
            f"{name}: {count:.3g} steps are too many, at most {most:.0e}; take longer steps"
        )
    return int(count)


def default_step(scenario: Scenario) -> float:
    """1/(2 α L γ max(‖p‖², γ)): a few times shorter than where softmax attention becomes unstable.

    The curvature of the training objective is of order α L γ γ along weights without signal and
    α L γ ‖p‖² along the encodings.
    """
    distribution = scenario.distribution
    gamma = distribution.mean_gamma.max()
    steepest = max(np.linalg.eigvalsh(distribution.gram)[-1] / scenario.length, gamma)
    return float(0.5 / (scenario.sample_ratio * scenario.length * gamma * steepest))


def _sequence(steps: int | None, time: float | None, given: StepSize) -> np.ndarray:
    sizes = np.asarray(given, dtype=np.float64)
    if sizes.ndim != 1 or not sizes.size or not (np.isfinite(sizes) & (sizes > 0)).all():
        raise ValueError("step_size: expected a positive number or a sequence of them")
    _bounded("step_size", sizes.size)
    if time is not None or steps not in (None, len(sizes)):
        raise ValueError(
            f"step_size: the sequence has {len(sizes)} steps; leave out steps and time"
        )
    return sizes


def _positive(name: str, value: object) -> float:
    return finite_number(name, value, above=True)
