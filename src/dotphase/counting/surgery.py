"""Surgery: is a restricted model also a minimum of the unrestricted loss?

Write the restriction into the weights as zeros, add noise, remove the restriction and continue with
plain gradient steps. If the model stays where it is, although every weight can move, its mechanism
is a minimum of the unrestricted loss.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from ..mechanism.distance import attention_distance
from ..numerics.progress import Progress
from ..results.json import plain
from ..results.result import Result
from ..scenario.arguments import checked
from .epochs import Recipe, evaluate
from .metrics import Scores, measure
from .runs import Experiment, Run, Surgery, prepared
from .training import NOISE, all_data, single_precision, streams, train_from
from .transformer import Mechanism, Weights, attention, fold

AFTERCARE = Recipe(optimiser="sgd", learning_rate=1e-3, epochs=100)


@dataclass(frozen=True, repr=False, eq=False)
class Recovery(Result):
    """One seed before and after surgery. Distances are Euclidean, over all weights of the free
    parameterisation."""

    seed: int
    accuracy_before: float  # the trained, restricted model
    accuracy_operated: float  # without the restriction, with noise
    accuracy_after: float  # after unrestricted training
    distance_travelled: float  # from the random initial weights to the trained ones
    distance_shaken: float  # by the noise
    distance_moved: float  # from the operated weights to the final ones
    attention_change: (
        float  # ½ Σ_j |A_ij − A'_ij|, trained against final, mean over rows and sequences
    )
    attention_scale: float  # the same between the trained model's attention and a uniform one
    scores_before: Scores
    scores_after: Scores

    @property
    def moved_share(self) -> float:
        """The distance moved after surgery as a share of the distance travelled in training."""
        return self.distance_moved / self.distance_travelled

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "moved_share": plain(self.moved_share)}

    @property
    def headline(self) -> str:
        verdicts = f"{self.scores_before.verdict} → {self.scores_after.verdict}"
        return f"seed {self.seed}, after surgery: {verdicts}, moved {self.moved_share:.2%} of the way it had come"


@checked
@partial(jax.jit, static_argnames="mechanism")
def operate(weights: Weights, mechanism: Mechanism, key: Array, noise: float) -> Weights:
    """Fold the restriction into one seed's weights, and add noise·N(0, 1) to every one of them.

    **Returns**: `Weights` without the restriction.
    """
    flat, unflatten = ravel_pytree(fold(weights, mechanism))
    return unflatten(flat + noise * jax.random.normal(key, flat.shape, jnp.float32))


def surgery_of(
    experiment: Experiment, recipe: Recipe = AFTERCARE, noise: float = 1e-3
) -> Experiment:
    """The experiment that follows surgery: unrestricted, from the operated weights, on the same
    data."""
    return replace(
        experiment, mechanism="free", recipe=recipe, surgery=Surgery(experiment.mechanism, noise)
    )


@checked
@single_precision
def perform(
    run: Run,
    directory: str | Path | None = None,
    recipe: Recipe = AFTERCARE,
    noise: float = 1e-3,
    on_epoch: Callable[[Run], None] = lambda run: None,
    progress: Progress = None,
) -> Run:
    """Operate on every seed of a trained run and continue its training; other arguments as in
    `train_from`.

    **Returns**: the `Run` after surgery.
    """
    if directory is not None:
        prepared(directory)
    experiment = surgery_of(run.experiment, recipe, noise)
    keys = streams(experiment.seeds, NOISE)
    mechanism = run.experiment.mechanism
    operated = jax.vmap(lambda weights, key: operate(weights, mechanism, key, noise))(
        run.state.weights, keys
    )
    return train_from(operated, experiment, directory, on_epoch, progress)


@checked
def what_stayed(before: Run, after: Run) -> list[Recovery]:
    """Compare a trained run with the run that followed its surgery, seed by seed, on the validation
    data.

    **Returns**: a list of `Recovery`, one for each seed.
    """
    validation = all_data(before.experiment).validation
    return [
        _recovery(
            seed, _seed(before, s), _seed(after, s), before.experiment.mechanism, validation[s]
        )
        for s, seed in enumerate(before.experiment.seeds)
    ]


def distance(a: Weights, b: Weights) -> float:
    """‖a − b‖ over all weights."""
    differences = [
        np.asarray(x, np.float64) - np.asarray(y, np.float64) for x, y in zip(a, b, strict=True)
    ]
    return float(np.sqrt(sum(np.square(d).sum() for d in differences)))


def _seed(run: Run, s: int) -> tuple[Weights, Weights]:
    """The initial and the final weights of one seed."""
    return jax.tree.map(lambda leaf: leaf[s], (run.initial, run.state.weights))


def _recovery(seed, before, after, mechanism, tokens) -> Recovery:
    (initial, trained), (operated, final) = before, after
    A = np.asarray(attention(trained, tokens, mechanism))
    A_after = np.asarray(attention(final, tokens))
    return Recovery(
        seed=seed,
        accuracy_before=_accuracy(trained, tokens, mechanism),
        accuracy_operated=_accuracy(operated, tokens, "free"),
        accuracy_after=_accuracy(final, tokens, "free"),
        distance_travelled=distance(fold(initial, mechanism), fold(trained, mechanism)),
        distance_shaken=distance(fold(trained, mechanism), operated),
        distance_moved=distance(operated, final),
        attention_change=attention_distance(A, A_after),
        attention_scale=attention_distance(A, np.full_like(A, 1 / A.shape[-1])),
        scores_before=measure(trained, tokens, mechanism),
        scores_after=measure(final, tokens, "free"),
    )


def _accuracy(weights, tokens, mechanism):
    return float(evaluate(weights, tokens, mechanism)[1])
