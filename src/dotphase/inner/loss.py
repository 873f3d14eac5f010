"""The loss of one sample as a function of its fields, and the energy whose minimum is the prox.

    ℓ(u, z) = ½ Tr[(T(u) − S(z)) ρ_Σ (T(u) − S(z))ᵀ]
    E(z) = ½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l) + ℓ(u, z)

Everything here takes all samples at once, on the last axis: z, w are (L, r_s, N), the target T(u)
is (L, L, N).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg

from ..scenario.attentions.attention import Form, lifted


class Problem(NamedTuple):
    """One inner problem per sample.

    - `target`: T(u), (L, L, N);  `centre`: w, (L, r_s, N).
    - `precision`: V⁻¹ per token, (L, r_s, r_s), the same for all samples; for correlated
      tokens V⁻¹ of all fields together, (1, D, D).
    - `rho`: the diagonal of ρ_Σ, (L,), or all of it, (L, L).
    - `parameters`: the numbers of the student.
    - `scale`: s, (L, N), where tokens have random scales: then V → diag(s) V diag(s) and ρ_Σ →
      diag(s) ρ_Σ diag(s).
    - `gram`: p_l·p_l'/d, (L, L), at finite d.
    """

    target: jax.Array
    centre: jax.Array
    precision: jax.Array
    rho: jax.Array
    parameters: dict
    scale: Any = None
    gram: Any = None

    def only(self, samples) -> Problem:
        """The problems of some of the samples."""
        pick = lambda array: None if array is None else array[..., samples]
        return self._replace(
            target=pick(self.target), centre=pick(self.centre), scale=pick(self.scale)
        )


def mismatch(attention, target, rho, scale=None) -> Any:
    """½ Tr[(T − S) ρ_Σ (T − S)ᵀ] per sample, from S and T, (L, L, N); with scales ρ_Σ is diag(s)
    ρ_Σ diag(s)."""
    apart = target - attention
    return 0.5 * (apart * weigh(apart, rho, scale)).sum((0, 1))


def weigh(matrix, rho, scale=None) -> Any:
    """`matrix` · ρ_Σ per sample, or `matrix` · diag(s) ρ_Σ diag(s), (L, L, N)."""
    by_token = lambda given: given if scale is None else given * scale
    if rho.ndim == 1:
        return by_token(rho[:, None] * by_token(matrix))
    return by_token((by_token(matrix)[:, :, None] * rho[..., None]).sum(1))


def sample_loss(student: Form, problem: Problem, z) -> Any:
    """ℓ(u, z), (N,)."""
    return loss_of(problem, lifted(student)(z, **problem.parameters))


def loss_of(problem: Problem, attention) -> Any:
    """ℓ of attention matrices S, (L, L, N): ½ Tr[(T − S) ρ_Σ (T − S)ᵀ], and ½ Tr[S p pᵀ Sᵀ]/d at
    finite d."""
    loss = mismatch(attention, problem.target, problem.rho, problem.scale)
    return (
        loss
        if problem.gram is None
        else loss + 0.5 * (attention * weigh(attention, problem.gram)).sum((0, 1))
    )


def scaled(fields, scale):
    """`fields`, (L, r, N), times the scale of each token, (L, N), if there are scales."""
    return fields if scale is None else fields * scale[:, None]


def unscaled(fields, scale):
    """`fields`, (L, r, N), divided by the scale of each token, (L, N), if there are scales."""
    return fields if scale is None else fields / scale[:, None]


def applied(matrices, fields):
    """A matrix of every group of fields, (G, a, b), applied to fields (L, r, N) with L r = G b: (L,
    G a/L, N)."""
    length, _, count = fields.shape
    groups, _, columns = matrices.shape
    return (
        (matrices[..., None] * fields.reshape(groups, columns, count)[:, None])
        .sum(2)
        .reshape(length, -1, count)
    )


def prox_force(problem: Problem, z):
    """V_l⁻¹ (z_l − w_l), (L, r_s, N): at the prox this is g."""
    return unscaled(
        applied(problem.precision, unscaled(z - problem.centre, problem.scale)), problem.scale
    )


def stiffness(problem: Problem) -> Any:
    """V⁻¹ as one matrix over all fields, of every sample where it has scales, (D, D, N) or (D, D,
    1)."""
    matrix = jax.scipy.linalg.block_diag(*problem.precision)[..., None]
    if problem.scale is None:
        return matrix
    scale = jnp.repeat(problem.scale, len(matrix) // len(problem.scale), axis=0)
    return matrix / (scale[:, None] * scale)


def quadratic_term(problem: Problem, z) -> Any:
    """½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l), (N,)."""
    return 0.5 * ((z - problem.centre) * prox_force(problem, z)).sum((0, 1))


def energy(student: Form, problem: Problem, z):
    """E(z), (N,)."""
    return quadratic_term(problem, z) + sample_loss(student, problem, z)


@partial(jax.jit, static_argnums=0, inline=True)  # traced once, however often a program contains it
def energy_derivatives(
    student: Form, problem: Problem, z
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """E, (N,); ∇E, (L, r_s, N); ∇²E, (D, D, N) with D = L r_s: by automatic differentiation, for
    any student."""
    value, gradient, hessian = loss_derivatives(student, problem, z)
    return (
        value + quadratic_term(problem, z),
        gradient + prox_force(problem, z),
        hessian + stiffness(problem),
    )


@partial(jax.jit, static_argnums=0, inline=True)
def loss_derivatives(student: Form, problem: Problem, z) -> tuple[jax.Array, jax.Array, jax.Array]:
    """ℓ, ∇ℓ and ∇²ℓ, shaped as in `energy_derivatives`."""
    of = lambda fields: _value_and_gradient(lambda f: sample_loss(student, problem, f), fields)
    (value, gradient), move = jax.linearize(of, z)
    return value, gradient, along_each(lambda along: move(along)[1].reshape(-1, z.shape[-1]), z)


def loss_and_gradient(student: Form, problem: Problem, z) -> tuple[jax.Array, jax.Array]:
    """ℓ, (N,), and ∂ℓ/∂z, (L, r_s, N)."""
    return _value_and_gradient(lambda fields: sample_loss(student, problem, fields), z)


def energy_and_gradient(student: Form, problem: Problem, z) -> tuple[jax.Array, jax.Array]:
    """E, (N,), and ∇E, (L, r_s, N)."""
    return _value_and_gradient(lambda fields: energy(student, problem, fields), z)


def _value_and_gradient(function, fields):
    value, back = jax.vjp(function, fields)
    return value, back(jnp.ones_like(value))[0]


def along_each(push, z):
    """`push(along)` with each field of z, (L, r, N), in turn as direction, its results on a new
    first axis."""
    units = jnp.eye(z.shape[0] * z.shape[1], dtype=z.dtype).reshape(-1, *z.shape[:2], 1)
    return jax.vmap(lambda unit: push(jnp.broadcast_to(unit, z.shape)))(units)
