"""Train a run epoch by epoch, so that it can be stopped at any moment and continued."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..numerics.progress import Progress, reporting
from ..scenario.arguments import checked
from . import runs
from .data import Data, make_data
from .epochs import Record, State, compiled_epoch
from .runs import Experiment, Run, RunError
from .transformer import Weights, initial_weights

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

# Every use of a seed has its own random stream.
INITIALISATION, ORDER, NOISE = 0, 1, 2


def stream(seed: int, use: int) -> Array:
    """The random key of one seed for one use (INITIALISATION, ORDER or NOISE)."""
    return jax.random.fold_in(jax.random.key(seed), use)


def streams(seeds: tuple[int, ...], use: int) -> Array:
    return jnp.stack([stream(seed, use) for seed in seeds])


def single_precision(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Run `function` with double precision off, so that a run does not depend on the precision set
    in the process."""

    @wraps(function)
    def in_single_precision(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        with jax.enable_x64(False):
            return function(*arguments, **options)

    return in_single_precision


@checked
@single_precision
def train(
    experiment: Experiment,
    directory: str | Path | None = None,
    on_epoch: Callable[[Run], None] = lambda run: None,
    progress: Progress = None,
) -> Run:
    """Train from random weights; see `train_from` for the arguments.

    **Returns**: a `Run`.
    """
    if directory is not None:
        runs.prepared(directory)

    def draw(key):
        return initial_weights(key, experiment.task, experiment.width, experiment.hidden)

    initial = jax.vmap(draw)(streams(experiment.seeds, INITIALISATION))
    return train_from(initial, experiment, directory, on_epoch, progress)


@checked
@single_precision
def train_from(
    initial: Weights,
    experiment: Experiment,
    directory: str | Path | None = None,
    on_epoch: Callable[[Run], None] = lambda run: None,
    progress: Progress = None,
) -> Run:
    """Train the seeds of `experiment` from the weights `initial` (seeds on the first axis).

    With a `directory`, every epoch ends with a checkpoint in it, and an existing run continues from
    its last complete epoch. The order of epoch e is drawn from (seed, e) alone, so that an
    interrupted run ends with bitwise the same weights as an uninterrupted one. A directory that
    holds a different run is refused (`RunError`).

    `on_epoch` is called with the run at the start and after every epoch; `progress` is True for a
    bar, or a function `progress(done, total)`. A seed whose loss is not finite has diverged, which
    its summary records; training stops when all seeds have diverged (`RunError`).

    **Returns**: a `Run`.
    """
    run = _unstarted(initial, experiment)
    place = None if directory is None else runs.prepared(directory)
    if place is not None:
        if (place / "config.json").exists():
            run = runs.resume(place, run)
        else:
            runs.begin(place, run)
    on_epoch(run)
    data = all_data(experiment)
    with reporting(
        progress, f"training, {experiment.mechanism}", experiment.recipe.epochs
    ) as report:
        while not run.finished:
            run = _next_epoch(run, data)
            if run.diverged.all():
                rate = experiment.recipe.learning_rate
                raise RunError(
                    f"every seed diverged in epoch {run.epochs_done}: lower the learning rate ({rate:g})"
                )
            if place is not None:
                runs.save_checkpoint(place, run)
            on_epoch(run)
            report(run.epochs_done, run.reached)
    return run


@checked
def all_data(experiment: Experiment) -> Data:
    """The data of all seeds, (seeds, samples, length): each seed draws its own.

    **Returns**: `Data`, with the seeds as first axis.
    """
    each = [make_data(experiment.task, seed) for seed in experiment.seeds]
    return Data(
        np.stack([data.train for data in each]), np.stack([data.validation for data in each])
    )


def _unstarted(initial: Weights, experiment: Experiment) -> Run:
    nothing = np.zeros((len(experiment.seeds), 0), np.float32)
    state = State(initial, jax.vmap(experiment.recipe.build().init)(initial))
    return Run(experiment, initial, state, Record(nothing, nothing, nothing, nothing))


def _next_epoch(run: Run, data: Data) -> Run:
    experiment = run.experiment
    advance = compiled_epoch(experiment.mechanism, experiment.recipe)
    keys = streams(experiment.seeds, ORDER)
    state, record = jax.block_until_ready(advance(run.state, *data, keys, run.epochs_done))
    history = Record(*(np.column_stack([h, r]) for h, r in zip(run.history, record, strict=True)))
    return replace(run, state=state, history=history)
