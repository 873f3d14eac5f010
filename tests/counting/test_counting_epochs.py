"""A compiled epoch is the same as its steps one by one."""

import jax
import numpy as np
import optax
import pytest

from dotphase.counting import (
    CountingTask,
    Recipe,
    count_letters,
    initial_weights,
    logits,
    make_data,
)
from dotphase.counting.epochs import (
    State,
    compiled_epoch,
    evaluate,
    loss_and_accuracy,
    shuffle_into_batches,
    train_step,
)

TASK = CountingTask(length=4, letters=6, samples=400)


def test_an_epoch_uses_every_sequence_at_most_once_and_all_but_the_remainder():
    data = make_data(TASK, 0)
    batches = np.asarray(shuffle_into_batches(data.train, jax.random.key(0), batch=32))
    assert batches.shape == (280 // 32, 32, 4)
    used = batches.reshape(-1, 4)
    assert len(np.unique(used, axis=0)) == len(used)
    assert {tuple(row) for row in used} <= {tuple(row) for row in data.train}
    other = np.asarray(shuffle_into_batches(data.train, jax.random.key(1), batch=32))
    assert not np.array_equal(batches, other)


def test_a_plain_step_goes_down_the_gradient():
    """w − lr ∂loss/∂w, and nothing else."""
    weights, tokens = initial_weights(jax.random.key(0), TASK, 8, 8), make_data(TASK, 0).train[:32]
    optimiser = Recipe("sgd", learning_rate=0.1).build()
    gradient = jax.jit(jax.grad(lambda w: loss_and_accuracy(w, tokens, "free")[0]))(weights)
    state, _ = train_step(State(weights, optimiser.init(weights)), tokens, "free", optimiser)
    for after, before, slope in zip(state.weights, weights, gradient, strict=True):
        np.testing.assert_allclose(after, before - 0.1 * slope, atol=1e-6)


def test_the_compiled_epoch_equals_a_plain_loop():
    """All seeds in one scan against one seed, one batch at a time, by Adam."""
    recipe = Recipe()
    data = make_data(TASK, 0)
    seeds = jax.random.split(jax.random.key(5), 2)
    initial = jax.vmap(lambda key: initial_weights(key, TASK, 8, 8))(seeds)
    states = State(initial, jax.vmap(recipe.build().init)(initial))
    both = (np.stack([part, part]) for part in data)
    after, record = compiled_epoch("semantic", recipe)(states, *both, seeds, 3)

    weights = jax.tree.map(lambda leaf: leaf[1], initial)
    optimiser = recipe.build()
    memory = optimiser.init(weights)
    losses = []
    differentiate = jax.jit(jax.value_and_grad(lambda w, t: loss_and_accuracy(w, t, "semantic")[0]))
    for tokens in shuffle_into_batches(data.train, jax.random.fold_in(seeds[1], 3), recipe.batch):
        loss, gradient = differentiate(weights, tokens)
        update, memory = optimiser.update(gradient, memory, weights)
        weights = optax.apply_updates(weights, update)
        losses.append(loss)
    for ours, plain in zip(after.weights, weights, strict=True):
        np.testing.assert_allclose(
            ours[1], plain, atol=1e-4
        )  # of moves up to 1e-2: rounding, eight steps on
    np.testing.assert_allclose(record.train_loss[1], np.mean(losses), rtol=1e-4)


def test_the_loss_is_the_cross_entropy_of_the_counts():
    weights = initial_weights(jax.random.key(0), TASK, 8, 8)
    tokens = make_data(TASK, 0).validation
    scores = np.asarray(logits(weights, tokens, "free"), np.float64)
    log_p = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    counts = count_letters(tokens)
    loss, accuracy = loss_and_accuracy(weights, tokens, "free")
    np.testing.assert_allclose(
        loss, -np.take_along_axis(log_p, counts[..., None], -1).mean(), rtol=1e-5
    )
    np.testing.assert_allclose(accuracy, (scores.argmax(-1) == counts).mean(), rtol=1e-6)


@pytest.mark.parametrize("chunk", [7, 50, 120, 1000])
def test_evaluation_does_not_depend_on_the_chunks(chunk):
    weights = initial_weights(jax.random.key(0), TASK, 8, 8)
    tokens = make_data(TASK, 0).validation
    np.testing.assert_allclose(
        evaluate(weights, tokens, "free", chunk),
        loss_and_accuracy(weights, tokens, "free"),
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    "bad", [{"batch": 0}, {"epochs": 0}, {"learning_rate": -1.0}, {"optimiser": "lion"}]
)
def test_impossible_recipes_are_refused(bad):
    with pytest.raises(ValueError, match=r"expected a whole number|must be"):
        Recipe(**bad)
