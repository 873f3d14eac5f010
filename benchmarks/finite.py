"""Speed of the finite-d room against the plain way of doing the same, measured side by side in
short turns.

python -m benchmarks.finite
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

ALPHA, OMEGA, D = 2.0, 0.3, 1000
PLAIN_STEPS = 5000  # the published recipe; `TIMED_STEPS` of them are timed and scaled
TIMED_STEPS = 20
TEST_SAMPLES = 50_000


def run() -> list[dict[str, Any]]:
    """Each row: what, ours and theirs in seconds, the ratio, and the ratio that was promised."""
    from dotphase.finite.data.sampling import sample
    from dotphase.finite.training.objective import Objective
    from dotphase.scenario.presets import paper

    scenario = paper(alpha=ALPHA, omega=OMEGA)
    data = sample(scenario, D, 0)
    objective = Objective(data)
    rows = [
        _to_the_minimum(objective),
        _two_passes(objective),
        _test_error(data),
        _many_seeds(scenario),
    ]
    for row in rows:
        times = " vs ".join(
            f"{row[who]:.3g} s" for who in ("ours", "theirs") if row[who] is not None
        )
        told = f"{row['what']:<66} {row['ratio']:>8.3g} {row['unit']:<8}"
        print(f"{told} (promised {row['promised']}; {times})")
    return rows


def _to_the_minimum(objective) -> dict[str, Any]:
    """L-BFGS to the minimum, against 5000 full-batch gradient steps on the plain forward pass."""
    from dotphase.finite.training.optimisers import LBFGS
    from dotphase.finite.training.starts import start_weights

    start = start_weights(objective.sample.instance, "semantic")
    step = plain_step(objective.sample)
    ours, theirs = [], []
    LBFGS().minimise(objective, start)
    weights = step(start)
    for _ in range(3):
        ours.append(_seconds(lambda: LBFGS().minimise(objective, start)))
        theirs.append(
            _seconds(lambda: _repeat(step, weights, TIMED_STEPS)) / TIMED_STEPS * PLAIN_STEPS
        )
    what = f"minimum by L-BFGS vs {PLAIN_STEPS} plain gradient steps ({TIMED_STEPS} timed, scaled)"
    return _row(what, min(ours), min(theirs), min(theirs) / min(ours), "times", "200 or more")


def plain_step(data) -> Callable[[np.ndarray], np.ndarray]:
    """One step of gradient descent as one writes it first: outputs (L, n, d) formed, squared error,
    autodiff, compiled.

    Sums over tokens are written out, which here is several times faster than batched products of
    2×2 matrices.
    """
    import jax
    import jax.numpy as jnp

    from dotphase.scenario.attentions.attention import lifted

    attention = lifted(data.scenario.student.form)
    d, ridge, tokens = data.instance.dimension, data.scenario.ridge, range(data.scenario.length)

    def output(matrix, x):
        return jnp.stack([sum(matrix[l, k][:, None] * x[k] for k in tokens) for l in tokens])

    def loss(weights, seen, y):
        fields = jnp.stack([(x @ weights).T for x in seen]) / d**0.5
        guess = output(attention(fields, **data.scenario.student.values), seen)
        return ((y - guess) ** 2).sum() / (2 * d) + 0.5 * ridge * (weights**2).sum()

    gradient = jax.jit(jax.grad(loss))
    with jax.enable_x64(True):
        seen = jnp.asarray(data.tokens)
        y = output(data.answers, seen - data.instance.positions[:, None])

    def step(weights):
        with jax.enable_x64(True):
            return np.asarray(weights - 0.15 * gradient(weights, seen, y))

    return step


def _two_passes(objective) -> dict[str, Any]:
    """Objective and gradient, against the two products with the data they cannot do without and
    nothing else."""
    import jax

    tokens = objective.sample.tokens
    rows = tokens.reshape(-1, tokens.shape[-1])
    weights = np.random.default_rng(0).standard_normal((rows.shape[1], 1))
    slopes = np.random.default_rng(1).standard_normal(len(rows))
    passes = jax.jit(lambda rows, q, g: (rows @ q, g @ rows))
    with jax.enable_x64(True):
        shared = jax.device_put(rows)

    def stream():
        with jax.enable_x64(True):
            jax.block_until_ready(passes(shared, weights[:, 0], slopes))

    ours, theirs = _interleaved(lambda: objective(weights), stream, turns=60)
    return _row(
        "two streaming passes vs objective + gradient",
        ours,
        theirs,
        100 * theirs / ours,
        "per cent",
        "60 or more",
    )


def _test_error(data) -> dict[str, Any]:
    """The exact test error, against the mean over 50 000 fresh samples."""
    from dotphase.finite.data.sampling import attention_of, sample
    from dotphase.finite.test_error import exact_test_error
    from dotphase.finite.training.objective import gram_loss

    instance = data.instance
    weights = 0.7 * instance.teacher_weights

    def monte_carlo():
        total = 0.0
        for _ in range(10):  # in tenths, so that it needs no more memory than it must
            fresh = sample(instance, count=TEST_SAMPLES // 10, stream="test")
            fields = np.swapaxes(fresh.tokens @ weights, 1, 2) / np.sqrt(D)
            total += float(
                np.mean(
                    gram_loss(
                        fresh.answers, attention_of(data.scenario.student, fields), fresh.grams
                    )
                )
            )
        return total

    exact_test_error(instance, weights)
    ours = min(_seconds(lambda: exact_test_error(instance, weights)) for _ in range(10))
    theirs = min(_seconds(monte_carlo) for _ in range(2))
    ours = min([ours, *(_seconds(lambda: exact_test_error(instance, weights)) for _ in range(10))])
    return _row(
        f"exact test error vs {TEST_SAMPLES} samples",
        ours,
        theirs,
        theirs / ours,
        "times",
        "100 or more",
    )


def _many_seeds(scenario) -> dict[str, Any]:
    from dotphase.finite.training.training import train

    ours = _seconds(lambda: train(scenario, D, "semantic", "lbfgs", seeds=24))
    return _row(f"24 seeds of one point, d = {D}", ours, None, ours, "seconds", "at most 30")


def _interleaved(first: Callable, second: Callable, turns: int) -> tuple[float, float]:
    """The medians of both, taken in turns, so that whatever else the machine does befalls both
    alike."""
    first(), second()
    times = [(_seconds(first), _seconds(second)) for _ in range(turns)]
    return tuple(np.median(times, axis=0))  # type: ignore[return-value]


def _seconds(function: Callable) -> float:
    begin = perf_counter()
    function()
    return perf_counter() - begin


def _repeat(step: Callable, weights: np.ndarray, count: int) -> np.ndarray:
    for _ in range(count):
        weights = step(weights)
    return weights


def _row(
    what: str, ours: float, theirs: float | None, ratio: float, unit: str, promised: str
) -> dict[str, Any]:
    return {
        "what": what,
        "ours": ours,
        "theirs": theirs,
        "ratio": ratio,
        "unit": unit,
        "promised": promised,
    }


if __name__ == "__main__":
    run()
