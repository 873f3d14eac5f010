"""Whole epochs as single compiled calls, for all seeds at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from ..scenario.arguments import checked_with, number, whole
from .data import count_letters
from .transformer import Mechanism, Weights, logits


@checked_with(batch=whole(), epochs=whole(), learning_rate=number(above=True))
@dataclass(frozen=True)
class Recipe:
    """How to train. The defaults are the published ones; betas (0.9, 0.98) belong to Adam."""

    optimiser: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 1e-3
    batch: int = 32
    epochs: int = 200

    def __post_init__(self) -> None:
        if self.optimiser not in ("adam", "sgd"):
            raise ValueError(f"optimiser: must be adam or sgd, got {self.optimiser!r}")
        if self.batch < 1 or self.epochs < 1 or not 0 < self.learning_rate < np.inf:
            raise ValueError(
                "batch, epochs and learning rate must be positive, "
                f"got {self.batch}, {self.epochs} and {self.learning_rate}"
            )

    def build(self) -> optax.GradientTransformation:
        if self.optimiser == "adam":
            return optax.adam(self.learning_rate, b1=0.9, b2=0.98)
        return optax.sgd(self.learning_rate)


class State(NamedTuple):
    """The state that the next step needs: weights and optimiser."""

    weights: Weights
    optimiser: optax.OptState


class Record(NamedTuple):
    """The record of an epoch; training values are averages over the epoch's steps."""

    train_loss: Array | np.ndarray
    train_accuracy: Array | np.ndarray
    validation_loss: Array | np.ndarray
    validation_accuracy: Array | np.ndarray


@partial(jax.jit, static_argnames="mechanism")
def loss_and_accuracy(weights: Weights, tokens: Array, mechanism: Mechanism) -> tuple[Array, Array]:
    """Cross-entropy −⟨log p(c_i)⟩ and share of positions counted right, averaged over all
    positions."""
    counts = count_letters(tokens)
    scores = logits(weights, tokens, mechanism)
    # One-hot again instead of picking the label's entry, for the sake of the gradient.
    onehot = jax.nn.one_hot(counts, scores.shape[-1], dtype=jnp.float32)
    loss = -(jax.nn.log_softmax(scores) * onehot).sum(-1).mean()
    return loss, (scores.argmax(-1) == counts).mean(dtype=jnp.float32)


def train_step(
    state: State, tokens: Array, mechanism: Mechanism, optimiser: optax.GradientTransformation
) -> tuple[State, tuple[Array, Array]]:
    """One gradient step on one batch."""
    measured, gradient = jax.value_and_grad(loss_and_accuracy, has_aux=True)(
        state.weights, tokens, mechanism
    )
    update, memory = optimiser.update(gradient, state.optimiser, state.weights)
    return State(optax.apply_updates(state.weights, update), memory), measured  # pyright: ignore[reportArgumentType]


def shuffle_into_batches(tokens: Array, key: Array, batch: int) -> Array:
    """A fresh random order, cut into (steps, batch, length); the remainder is not used in this
    epoch."""
    steps = tokens.shape[0] // batch
    order = jax.random.permutation(key, tokens.shape[0])[: steps * batch]
    return tokens[order].reshape(steps, batch, -1)


@partial(jax.jit, static_argnames=("mechanism", "chunk"))
def evaluate(
    weights: Weights, tokens: Array, mechanism: Mechanism, chunk: int = 1000
) -> tuple[Array, Array]:
    """Loss and accuracy over all of `tokens`, a chunk at a time to stay small in memory."""
    whole = tokens.shape[0] // chunk * chunk
    sums = jax.lax.map(
        lambda part: loss_and_accuracy(weights, part, mechanism),
        tokens[:whole].reshape(-1, chunk, tokens.shape[1]),
    )
    totals = [chunk * s.sum() for s in sums]
    if whole < tokens.shape[0]:
        rest = loss_and_accuracy(weights, tokens[whole:], mechanism)
        totals = [t + (tokens.shape[0] - whole) * r for t, r in zip(totals, rest, strict=True)]
    return totals[0] / tokens.shape[0], totals[1] / tokens.shape[0]


def epoch(
    state: State, train: Array, validation: Array, key: Array, mechanism: Mechanism, recipe: Recipe
) -> tuple[State, Record]:
    """One epoch of one seed: every batch in a scan, then the validation set."""
    optimiser = recipe.build()
    batches = shuffle_into_batches(train, key, recipe.batch)
    state, (losses, accuracies) = jax.lax.scan(
        lambda state, tokens: train_step(state, tokens, mechanism, optimiser), state, batches
    )
    loss, accuracy = evaluate(state.weights, validation, mechanism)
    return state, Record(losses.mean(), accuracies.mean(), loss, accuracy)


def compiled_epoch(mechanism: Mechanism, recipe: Recipe) -> Callable[..., tuple[State, Record]]:
    """`epoch` for all seeds at once: compiled(states, train, validation, keys, number).

    Seeds are on the first axes; the order of the `number`-th epoch is drawn from (key, number)
    alone.
    """
    # One epoch does not depend on their number: use the same compilation for any.
    return _compiled_epoch(mechanism, replace(recipe, epochs=1))


@lru_cache(maxsize=32)
def _compiled_epoch(mechanism, recipe):
    def one_seed(state, train, validation, key, number):
        return epoch(state, train, validation, jax.random.fold_in(key, number), mechanism, recipe)

    return jax.jit(jax.vmap(one_seed, in_axes=(0, 0, 0, 0, None)))
