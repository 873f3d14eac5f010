"""The linear positional baseline as d → ∞: the best fixed mixing of positions.

f_W(x) = W x with W ∈ R^{L×L} trained by least squares on n ≫ L samples has W → E[T(u)], and

    ε_lin = (1/L) E Tr[(T(u) − W) ρ_Σ (T(u) − W)ᵀ],   u_l ~ N(0, ρ_l).

It can only learn positions: where attention does better, it has learned meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..estimate import Estimate
from ..gaussian import GaussHermite, Rule, Sobol
from ..precision import in_double
from ..results import Result
from ..scenario.attention import lifted
from ..scenario.scenario import Scenario

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
def linear_baseline(scenario: Scenario, rule: Rule | None = None) -> Baseline:
    """The test error of the linear positional baseline in the limit.

    **Arguments**: `scenario`; `rule`, of the average over u; Gauss–Hermite in up to four dimensions L r_t unless given,
    scrambled Sobol' points beyond.

    **Example**: `linear_baseline(paper(omega=0.3)).test_error` is 0.00197138.
    """
    length, r_t = scenario.length, scenario.teacher.rank
    dimension = length * r_t
    if rule is None:
        rule = GaussHermite(ORDERS[dimension]) if dimension in ORDERS else Sobol(2**17)
    points, weights = rule.nodes(dimension)
    replicates = len(points)
    eta = np.moveaxis(points, 0, 1).reshape(length, r_t, -1)
    law = scenario.law
    u = jnp.einsum("lij,ljn->lin", np.linalg.cholesky(law.rho), eta)
    T = lifted(scenario.teacher.form)(u, **scenario.teacher.values)
    T = np.asarray(T).reshape(length, length, replicates, -1)
    W = np.einsum("ijrn,rn->rij", T, weights)
    square = np.einsum("ijrn,rn,j->r", T**2, weights, law.mean_gamma)
    # E Tr[(T − W) ρ (T − W)ᵀ] = E Tr[T ρ Tᵀ] − Tr[W ρ Wᵀ] at W = E[T]; to first order W's own error does not matter.
    pooled = np.einsum("r,rij->ij", rule.pool, W)
    cross = np.einsum("ij,rij,j->r", pooled, W, law.mean_gamma)
    each = (square - 2 * cross + (pooled**2 @ law.mean_gamma).sum()) / length
    value = float(rule.pool @ each)
    return Baseline(Estimate(value, float(rule.error(each - value))), pooled)
