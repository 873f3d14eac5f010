"""Bayes-optimal message passing at finite d: the algorithm that reaches the Bayes-optimal limit,
where one does.

    w_l^μ = x_l^μ Q̂/√d − V_l g_l^μ(old),   g_l = V_l⁻¹ (E[u_l | w, T(u)] − w_l),   V̂_l = −Σ_μ ∂g_l^μ/∂w_l^μ / d
    B = Σ_μl x_l^μᵀ g_l^μ/√d + Σ_l Σ_l Q̂ V̂_l,   R_i = (1 + Σ_l γ_li V̂_l)⁻¹,   Q̂_i = R_i B_i,   V_l = Σ_i γ_li R_i/d

It knows the model, the encodings and the distribution of Q*, and sees of a sample x and T(u). (In the code
T(u) is represented by the fields u; the posterior on their fibre does not depend on which of its
points was given.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..finite.checks import as_seeds
from ..finite.data.instance import Instance
from ..finite.data.sampling import sample
from ..finite.message_passing.response import Coupling
from ..finite.overlaps import overlaps
from ..numerics.matrix_root import symmetric_root
from ..numerics.progress import Progress, track
from ..numerics.rules import Rule, Sobol, pooled
from ..overlaps.overlaps import WeightOverlaps
from ..results.estimate import Estimate
from ..results.result import GOOD, Result
from ..results.statistics import over_seeds
from ..scenario.arguments import checked
from ..scenario.attentions.attention import Form
from ..scenario.scenario import Scenario
from .channel import PERFECT, signs_of

OUTCOMES = {
    "converged": "a fixed point of message passing",
    "perfect": "the teacher is known completely, up to signs that do not matter",
    "stuck": "converged to weights that do not explain the data",
    "stopped": "the iterations did not suffice",
    "diverged": "the messages are not finite",
}


class State(NamedTuple):
    """`weights` Q̂, (d, r_t); `variance` V_l, (L, r_t, r_t); `slopes` g, (L, r_t, n), for the
    Onsager term."""

    weights: np.ndarray
    variance: np.ndarray
    slopes: np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class BayesRun(Result):
    """One seed: `overlap` Q̂ᵀΣ_lQ*/d and `q` Q̂ᵀΣ_lQ̂/d averaged over tokens (traces, the former
    without its sign), `left` Tr V/Tr ρ, `test_error` of the posterior mean of the attention,
    `teacher_excess` as in training."""

    seed: int
    outcome: str
    iterations: int
    overlap: float
    q: float
    left: float
    test_error: Estimate
    teacher_excess: float

    @property
    def headline(self) -> str:
        return f"seed {self.seed}: {self.outcome}, test error {self.test_error}"


@dataclass(frozen=True, repr=False, eq=False)
class BayesRuns(Result):
    """The answers of several seeds and their averages, at a teacher of the expected length
    (`Runs.adjusted`)."""

    scenario: Scenario
    dimension: int
    runs: tuple[BayesRun, ...]
    seconds: float = field(compare=False)

    row = "run"

    @property
    def headline(self) -> str:
        outcomes = ", ".join(f"{count} {name}" for name, count in self.outcomes.items())
        values = f"test error {self.test_error}; q = {self.q}; overlap = {self.overlap}"
        return f"Bayes-optimal message passing, d = {self.dimension}, {outcomes}: {values}"

    def rows(self) -> list[dict[str, Any]]:
        return [row for run in self.runs for row in run.rows()]

    @property
    def outcomes(self) -> dict[str, int]:
        return dict(Counter(run.outcome for run in self.runs))

    @property
    def caveats(self) -> tuple[str, ...]:
        wrong = {name: n for name, n in self.outcomes.items() if name not in GOOD}
        return tuple(
            f"{n} of {len(self.runs)} seeds: {OUTCOMES[name]}" for name, n in wrong.items()
        )

    @property
    def test_error(self) -> Estimate:
        return self._mean([float(run.test_error) for run in self.runs])

    @property
    def q(self) -> Estimate:
        return self._mean([run.q for run in self.runs])

    @property
    def overlap(self) -> Estimate:
        return self._mean([run.overlap for run in self.runs])

    def _mean(self, values: list[float]) -> Estimate:
        return over_seeds(values, control=[run.teacher_excess for run in self.runs])

    def to_dict(self) -> dict[str, Any]:
        head = {"d": self.dimension, "seeds": len(self.runs), "outcome": self.outcomes}
        values = {name: getattr(self, name).to_dict() for name in ("test_error", "q", "overlap")}
        return head | values | {"seconds": round(self.seconds, 4)}

    def __str__(self) -> str:
        return self.headline


@checked
def bayes_message_passing(
    scenario: Scenario,
    d: int,
    seeds: int | Iterable[int] = 8,
    *,
    iterations: int = 500,
    tolerance: float = 1e-6,
    damping: float = 0.3,
    hint: float = 1e-2,
    rule: Rule | None = None,
    progress: Progress = None,
) -> BayesRuns:
    """Bayes-optimal message passing from weights that know nothing, Q̂_i ~ `hint` · N(0, 1), for
    each seed.

    **Arguments**

    - `iterations`: the most that are made; `tolerance`: on the relative change of Q̂ in one of
      them.
    - `damping`: the share of the old state kept. Undamped, one seed in three oscillates at d =
      1000, α = 0.4.
    - `rule`: of the average that is the test error.

    **Returns**: `BayesRuns`, one per seed.
    """
    begin, signs = perf_counter(), signs_of(scenario)
    runs = []
    for seed in track(as_seeds(seeds), f"Bayes-optimal message passing, d = {d}", progress):
        messages = BayesMessages(Instance(scenario, d, seed), signs, damping)
        runs.append(_one(messages, messages.first(hint), iterations, tolerance, rule))
    return BayesRuns(scenario, d, tuple(runs), perf_counter() - begin)


class BayesMessages:
    """The iteration for one instance's sample."""

    def __init__(self, instance: Instance, signs: np.ndarray, damping: float = 0.0) -> None:
        self.instance, self.signs, self.damping = instance, signs, damping
        # Rounded to single precision: half the memory to pass over, and the noise of rounding is
        # that of no sample.
        drawn, encodings = sample(instance), instance.positions[:, None]
        self.tokens = drawn.tokens.astype(np.float32) - encodings.astype(np.float32)
        self.coupling = Coupling(drawn)
        self.u = self.fields(instance.teacher_weights)

    def fields(self, weights: np.ndarray) -> np.ndarray:
        """x_l Q/√d, (L, r, n)."""
        fields = self.tokens @ weights.astype(np.float32)
        return np.swapaxes(fields, 1, 2).astype(np.float64) / np.sqrt(self.instance.dimension)

    def first(self, hint: float) -> State:
        drawn = self.instance.random("start").standard_normal(self.instance.teacher_weights.shape)
        return State(hint * drawn, self.instance.scenario.distribution.rho, np.zeros_like(self.u))

    def step(self, state: State) -> State:
        import jax

        d = self.instance.dimension
        w = self.fields(state.weights) - np.einsum("lab,lbn->lan", state.variance, state.slopes)
        with jax.enable_x64(True):
            slopes, response = map(
                np.asarray, _compiled()(self.u, w, np.linalg.inv(state.variance), self.signs)
            )
        V_hat = response / d
        pulled = sum(x.T @ g.T.astype(np.float32) for x, g in zip(self.tokens, slopes, strict=True))
        B = pulled / np.sqrt(d) + self.coupling.own(state.weights, V_hat)
        R = np.linalg.inv(self.coupling.precision(1.0, V_hat))
        new = State(np.einsum("iab,ib->ia", R, B), self.coupling.response(R), slopes)
        return State(
            *(new + self.damping * (old - new) for new, old in zip(new, state, strict=True))
        )

    def unexplained(self, state: State) -> float:
        """How far the fields x Q̂/√d are from the nearest point of their fibre, relative to the
        fields."""
        gap = self.signs[..., None] * self.u - self.fields(state.weights)
        return float(np.sqrt((gap**2).sum((1, 2)).min(0).mean() / (self.u**2).sum((0, 1)).mean()))


