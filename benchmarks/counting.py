"""The counting task's training: whole compiled epochs of all seeds against a plain loop over
batches.

The plain loop is what most training scripts do: one compiled step, called once per batch of host
arrays, one seed after the other, and the same for validation. It is timed with our transformer (the
gain is that of the compiled epoch) and with the textbook one, which multiplies every token by W_Q,
W_K and W_V (the gain is that of both).
"""

from functools import partial
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np

from dotphase.counting import (
    CountingTask,
    Recipe,
    Weights,
    count_letters,
    fold,
    initial_weights,
    logits,
    make_data,
)
from dotphase.counting.epochs import State, compiled_epoch

SEEDS = (0, 1, 2, 3)
REPETITIONS = 3
VALIDATION_BATCH = 64


def run() -> list[dict]:
    """Time both ways in the published setting; one row per reference, in seconds per epoch and
    seed."""
    task, recipe, mechanism = CountingTask(), Recipe(), "semantic"
    data = [make_data(task, seed) for seed in SEEDS]
    ours = _whole_epochs(task, recipe, mechanism, data)
    loops = {"our model": _plain_loop(task, recipe, partial(logits, mechanism=mechanism), data[0]),
             "textbook model": _plain_loop(task, recipe, textbook_logits, data[0])}  # fmt: skip
    # In turns, so that whatever else the machine does meets all of them.
    times = [
        [ours() / len(SEEDS), *(loop() for loop in loops.values())] for _ in range(REPETITIONS)
    ]
    own, *references = (median(column) for column in zip(*times, strict=True))
    return [
        {
            "what": f"counting, training epoch of one seed, against a plain loop with {name}",
            "ours": own, "reference": reference, "ratio": reference / own, "unit": "s",
        }
        for name, reference in zip(loops, references, strict=True)
    ]  # fmt: skip


def textbook_logits(weights: Weights, tokens: jax.Array) -> jax.Array:
    """The semantic transformer, written token by token."""
    w = fold(weights, "semantic")
    x = w.W_E[tokens] + w.W_pos
    scores = jnp.einsum("nid,njd->nij", x @ w.W_Q, x @ w.W_K) * w.W_Q.shape[0] ** -0.5
    z = jax.nn.softmax(scores) @ (x @ w.W_V)
    z = jax.nn.standardize(z, epsilon=1e-5) * w.ln_scale + w.ln_shift
    return jax.nn.relu(z @ w.W_in + w.b_in) @ w.W_out + w.b_out


def _whole_epochs(task, recipe, mechanism, data):
    """A function that trains all seeds for an epoch (validation included) and returns its seconds."""
    keys = jax.random.split(jax.random.key(0), len(SEEDS))
    weights = jax.vmap(lambda key: initial_weights(key, task))(keys)
    state = State(weights, jax.vmap(recipe.build().init)(weights))
    train, validation = (jnp.stack(part) for part in zip(*data, strict=True))
    advance = compiled_epoch(mechanism, recipe)

    def epoch():
        return jax.block_until_ready(advance(state, train, validation, keys, 0))

    return _timed(epoch)


def _plain_loop(task, recipe, forward, data):
    """A function that trains one seed for an epoch, validates it in batches too, and returns its
    seconds."""
    optimiser = recipe.build()
    initial = initial_weights(jax.random.key(0), task)

    def loss(weights, tokens, counts):
        log_p = jax.nn.log_softmax(forward(weights, tokens))
        return -jnp.take_along_axis(log_p, counts[..., None], -1).mean()

    @jax.jit
    def step(weights, memory, tokens, counts):
        gradient = jax.grad(loss)(weights, tokens, counts)
        update, memory = optimiser.update(gradient, memory)
        return jax.tree.map(jnp.add, weights, update), memory

    @jax.jit
    def right(weights, tokens, counts):
        return (forward(weights, tokens).argmax(-1) == counts).mean()

    def epoch():
        weights, memory = initial, optimiser.init(initial)
        order = np.random.default_rng(0).permutation(len(data.train))
        for start in range(0, len(order) - recipe.batch + 1, recipe.batch):
            tokens = data.train[order[start : start + recipe.batch]]
            weights, memory = step(weights, memory, tokens, count_letters(tokens))
        batches = np.split(
            data.validation, range(VALIDATION_BATCH, len(data.validation), VALIDATION_BATCH)
        )
        np.mean([right(weights, tokens, count_letters(tokens)) for tokens in batches])

    return _timed(epoch)


def _timed(function):
    function()  # compiles

    def seconds():
        start = perf_counter()
        function()
        return perf_counter() - start

    return seconds


if __name__ == "__main__":
    for row in run():
        print(
            f"{row['what']}: {row['ours']:.2f} s against {row['reference']:.2f} s, {row['ratio']:.1f} times"
        )
