"""The equations of one-pass learning: how the makeup of the weights moves while every step sees a
fresh sample.

One step of size η on ℓ_μ + (λ₁/2d)‖Q‖² moves the weights by −η (Σ_l x̃_l ∂_l/√d + λ₁ Q/d). In time
t = steps/d, d → ∞,

    dF_k/dt = −η ( D_k F_k + [E∂_1 … E∂_L | Σ_l γ_kl J_l] ),   D_k = λ₁ + Σ_l γ_kl H_l,
    dΔ_k/dt = −η ( D_k Δ_k + Δ_k D_kᵀ ) + η² Σ_l γ_kl E[∂_l ∂_lᵀ],

for every kind k of direction, with the averages of `averages.py`. At fixed ηt and η → 0 it is
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
from ...numerics.rules import GaussHermite, Rule, Sobol
from ...scenario.attentions.attention import Form
from ...scenario.checks import check_plain
from ...scenario.distribution import Law
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

    `law`: of the directions, if it is not the scenario's own (that of one instance, say).
    """

    def __init__(
        self, scenario: Scenario, rule: Rule | None = None, law: Law | None = None
    ) -> None:
        check_plain("one-pass learning", scenario)
        self.scenario = scenario
        self.law = scenario.law if law is None else law
        dimension = scenario.length * sum(scenario.ranks)
        self.rule = default_rule(dimension) if rule is None else rule
        self.nodes = self.rule.nodes(dimension)
        self._numbers = (
            scenario.student.values,
            scenario.teacher.values,
            self.law.rho,
            self.law.mean_gamma,
        )
        self._functions = _compiled(scenario.student.form, scenario.teacher.form)

    @property
    def replicates(self) -> int:
        return len(self.nodes.points)

    @in_double
    def velocity(self, makeup: Decomposition, step: Step) -> Decomposition:
        """dF/dt and dΔ/dt; the first axis is over replicates."""
        moved = self._functions[0](makeup, tuple(step), self.law, self.nodes, self._numbers)
        return Decomposition(*map(np.asarray, moved))

    @in_double
    def averages(self, makeup: Decomposition) -> Averages:
        """What a fresh sample says, per replicate."""
        return Averages(
            *map(np.asarray, self._functions[1](makeup, self.law, self.nodes, self._numbers))
        )

    @in_double
    def velocities(self, makeups: Decomposition, step: Step) -> tuple[Decomposition, np.ndarray]:
        """As `velocity` at many makeups, first axis over them, on the first replicate's nodes; and
        E[ℓ] there."""
        nodes = self.nodes.points[0], self.nodes.weights[0]
        moved, loss = self._functions[2](makeups, tuple(step), self.law, nodes, self._numbers)
        return Decomposition(*map(np.asarray, moved)), np.asarray(loss)

    def repeated(self, makeup: Decomposition) -> Decomposition:
        """One makeup, for each of the replicates."""
        return Decomposition(
            *(np.repeat(np.asarray(part)[None], self.replicates, axis=0) for part in makeup)
        )


def default_rule(dimension: int) -> Rule:
    """Gauss–Hermite where 8 nodes per dimension are affordable (the integrands are smooth), else
    scrambled Sobol'."""
    order = int(MOST_NODES ** (1 / dimension) + 1e-9)
    return GaussHermite(min(order, 40)) if order >= 8 else Sobol(2 * MOST_NODES)


def drift(
    makeup: Decomposition, at: Averages, law: Law, rate: Any, ridge: Any, scatter: Any
) -> Decomposition:
    """The equations themselves, for one replicate."""
    gamma = law.gamma[:, :, None, None]
    D = ridge * jnp.eye(at.curvature.shape[-1]) + (gamma * at.curvature).sum(1)
    pull = jnp.concatenate(
        [jnp.broadcast_to(at.slope.T, (len(D), *at.slope.T.shape)), (gamma * at.coupling).sum(1)], 2
    )
    decay = D @ makeup.noise
    noise = -rate * (decay + decay.swapaxes(1, 2)) + scatter * rate**2 * (gamma * at.scatter).sum(1)
    return Decomposition(-rate * (D @ makeup.shares + pull), noise)


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form):
    def average(makeup, law: Law, points, weights, numbers):
        *parameters, rho, rho_sigma = numbers
        fields = fields_at(overlaps_of(makeup, law), rho, points, weights)
        return averages(student, teacher, parameters, rho_sigma, fields)

    def velocity(makeup, step, law: Law, points, weights, numbers):
        return drift(makeup, average(makeup, law, points, weights, numbers), law, *step)

    over = lambda function, fixed: jax.vmap(function, in_axes=(0, *[None] * fixed, 0, 0, None))
    move = lambda makeup, step, law, nodes, numbers: over(velocity, 2)(
        makeup, step, law, *nodes, numbers
    )
    see = lambda makeup, law, nodes, numbers: over(average, 1)(makeup, law, *nodes, numbers)

    def many(makeups, step, law, nodes, numbers):
        def one(makeup):
            at = average(makeup, law, nodes[0], nodes[1], numbers)
            return drift(makeup, at, law, *step), at.loss

        return jax.lax.map(one, makeups)

    return compiled(move), compiled(see), compiled(many)