def _one(
    messages: BayesMessages, state: State, iterations: int, tolerance: float, rule: Rule | None
) -> BayesRun:
    instance, before, outcome, count = messages.instance, state, "stopped", 0
    while outcome == "stopped" and count < iterations:
        count += 1
        before, state = state, messages.step(state)
        outcome = _outcome(messages, before, state, tolerance)
    known = before if outcome == "diverged" else state
    reached = overlaps(instance, known.weights)
    trace = lambda parts: float(np.trace(parts, axis1=1, axis2=2).mean())
    left = trace(known.variance) / trace(instance.scenario.distribution.rho)
    error = posterior_mean_error(instance, reached, known.variance, rule)
    found = abs(trace(reached.theta)), trace(reached.q), left, error, instance.teacher_excess
    return BayesRun(instance.seed, outcome, count, *found)


def _outcome(messages: BayesMessages, before: State, state: State, tolerance: float) -> str:
    instance = messages.instance
    if not np.isfinite(state.weights).all():
        return "diverged"
    if np.trace(state.variance.sum(0)) < PERFECT * np.trace(
        instance.scenario.distribution.rho.sum(0)
    ):
        return "perfect" if messages.unexplained(state) < 1e-3 else "stuck"
    moved = np.linalg.norm(state.weights - before.weights)
    # Weights that vanish have arrived as well: nothing can be known.
    arrived = moved < tolerance * max(
        np.linalg.norm(state.weights), tolerance * np.sqrt(instance.dimension)
    )
    return "converged" if arrived else "stopped"


