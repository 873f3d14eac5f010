"""One-pass learning simulated at finite d: fresh sentences, one gradient step on each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from ..estimate import Estimate, over_seeds, plain
from ..finite.instance import Instance
from ..finite.objective import trace
from ..finite.overlaps import Overlaps, overlaps
from ..finite.progress import track
from ..finite.test_error import exact_test_error
from ..finite.training import as_seeds
from ..scenario import Scenario
from ..scenario.attention import Form, lifted
from ..scenario.law import Law
from .equations import Step
from .makeup import Makeup, Start, as_start, measured
from .one_pass import step_of, times_of

BLOCK = 2**20  # numbers drawn at once


@dataclass(frozen=True, eq=False)
class Simulation:
    """One-pass learning at finite d, for several seeds.

    - `times`: steps/d where the overlaps were taken, (T,); `overlaps`: per seed, each with a first axis over times.
    - `starts`: per seed what the first weights were made of, and the law of that instance.
    - `test_errors`: ε_g of the last weights, exact at this d, per seed.
    """

    scenario: Scenario
    dimension: int
    start: str
    step: Step
    times: np.ndarray
    overlaps: tuple[Overlaps, ...]
    starts: tuple[tuple[Makeup, Law], ...]
    test_errors: tuple[float, ...]
    seconds: float

    @property
    def q(self) -> Estimate:
        return over_seeds([each.q for each in self.overlaps])

    @property
    def m(self) -> Estimate:
        return over_seeds([each.m for each in self.overlaps])

    @property
    def theta(self) -> Estimate:
        return over_seeds([each.theta for each in self.overlaps])

    @property
    def test_error(self) -> Estimate:
        return over_seeds(self.test_errors)

    def to_dict(self) -> dict[str, Any]:
        names = ("start", "times", "q", "m", "theta", "test_error")
        head = {"d": self.dimension, "seeds": len(self.overlaps), "rate": self.step.rate, "ridge": self.step.ridge}
        return head | {name: plain(getattr(self, name)) for name in names} | {"seconds": round(self.seconds, 4)}


def simulate(
    scenario: Scenario,
    d: int,
    start: str | Start = "random",
    rate: float = 10.0,
    until: float | Sequence[float] = 100.0,
    seeds: int | Iterable[int] = 8,
    *,
    ridge: float | None = None,
    progress: bool = False,
) -> Simulation:
    """Stochastic gradient descent on ℓ_μ + (λ₁/2d)‖Q‖², every sentence seen once; arguments as in `one_pass`.

    The loss of a sentence is exact at this d, scalar products and all: Q ← Q − η (Σ_l x̃_l ∂_l/√d + λ₁ Q/d).
    """
    begin = perf_counter()
    times, step, chosen = times_of(until), step_of(scenario, rate, ridge), as_start(start)
    counts = np.unique(np.round(times * d).astype(int))
    runs = []
    for seed in track(as_seeds(seeds), f"one pass, d = {d}", progress):
        instance = Instance(scenario, d, seed)
        runs.append(_one(instance, chosen.weights(instance), step, counts))
    found, starts, errors = zip(*runs, strict=True)
    return Simulation(scenario, d, str(start), step, counts / d, found, starts, errors, perf_counter() - begin)


def _one(instance: Instance, weights: np.ndarray, step: Step, counts: np.ndarray):
    """Overlaps at the given counts of steps, the measured start, and the last test error."""
    first, rows, done = measured(instance, weights), [], 0
    source = np.random.Generator(np.random.SFC64(np.random.SeedSequence([instance.seed, instance.dimension])))
    for count in counts:
        weights = _descend(instance, weights, step, count - done, source)
        rows.append(overlaps(instance, weights))
        done = count
    stacked = Overlaps(*map(np.stack, zip(*rows, strict=True)))
    return stacked, first, float(exact_test_error(instance, weights).value)


def _descend(instance: Instance, weights: np.ndarray, step: Step, count: int, source: np.random.Generator):
    """`count` steps, block by block."""
    import jax

    length, d = instance.gamma.shape
    scenario, scale = instance.scenario, np.sqrt(instance.gamma)
    descend = _compiled(scenario.student.form, scenario.teacher.form)
    numbers = scenario.student.values, scenario.teacher.values
    most = max(1, BLOCK // (length * d))
    with jax.enable_x64(True):
        fixed = jax.device_put((scale, instance.positions, instance.teacher_weights, tuple(step), numbers))
        for first in range(0, count, most):
            normals = source.standard_normal((min(most, count - first), length, d), dtype=np.float32)
            weights = descend(weights, normals, *fixed)
        return np.asarray(weights)


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form):
    import jax
    import jax.numpy as jnp

    def descend(weights, normals, scale, positions, teacher_weights, step, numbers):
        rate, ridge = step
        d = len(weights)
        x = normals * scale
        seen = x + positions
        u = jnp.moveaxis(x @ teacher_weights, 0, -1) / jnp.sqrt(d)
        T = jnp.moveaxis(lifted(teacher)(u, **numbers[1]), -1, 0)
        gram = seen @ seen.swapaxes(1, 2) / d
        target = T @ (x @ seen.swapaxes(1, 2)) / d

        def loss(z, target, gram):  # ‖y − f‖²/(2d) up to what z does not enter
            S = lifted(student)(z[:, :, None], **numbers[0])[..., 0]
            return 0.5 * trace(S, gram, S) - (S * target).sum()

        def one(Q, sentence):
            seen, target, gram = sentence
            slope = jax.grad(loss)(seen @ Q / jnp.sqrt(d), target, gram)
            return Q - rate * (seen.T @ slope / jnp.sqrt(d) + ridge * Q / d), None

        return jax.lax.scan(one, weights, (seen, target, gram))[0]

    return jax.jit(descend)
