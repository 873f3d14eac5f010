"""The loss of a sample, its gradient on every path, and the test error of given overlaps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...inner.loss import Problem, loss_and_gradient, sample_loss
from ...numerics.compilation import compiled
from ...numerics.precision import in_double
from ...numerics.rules import Nodes
from ...overlaps.overlaps import WeightOverlaps
from ...scenario.attentions.attention import Form, lifted
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from ..online.averages import fields_at


class SampleLoss:
    """ℓ(u, h) = ½ Tr[(T(u) − S(h)) ρ_Σ (T(u) − S(h))ᵀ] of a scenario, and ½ Tr[S p pᵀ Sᵀ]/d at
    finite d."""

    def __init__(self, scenario: Scenario, distribution: Distribution, d: int | None) -> None:
        gram = None if d is None else distribution.gram / d
        self.numbers = (
            scenario.student.values,
            scenario.teacher.values,
            distribution.mean_gamma,
            gram,
        )
        self.rho = distribution.rho
        forms = scenario.student.form, scenario.teacher.form
        self._targets, self._on_paths, self._fresh = _compiled(*forms)

    @in_double
    def targets(self, u: np.ndarray) -> Any:
        """T(u) of every path, from u, (R, r_t, L, N)."""
        return self._targets(u, self.numbers)

    @in_double
    def on_paths(self, h: np.ndarray, targets: Any) -> tuple[np.ndarray, np.ndarray]:
        """E[ℓ], (R,), and g = −∂ℓ/∂h, (R, r_s, L, N), at h of that shape."""
        loss, g = self._on_paths(h, targets, self.numbers)
        return np.asarray(loss), np.asarray(g)

    @in_double
    def fresh(self, overlaps: WeightOverlaps, nodes: Nodes) -> np.ndarray:
        """E[ℓ(u, w)] of a fresh sample, (T, R), of overlaps with these first axes, on the nodes of
        each replicate."""
        return np.asarray(self._fresh(overlaps, self.rho, nodes, self.numbers))


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form):
    def problem(target, numbers):
        parameters, _, rho, gram = numbers
        return Problem(target, None, None, rho, parameters, gram=gram)  # type: ignore[arg-type]

    def targets(u, numbers):
        return lifted(teacher)(_samples_last(u), **numbers[1])

    def on_paths(h, target, numbers):
        value, gradient = loss_and_gradient(student, problem(target, numbers), _samples_last(h))
        replicates, _, _, paths = h.shape
        return value.reshape(replicates, paths).mean(1), -_replicates_first(gradient, h.shape)

    def fresh(overlaps, rho, nodes, numbers):
        def one(at, points, weights):
            fields = fields_at(at, rho, points, weights)
            target = lifted(teacher)(fields.u, **numbers[1])
            return sample_loss(student, problem(target, numbers), fields.w) @ weights

        return jax.lax.map(lambda at: jax.vmap(one)(at, *nodes), overlaps)

    return compiled(targets), compiled(on_paths), compiled(fresh)


def _samples_last(fields):
    """(R, r, L, N) → (L, r, R N), as losses and attentions take them."""
    replicates, rank, length, paths = fields.shape
    return jnp.transpose(fields, (2, 1, 0, 3)).reshape(length, rank, replicates * paths)


def _replicates_first(fields, shape):
    """Back again."""
    replicates, rank, length, paths = shape
    return jnp.transpose(fields.reshape(length, rank, replicates, paths), (2, 1, 0, 3))