def posterior_mean_error(
    instance: Instance, known: WeightOverlaps, variance: np.ndarray, rule: Rule | None = None
) -> Estimate:
    """(1/L) E Tr[(T(u) − T̄(w)) ρ_Σ (T(u) − T̄(w))ᵀ], T̄(w) = E[T(w + V^{1/2}η)], of what has been
    inferred.

    u and w are jointly normal with the overlaps of this very Q̂ and Q*, which need not be those of
    an ideal posterior; the square of T̄ is an average over two independent draws η, η'.
    """
    import jax

    scenario, rule = instance.scenario, Sobol(2**16) if rule is None else rule
    length, r_t = scenario.length, scenario.teacher.rank
    points, shares = rule.nodes(4 * length * r_t)
    rho, numbers = overlaps(instance, instance.teacher_weights).q, scenario.teacher.values
    with jax.enable_x64(True):
        average = _error(scenario.teacher.form)
        given = (known.q, known.theta, rho, variance, scenario.distribution.mean_gamma, numbers)
        each = (
            np.array([float(average(p, s, *given)) for p, s in zip(points, shares, strict=True)])
            / length
        )
    return pooled(rule, each)


@lru_cache(maxsize=1)
def _compiled():
    import jax
    import jax.numpy as jnp

    from .channel import posterior

    def slopes(u, w, precision, signs):
        found = posterior(u, w, precision, signs)
        total = found.covariance.sum(-1)
        response = u.shape[-1] * precision - precision @ total @ precision
        return jnp.einsum("lab,lbn->lan", precision, found.mean - w), 0.5 * (
            response + response.swapaxes(1, 2)
        )

    return jax.jit(slopes)


@lru_cache(maxsize=64)
def _error(teacher: Form):
    import jax
    import jax.numpy as jnp

    from ..scenario.attentions.attention import lifted

    def average(points, shares, q, theta, rho, variance, rho_sigma, numbers):
        length, r_t, _ = rho.shape
        xi, eta, one, two = points.reshape(4, length, r_t, -1)
        root = lambda A: symmetric_root(0.5 * (A + A.swapaxes(1, 2)), jnp)
        C = root(q)
        along = jnp.linalg.pinv(C, rcond=1e-12) @ theta
        u = along.swapaxes(1, 2) @ xi + root(rho - along.swapaxes(1, 2) @ along) @ eta
        answer = lambda fields: lifted(teacher)(fields, **numbers)
        T, first, second = (
            answer(u),
            answer(C @ xi + root(variance) @ one),
            answer(C @ xi + root(variance) @ two),
        )
        per_node = ((T - first) * (T - second) * rho_sigma[:, None]).sum((0, 1))
        return (per_node * shares).sum()

    return jax.jit(average)
