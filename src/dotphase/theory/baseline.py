"""The linear positional baseline as d → ∞: the best fixed mixing of positions.

f_W(x) = W x with W ∈ R^{L×L} trained by least squares on n ≫ L samples has, G = x xᵀ/d → ρ_Σ being
what the tokens of a sentence have in common, W → E[T G] E[G]⁻¹, and

    ε_lin = (1/L) E Tr[(T(u) − W) G (T(u) − W)ᵀ],   u_l ~ N(0, ρ_l).

Without random scales G = ρ_Σ and W = E[T]; with them G = diag(s) ρ_Σ diag(s). The fields u of
correlated tokens are correlated. It can only learn positions: where attention does better, it has
learned meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inner.loss import applied, scaled
from ..numerics.precision import in_double
from ..numerics.rules import GaussHermite, Rule, Sobol, pooled
from ..overlaps.correlated import grouped
from ..results.estimate import Estimate
from ..results.result import Result
from ..scenario.arguments import checked
from ..scenario.attentions.attention import lifted
from ..scenario.scenario import Scenario
from .state_evolution.nodes import nodes_with_scales

ORDERS = {1: 100, 2: 60, 3: 40, 4: 24}  # of Gauss–Hermite, by dimension: the integrand is smooth


@dataclass(frozen=True, repr=False, eq=False)
class Baseline(Result):
    """`test_error`: ε_lin ± error; `weights`: W, (L, L)."""

    test_error: Estimate
    weights: np.ndarray

    @property
    def headline(self) -> str:
        return f"linear positional baseline: ε_lin = {self.test_error}"

    def arrays(self) -> dict[str, Any]:
        return {"weights": (("token", "token_"), self.weights)}


@in_double
@checked
def linear_baseline(scenario: Scenario, *, rule: Rule | None = None) -> Baseline:
    """The test error of the linear positional baseline in the limit.

    **Arguments**: `scenario`; `rule`, of the average over u; Gauss–Hermite in up to four dimensions
    L r_t unless given, scrambled Sobol' points beyond.

    **Returns**: `Baseline`: `test_error`, ε_lin, and `weights`, the matrix W.

    **Example**: `linear_baseline(paper(omega=0.3)).test_error` is 0.00197138.
    """
    length, r_t = scenario.length, scenario.teacher.rank
    dimension = length * r_t
    if rule is None:
        rule = GaussHermite(ORDERS[dimension]) if dimension in ORDERS else Sobol(2**17)
    points, weights, scale = nodes_with_scales(rule, dimension, length, scenario.tokens.scales)
    replicates, distribution = len(points), scenario.distribution
    eta = np.moveaxis(points, 0, 1).reshape(length, r_t, -1)
    s = None if scale is None else np.moveaxis(scale, 0, 1).reshape(length, -1)
    u = scaled(applied(np.linalg.cholesky(grouped(distribution.joint_rho)), eta), s)
    T = lifted(scenario.teacher.form)(u, **scenario.teacher.values)
    T = np.asarray(T).reshape(length, length, replicates, -1)
    if scale is None and distribution.Gamma is None:
        return _of_means(rule, T, weights, distribution.mean_gamma)
    G = _gram(distribution.mean_Gamma, scale, replicates)
    TG = np.einsum("ijrn,jkrn->ikrn", T, G)
    mean = lambda each: np.einsum("ijrn,rn->rij", np.broadcast_to(each, T.shape), weights)
    over = lambda each: np.einsum("r,rij->ij", rule.pool, each)
    W = np.linalg.solve(over(mean(G)), over(mean(TG)).T).T
    # Of every replicate its error at the pooled W, of which W's own error is none to first order: W
    # is the best.
    square = np.einsum("ijrn,ijrn,rn->r", T, TG, weights)
    each = (
        square - 2 * np.einsum("ij,rij->r", W, mean(TG)) + np.einsum("ij,rjk,ik->r", W, mean(G), W)
    )
    return Baseline(pooled(rule, each / length), W)


def _gram(rho: np.ndarray, scale: np.ndarray | None, replicates: int) -> np.ndarray:
    """G at every node, (L, L, R, n), or (L, L, R, 1) where it is always the same."""
    if scale is None:
        return np.broadcast_to(rho[:, :, None, None], (*rho.shape, replicates, 1))
    return rho[:, :, None, None] * np.einsum("rln,rkn->lkrn", scale, scale)


def _of_means(rule: Rule, T: np.ndarray, weights: np.ndarray, rho: np.ndarray) -> Baseline:
    """The baseline where G is diagonal and always the same."""
    W = np.einsum("ijrn,rn->rij", T, weights)
    square = np.einsum("ijrn,rn,j->r", T**2, weights, rho)
    # E Tr[(T − W) ρ (T − W)ᵀ] = E Tr[T ρ Tᵀ] − Tr[W ρ Wᵀ] at W = E[T]; to first order W's own error
    # does not matter.
    best = np.einsum("r,rij->ij", rule.pool, W)
    cross = np.einsum("ij,rij,j->r", best, W, rho)
    each = (square - 2 * cross + (best**2 @ rho).sum()) / len(rho)
    return Baseline(pooled(rule, each), best)
