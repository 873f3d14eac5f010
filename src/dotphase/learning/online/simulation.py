"""One-pass learning simulated at finite d: fresh sentences, one gradient step on each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...finite.checks import as_seeds
from ...finite.data.instance import Instance
from ...finite.overlaps import overlaps
from ...finite.test_error import exact_test_error
from ...finite.training.objective import trace
from ...numerics.progress import Progress, track
from ...overlaps.overlaps import WeightOverlaps
from ...results.estimate import Estimate
from ...results.json import plain
from ...results.result import Result
from ...results.statistics import over_seeds
from ...scenario.arguments import checked
from ...scenario.attentions.attention import Form, lifted, matrices
from ...scenario.checks import check_plain
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from .decomposition import Decomposition, Start, as_start, measured
from .equations import Step
from .one_pass import step_of, times_of

BLOCK = 2**20  # numbers drawn at once


@dataclass(frozen=True, repr=False, eq=False)
class Simulation(Result):
    """One-pass learning at finite d, for several seeds.

    - `times`: steps/d where the overlaps were taken, (T,); `overlaps`: per seed, each with a first
      axis over times.
    - `starts`: per seed what the first weights were made of, and the distribution of that instance.
    - `test_errors`: ε_g of the last weights, exact at this d, per seed.
    """

    scenario: Scenario
    dimension: int
    start: str
    step: Step
    times: np.ndarray
    overlaps: tuple[WeightOverlaps, ...]
    starts: tuple[tuple[Decomposition, Distribution], ...]
    test_errors: tuple[float, ...]
    seconds: float = field(compare=False)

    row = "seed"

    @property
    def headline(self) -> str:
        seeds, end = len(self.overlaps), self.times[-1]
        head = f"one pass at d = {self.dimension} from {self.start}, {seeds} seeds, to t = {end:g}"
        return f"{head}: test error {self.test_error}"

    def rows(self) -> list[dict[str, Any]]:
        return [{"test_error": error} for error in self.test_errors]

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
        head = {
            "d": self.dimension,
            "seeds": len(self.overlaps),
            "rate": self.step.rate,
            "ridge": self.step.ridge,
        }
        return (
            head
            | {name: plain(getattr(self, name)) for name in names}
            | {"seconds": round(self.seconds, 4)}
        )


@checked
def simulate(
    scenario: Scenario,
    d: int,
    start: str | Start = "random",
    rate: float = 10.0,
    until: ArrayLike = 100.0,
    seeds: int | Iterable[int] = 8,
    *,
    ridge: float | None = None,
    progress: Progress = None,
) -> Simulation:
    """Stochastic gradient descent on ℓ_μ + (λ₁/2d)‖Q‖², every sentence seen once; arguments as in
    `one_pass`.

    The loss of a sentence is exact at this d, scalar products and all: Q ← Q − η (Σ_l x̃_l ∂_l/√d +
    λ₁ Q/d).

    **Returns**: a `Simulation`: overlaps of every seed at each time.
    """
    check_plain("one-pass learning", scenario)
    begin = perf_counter()
    times, step, chosen = times_of(until), step_of(scenario, rate, ridge), as_start(start)
    counts = np.unique(np.round(times * d).astype(int))
    runs = []
    for seed in track(as_seeds(seeds), f"one pass, d = {d}", progress):
        instance = Instance(scenario, d, seed)
        runs.append(_one(instance, chosen.weights(instance), step, counts))
    found, starts, errors = zip(*runs, strict=True)
    return Simulation(
        scenario, d, str(start), step, counts / d, found, starts, errors, perf_counter() - begin
    )


def _one(instance: Instance, weights: np.ndarray, step: Step, counts: np.ndarray):
    """WeightOverlaps at the given counts of steps, the measured start, and the last test error."""
    first, rows, done = measured(instance, weights), [], 0
    source = np.random.Generator(
        np.random.SFC64(np.random.SeedSequence([instance.seed, instance.dimension]))
    )
    for count in counts:
        weights = _descend(instance, weights, step, count - done, source)
        rows.append(overlaps(instance, weights))
        done = count
    stacked = WeightOverlaps.stacked(rows)
    return stacked, first, float(exact_test_error(instance, weights).value)


def _descend(
    instance: Instance, weights: np.ndarray, step: Step, count: int, source: np.random.Generator
):
    """`count` steps, block by block."""
    import jax

    student = instance.scenario.student
    most = max(1, BLOCK // instance.gamma.size)
    for first in range(0, count, most):
        used = min(
            most, count - first
        )  # all blocks have one size, and one compilation; of the last a part is used
        sentences = _fresh(instance, most, used, source)
        with jax.enable_x64(True):
            weights = np.asarray(
                _compiled(student.form)(weights, used, sentences, tuple(step[:2]), student.values)
            )
    return weights


class Sentences(NamedTuple):
    """`seen` x̃, (n, L, d), in single precision; `target` T G^{xx̃} and `gram` G^{x̃x̃}, (n, L, L)."""

    seen: np.ndarray
    target: np.ndarray
    gram: np.ndarray


def _fresh(instance: Instance, count: int, used: int, source: np.random.Generator) -> Sentences:
    length, d = instance.gamma.shape
    single = lambda array: np.asarray(array, dtype=np.float32)
    x = np.zeros((count, length, d), dtype=np.float32)
    source.standard_normal(dtype=np.float32, out=x[:used])
    x *= single(np.sqrt(instance.gamma))
    seen = x + single(instance.positions)
    u = x @ single(instance.teacher_weights / np.sqrt(d))
    T = np.moveaxis(
        matrices(instance.scenario.teacher, np.moveaxis(u, 0, -1).astype(np.float64)), -1, 0
    )
    mixed, gram = (
        np.einsum("nld,nkd->nlk", left, seen).astype(np.float64) / d for left in (x, seen)
    )
    return Sentences(seen, T @ mixed, gram)


@lru_cache(maxsize=64)
def _compiled(student: Form):
    import jax
    import jax.numpy as jnp

    def descend(weights, used, sentences, step, numbers):
        rate, ridge = step
        d = len(weights)

        def loss(z, target, gram):  # ‖y − f‖²/(2d) up to what z does not enter
            S = lifted(student)(z[:, :, None], **numbers)[..., 0]
            return 0.5 * trace(S, gram, S) - (S * target).sum()

        def one(k, Q):
            seen, target, gram = (part[k] for part in sentences)
            z = (seen @ Q.astype(jnp.float32)).astype(jnp.float64) / jnp.sqrt(d)
            moved = seen.T @ (rate / jnp.sqrt(d) * jax.grad(loss)(z, target, gram)).astype(
                jnp.float32
            )
            return (1 - rate * ridge / d) * Q - moved

        return jax.lax.fori_loop(0, used, one, weights)

    return jax.jit(descend)
