"""The Bayes-optimal limit: what any method could know of the teacher from αd samples, as d → ∞.

Whoever knows the model and the distribution of Q* ~ N(0, I) sees the matrices T(u) (`bayes/channel.py`). By
Nishimori's identity one overlap per token is enough, q_l = Q̂ᵀΣ_lQ̂/d = Q̂ᵀΣ_lQ*/d of the posterior
mean Q̂; with V_l = ρ_l − q_l

    w_l ~ N(0, q_l),   u_l = w_l + V_l^{1/2} η_l,   g_l = V_l⁻¹ (E[u_l | w, T(u)] − w_l),   q̂_l = α E[g_l g_lᵀ],
    V_l = ⟨γ_l (1 + B)⁻¹⟩,   B = Σ_κ γ_κ q̂_κ,

and the best guess of the attention is its posterior mean, whose error is half of that between two
draws u, u' of the posterior: ε = (1/2L) E Tr[(T(u) − T(u')) ρ_Σ (T(u) − T(u'))ᵀ].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..inner.loss import mismatch
from ..numerics.compilation import compiled
from ..numerics.matrix_root import symmetric_root
from ..numerics.precision import in_double
from ..numerics.progress import Progress, counting
from ..numerics.rules import GaussHermite, Rule, Sobol, pooled
from ..results.estimate import Estimate
from ..results.json import plain
from ..results.result import Result
from ..scenario.arguments import checked
from ..scenario.attentions.attention import Form, lifted
from ..scenario.distribution import Distribution
from ..scenario.scenario import Scenario
from .channel import PERFECT, posterior, signs_of

OUTCOMES = {
    "converged": "a fixed point of state evolution",
    "perfect": "the teacher is known completely, up to signs that do not matter",
    "stalled": "the iterations did not suffice",
}
STARTS = {"uninformed": 1 - 1e-3, "informed": 1e-3}  # V/ρ at the start


@dataclass(frozen=True, repr=False, eq=False)
class BayesSolution(Result):
    """The Bayes-optimal limit at one scenario.

    - `q`: the overlap of the posterior mean with the teacher, per token, (L, r_t, r_t), and `V` = ρ
      − q.
    - `test_error`: of the posterior mean of the attention; values ± standard errors over replicates
      of the nodes.
    - `start`: "uninformed" (what message passing reaches without a hint) or "informed".
    - `outcome`: a word of `OUTCOMES`; `reason`: why, when there is no answer.
    """

    scenario: Scenario
    start: str
    outcome: str
    reason: str
    q: Estimate
    V: Estimate
    test_error: Estimate
    iterations: int
    seconds: float = field(compare=False)

    @property
    def headline(self) -> str:
        q = np.mean([np.trace(each) for each in self.q.value])
        return f"Bayes-optimal, {self.start} start: {self.outcome}; test error {self.test_error}; q = {q:.5g}"

    def rows(self) -> list[dict[str, Any]]:
        names = ("start", "outcome", "reason", "test_error", "iterations")
        return [{name: getattr(self, name) for name in names}]

    def arrays(self) -> dict[str, Any]:
        axes = ("token", "row", "column")
        return {"q": (axes, self.q.value), "V": (axes, self.V.value)}

    def to_dict(self) -> dict[str, Any]:
        names = ("start", "outcome", "reason", "q", "V", "test_error", "iterations")
        return {name: plain(getattr(self, name)) for name in names} | {
            "seconds": round(self.seconds, 4)
        }

    def __str__(self) -> str:
        return self.headline


@in_double
@checked
def bayes(
    scenario: Scenario,
    start: str = "uninformed",
    rule: Rule | None = None,
    *,
    iterations: int = 2000,
    tolerance: float = 1e-7,
    progress: Progress = None,
) -> BayesSolution:
    """Iterate state evolution of Bayes-optimal inference to its fixed point.

    **Arguments**

    - `start`: "uninformed" (nothing known but a trace) or "informed" (nearly everything known).
    - `rule`: of the Gaussian averages; 2^15 scrambled Sobol' points unless given.
    - `iterations`: the most that are made; `tolerance`: on the relative change of V in one of them.
    - `progress`: True for a bar, or a function called with the number of iterations so far and
      None.

    **Returns**: a `BayesSolution`: the test error, overlaps and outcome.

    **Example**: `bayes(paper(alpha=0.3)).test_error`; below α = 1/6 it is the linear baseline's.
    """
    if start not in STARTS:
        raise ValueError(f"start: expected {' or '.join(STARTS)}, got {start!r}")
    begin, problem = perf_counter(), BayesProblem(scenario, rule)
    V, count, outcome = problem.first(STARTS[start]), 0, "stalled"
    with counting(progress, f"Bayes-optimal limit, {start} start") as tried:
        while outcome == "stalled" and count < iterations:
            previous, V, count = V, problem.step(V), count + 1
            if problem.left(V).max() < PERFECT:
                outcome = "perfect"
            elif problem.change(V, previous) < tolerance:
                outcome = "converged"
            tried()
    reason = "" if outcome != "stalled" else f"still moving after {iterations} iterations"
    q, left = pooled(problem.rule, scenario.distribution.rho - V), pooled(problem.rule, V)
    ending = (problem.test_error(V), count, perf_counter() - begin)
    return BayesSolution(scenario, start, outcome, reason, q, left, *ending)


class BayesProblem:
    """State evolution of one scenario on all replicates of a rule at once; V is (R, L, r_t, r_t)."""

    def __init__(self, scenario: Scenario, rule: Rule | None = None) -> None:
        self.scenario, self.signs = scenario, signs_of(scenario)
        self.rule = Sobol(2**15) if rule is None else rule
        unknown = scenario.length * scenario.teacher.rank
        self.nodes, self.pairs = self.rule.nodes(2 * unknown), self.rule.nodes(3 * unknown)
        self._step, self._error = _compiled(scenario.teacher.form)

    def first(self, left: float) -> np.ndarray:
        """V = `left` · ρ, for each replicate."""
        return np.repeat(
            left * self.scenario.distribution.rho[None], len(self.nodes.points), axis=0
        )

    def step(self, V: np.ndarray) -> np.ndarray:
        distribution = self.scenario.distribution
        return np.asarray(
            self._step(
                V,
                distribution,
                distribution.rho,
                self.scenario.sample_ratio,
                self.signs,
                self.nodes,
            )
        )

    def test_error(self, V: np.ndarray) -> Estimate:
        distribution, values = self.scenario.distribution, self.scenario.teacher.values
        each = np.asarray(
            self._error(V, distribution.rho, distribution.mean_gamma, values, self.pairs)
        )
        return pooled(self.rule, each / self.scenario.length)

    def left(self, V: np.ndarray) -> np.ndarray:
        """Tr V/Tr ρ per replicate: the share of the teacher that is not known."""
        return np.trace(V.sum(1), axis1=1, axis2=2) / np.trace(
            self.scenario.distribution.rho.sum(0)
        )

    def change(self, V: np.ndarray, previous: np.ndarray) -> float:
        return float((np.abs(V - previous).max((1, 2, 3)) / np.abs(previous).max((1, 2, 3))).max())


class Threshold(NamedTuple):
    """`sample_ratio`: α at which the uninformed point becomes unstable, ± the error of the average;
    `closed_form`: 1/(L(L + 1)), for one common sign and tokens alike."""

    sample_ratio: Estimate
    closed_form: float

    def to_dict(self) -> dict[str, Any]:
        return {"sample_ratio": self.sample_ratio.to_dict(), "closed_form": self.closed_form}


@checked
def weak_recovery(scenario: Scenario) -> Threshold:
    """α at which something can be known of the teacher at all: where q = 0 becomes unstable.

    Around q = 0 the posterior mean is C(u) ρ⁻¹ w, C(u) = mean_s (s∘u)(s∘u)ᵀ, so with A_lk = ρ_l⁻¹
    (C_lk ρ_k⁻¹ − δ_lk)

        q̂_l = α Σ_k E[A_lk q_k A_lkᵀ],   q_l = Σ_κ ⟨γ_l γ_κ⟩ q̂_κ,

    a linear map times α: the threshold is one over its spectral radius. The average is of degree
    four in u. For up to eight fields Gauss–Hermite nodes are exact and the error is that of
    rounding; for more fields it is a quasi-Monte Carlo average with the error of that. The
    threshold is zero if the mean of the signs is not zero.

    **Returns**: a `Threshold`.
    """
    signs, distribution = signs_of(scenario), scenario.distribution
    length, r_t = scenario.length, scenario.teacher.rank
    closed = 1 / (length * (length + 1))
    if np.abs(signs.mean(0)).max() > 0:
        return Threshold(Estimate(0.0), closed)
    exact = length * r_t <= 8
    rule = GaussHermite(4) if exact else Sobol(2**18)
    points, weights = rule.nodes(length * r_t)
    if exact:  # its other replicates are of lower orders, which are not
        points, weights = points[:1], weights[:1]
    maps = [_growth(distribution, signs, *each) for each in zip(points, weights, strict=True)]
    threshold = lambda growth: 1 / np.abs(np.linalg.eigvals(growth)).max()
    found = threshold(np.mean(maps, axis=0))
    error = 1e-13 * found if exact else rule.error(np.array([threshold(m) for m in maps]) - found)
    return Threshold(Estimate(found, error), closed)


def _growth(
    distribution: Distribution, signs: np.ndarray, points: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The linear map from q to q of the next step at α = 1, averaged over one set of nodes."""
    length, r_t = distribution.rho.shape[:2]
    eta = np.moveaxis(points, -1, 0).reshape(-1, length, r_t)
    u = np.einsum("lab,nlb->nla", np.linalg.cholesky(distribution.rho), eta)
    images = signs[:, None] * u  # (G, N, L, r_t)
    inverse = np.linalg.inv(distribution.rho)
    C = np.einsum("gnla,gnkb->nlakb", images, images, optimize=True) / len(signs)
    unit = np.einsum("lk,ab->lakb", np.eye(length), np.eye(r_t))
    A = np.einsum("lac,nlckb->nlakb", inverse, np.einsum("nlakc,kcb->nlakb", C, inverse) - unit)
    hat = np.einsum("n,nlakc,nlbkd->labkcd", weights, A, A, optimize=True)
    back = np.einsum("k,kl,kj->lj", distribution.weight, distribution.gamma, distribution.gamma)
    size = length * r_t**2
    return np.einsum("jl,labkcd->jabkcd", back, hat).reshape(size, size)


