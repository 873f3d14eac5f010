"""Training step by step: the run of `dotphase.train`, with a message for each step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...finite.data.instance import Instance
from ...finite.data.sampling import sample
from ...finite.overlaps import overlaps
from ...finite.training.objective import Objective
from ...finite.training.starts import start_weights
from ...finite.training.training import Run, answer, as_optimiser
from ...results.json import plain
from ...scenario.scenario import Scenario

if TYPE_CHECKING:
    from .work import Say


def descend(say: Say, scenario: Scenario, d: int, start: str, optimiser: str, seed: int) -> None:
    """Train one seed. Messages: `begin` (n and d), `step` (loss F/d, |m|, |θ|, q) and `end` (what
    `train` reports)."""
    # A message for each of the first steps, so that a short run is a curve too; then one in so many
    # seconds: a screen shows no more.
    first, pause = 60, 0.03
    began, spoke = time.perf_counter(), [-pause]
    instance = Instance(scenario, d, seed)
    say({"event": "begin", "seed": seed, "n": instance.sample_count, "d": d})

    def watch(step: int, weights: np.ndarray, value: float) -> None:
        now = time.perf_counter()
        if step > first and now - spoke[0] < pause:
            say(None)
            return
        spoke[0] = now
        sizes = _means(overlaps(instance, weights).sizes)
        say({"event": "step", "seed": seed, "step": step, "loss": value / d, **sizes})

    objective = Objective(sample(instance))
    end = as_optimiser(optimiser).minimise(objective, start_weights(instance, start), watch)
    say(_end(answer(instance, end, began)))


def _end(run: Run) -> dict[str, Any]:
    sizes = (
        {"m": None, "theta": None, "q": None}
        if run.overlaps is None
        else _means(run.overlaps.sizes)
    )
    description = {
        "event": "end",
        "seed": run.seed,
        "outcome": run.outcome,
        "reason": run.reason,
        "step": run.steps,
    }
    return {
        **description,
        "loss": plain(run.train_loss),
        "test_error": plain(run.test_error),
        **sizes,
    }


def _means(sizes: dict[str, np.ndarray]) -> dict[str, float]:
    """Over tokens."""
    return {name: float(size.mean()) for name, size in sizes.items()}
