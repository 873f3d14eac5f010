"""Training step by step: the run of `dotphase.train`, with a message for each step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...finite.data.instance import Instance
from ...finite.data.sampling import sample
from ...finite.overlaps import overlaps
from ...finite.training.objective import Objective
from ...finite.training.optimisers import GradientDescent
from ...finite.training.runs import mechanism_of
from ...finite.training.starts import start_weights
from ...finite.training.training import Run, answer, as_optimiser
from ...learning.full_batch.learning_curve import learning_curve
from ...learning.online.decomposition import measured
from ...results.json import plain
from ...scenario.scenario import Scenario

if TYPE_CHECKING:
    from .work import Say


def descend(say: Say, scenario: Scenario, d: int, start: str, optimiser: str, seed: int) -> None:
    """Train one seed. Messages: `begin` (n and d), `step` (loss F/d, |m|, |θ|, q), `end` (what
    `train` reports), and after gradient descent `theory` (its learning curve)."""
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

    objective, weights = Objective(sample(instance)), start_weights(instance, start)
    method = as_optimiser(optimiser)
    run = answer(instance, method.minimise(objective, weights, watch), began)
    say(_end(run, scenario, d))
    if isinstance(method, GradientDescent) and run.overlaps is not None:
        say(_theory(instance, weights, method.rate, run.steps))


def _theory(instance: Instance, weights: np.ndarray, rate: float, steps: int) -> dict[str, Any]:
    """The learning curve from these first weights; its times are counted in steps of training. One
    step of the theory is five of training, or fewer where that would be unstable."""
    size = min(5 * rate, 0.2 / float(instance.scenario.distribution.mean_gamma.max()))
    first, distribution = measured(instance, weights)
    total = max(1, round(steps * rate / size))
    options: dict[str, Any] = {
        "d": instance.dimension,
        "distribution": distribution,
        "paths": 512,
        "replicates": 4,
    }
    found = learning_curve(instance.scenario, first, steps=total, step_size=size, **options)
    shown = np.unique(np.geomspace(1, len(found.times), 80).astype(int)) - 1
    curves = {"loss": found.train_loss, "m": found.m, "theta": found.theta}
    values = {name: curve.value[shown].tolist() for name, curve in curves.items()}
    return {"event": "theory", "step": (found.times[shown] / rate).tolist(), **values}


def _end(run: Run, scenario: Scenario, d: int) -> dict[str, Any]:
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
        "mechanism": mechanism_of(run.overlaps, scenario.distribution.mean_gamma, d),
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