@lru_cache(maxsize=64)
def _compiled(teacher: Form):
    def step(V, distribution: Distribution, rho, alpha, signs, points, weights):
        length, r_t, _ = rho.shape
        eta, xi = points.reshape(2, length, r_t, -1)
        w = symmetric_root(rho - V, jnp) @ xi
        u = w + jnp.linalg.cholesky(V) @ eta
        precision = jnp.linalg.inv(V)
        g = precision @ (posterior(u, w, precision, signs).mean - w)
        q_hat = alpha * jnp.einsum("lan,lbn,n->lab", g, g, weights)
        B = (distribution.gamma[:, :, None, None] * q_hat).sum(1)
        left = jnp.linalg.inv(jnp.eye(r_t) + B)
        return jnp.einsum("k,kl,kab->lab", distribution.weight, distribution.gamma, left)

    def error(V, rho, rho_sigma, numbers, points, weights):
        length, r_t, _ = rho.shape
        eta, other, xi = points.reshape(3, length, r_t, -1)
        w, spread = symmetric_root(rho - V, jnp) @ xi, jnp.linalg.cholesky(V)
        one, two = (lifted(teacher)(w + spread @ each, **numbers) for each in (eta, other))
        return (mismatch(one, two, rho_sigma) * weights).sum()

    over = lambda function, fixed: jax.vmap(function, in_axes=(0, *[None] * fixed, 0, 0))
    move = lambda V, distribution, rho, alpha, signs, nodes: over(step, 4)(
        V, distribution, rho, alpha, signs, *nodes
    )
    see = lambda V, rho, rho_sigma, numbers, nodes: over(error, 3)(
        V, rho, rho_sigma, numbers, *nodes
    )
    return compiled(move), compiled(see)
