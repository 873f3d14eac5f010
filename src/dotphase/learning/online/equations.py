"""The equations of one-pass learning: how the decomposition of the weights moves while every step sees a
fresh sample.

One step of size η on ℓ_μ + (λ₁/2d)‖Q‖² moves the weights by −η (Σ_l x̃_l ∂_l/√d + λ₁ Q/d). In time
t = steps/d, d → ∞,

    dF_k/dt = −η ( D_k F_k + [E∂_1 … E∂_L | Σ_l γ_kl J_l] ),   D_k = λ₁ + Σ_l γ_kl H_l,
    dΔ_k/dt = −η ( D_k Δ_k + Δ_k D_kᵀ ) + η² Σ_l γ_kl E[∂_l ∂_lᵀ],

for every group k of directions, with the averages of `averages.py`. At fixed ηt and η → 0 it is
gradient flow on the population loss E[ℓ] + (λ₁/2)⟨Q²⟩. For isotropic tokens these are the equations
of m, θ and q: the term H F of the encodings' columns is what the overlap of p_l with the sample
itself gives (ζ), the η² term what its length does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...numerics.compilation import compiled
from ...numerics.precision import in_double
from ...numerics.rules import Rule, for_smooth
from ...scenario.attentions.attention import Form
from ...scenario.checks import check_plain
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from .averages import Averages, averages, fields_at
from .decomposition import Decomposition, overlaps_of

MOST_NODES = 2**13


class Step(NamedTuple):
    """How one learns: `rate` η, `ridge` λ₁ (of a sample's loss plus (λ₁/2d)‖Q‖²); `scatter`
    multiplies the η² term: one, or zero for gradient flow on the population loss."""

    rate: float
    ridge: float
    scatter: float = 1.0


class Equations:
    """The right-hand side for one scenario, on all replicates of a Gaussian rule at once.

    `distribution`: of the directions, if it is not the scenario's own (that of one instance, say).
    """

    def __init__(
        self, scenario: Scenario, rule: Rule | None = None, distribution: Distribution | None = None
    ) -> None:
        check_plain("one-pass learning", scenario)
        self.scenario = scenario
        self.distribution = scenario.distribution if distribution is None else distribution
        dimension = scenario.length * sum(scenario.ranks)
        self.rule = for_smooth(dimension, MOST_NODES, 8) if rule is None else rule
        self.nodes = self.rule.nodes(dimension)
        self._numbers = (
            scenario.student.values,
            scenario.teacher.values,
            self.distribution.rho,
            self.distribution.mean_gamma,
        )
        self._functions = _compiled(scenario.student.form, scenario.teacher.form)

    @property
    def replicates(self) -> int:
        return len(self.nodes.points)

    @in_double
    def velocity(self, decomposition: Decomposition, step: Step) -> Decomposition:
        """dF/dt and dΔ/dt; the first axis is over replicates."""
        moved = self._functions[0](
            decomposition, tuple(step), self.distribution, self.nodes, self._numbers
        )
        return Decomposition(*map(np.asarray, moved))

    @in_double
    def averages(self, decomposition: Decomposition) -> Averages:
        """What a fresh sample says, per replicate."""
        return Averages(
            *map(
                np.asarray,
                self._functions[1](decomposition, self.distribution, self.nodes, self._numbers),
            )
        )

    @in_double
    def velocities(
        self, decompositions: Decomposition, step: Step
    ) -> tuple[Decomposition, np.ndarray]:
        """As `velocity` at many decompositions, first axis over them, on the first replicate's nodes; and
        E[ℓ] there."""
        nodes = self.nodes.points[0], self.nodes.weights[0]
        moved, loss = self._functions[2](
            decompositions, tuple(step), self.distribution, nodes, self._numbers
        )
        return Decomposition(*map(np.asarray, moved)), np.asarray(loss)

    def repeated(self, decomposition: Decomposition) -> Decomposition:
        """One decomposition, for each of the replicates."""
        return Decomposition(
            *(np.repeat(np.asarray(part)[None], self.replicates, axis=0) for part in decomposition)
        )


def drift(
    decomposition: Decomposition,
    at: Averages,
    distribution: Distribution,
    rate: Any,
    ridge: Any,
    scatter: Any,
) -> Decomposition:
    """The equations themselves, for one replicate."""
    gamma = distribution.gamma[:, :, None, None]
    D = ridge * jnp.eye(at.curvature.shape[-1]) + (gamma * at.curvature).sum(1)
    pull = jnp.concatenate(
        [jnp.broadcast_to(at.slope.T, (len(D), *at.slope.T.shape)), (gamma * at.coupling).sum(1)], 2
    )
    decay = D @ decomposition.noise
    noise = -rate * (decay + decay.swapaxes(1, 2)) + scatter * rate**2 * (gamma * at.scatter).sum(1)
    return Decomposition(-rate * (D @ decomposition.shares + pull), noise)


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form):
    def average(decomposition, distribution: Distribution, points, weights, numbers):
        *parameters, rho, rho_sigma = numbers
        fields = fields_at(overlaps_of(decomposition, distribution), rho, points, weights)
        return averages(student, teacher, parameters, rho_sigma, fields)

    def velocity(decomposition, step, distribution: Distribution, points, weights, numbers):
        return drift(
            decomposition,
            average(decomposition, distribution, points, weights, numbers),
            distribution,
            *step,
        )

    over = lambda function, fixed: jax.vmap(function, in_axes=(0, *[None] * fixed, 0, 0, None))
    move = lambda decomposition, step, distribution, nodes, numbers: over(velocity, 2)(
        decomposition, step, distribution, *nodes, numbers
    )
    see = lambda decomposition, distribution, nodes, numbers: over(average, 1)(
        decomposition, distribution, *nodes, numbers
    )

    def many(decompositions, step, distribution, nodes, numbers):
        def one(decomposition):
            at = average(decomposition, distribution, nodes[0], nodes[1], numbers)
            return drift(decomposition, at, distribution, *step), at.loss

        return jax.lax.map(one, decompositions)

    return compiled(move), compiled(see), compiled(many)
