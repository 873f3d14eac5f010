"""The averages over one fresh sample that drive one-pass learning.

A fresh sample has fields w_l, u_l, jointly normal with the present overlaps:

    u_l = ρ_l^{1/2} η_l,   w_l = m_l + ψ_l η_l + (q_l − ψ_l ψ_lᵀ)^{1/2} ξ_l,   ψ_l = θ_l ρ_l^{-T/2},

and with ∂_l = ∂ℓ(u, z)/∂z_l at z = w the equations need E[∂_l], E[∂_l ∂_lᵀ] and, by Stein's lemma
in the place of averages of ∂_l times a field, H_l = E[∂²ℓ/∂z_l∂z_l] and J_l = E[∂²ℓ/∂z_l∂u_l].
Nothing is inverted but ρ, so weights parallel to the teacher's, or zero, are like any others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ...inner.loss import mismatch
from ...numerics.matrix_root import symmetric_root
from ...overlaps.overlaps import WeightOverlaps
from ...scenario.attentions.attention import Form, lifted


class Averages(NamedTuple):
    """`slope` E[∂_l], (L, r_s); `curvature` H_l, (L, r_s, r_s); `coupling` J_l, (L, r_s, r_t);
    `scatter` E[∂_l ∂_lᵀ], (L, r_s, r_s); `loss` E[ℓ]."""

    slope: Any
    curvature: Any
    coupling: Any
    scatter: Any
    loss: Any


class Fields(NamedTuple):
    """Nodes of the average: w, (L, r_s, N); u, (L, r_t, N); and their weights, (N,)."""

    w: jax.Array
    u: jax.Array
    weights: jax.Array


def fields_at(overlaps: WeightOverlaps, rho, points, weights) -> Fields:
    """The fields at the nodes `points`, (L (r_s + r_t), N), of a Gaussian rule."""
    length, r_s, r_t = overlaps.theta.shape
    eta, xi = (
        points[: length * r_t].reshape(length, r_t, -1),
        points[length * r_t :].reshape(length, r_s, -1),
    )
    K = jnp.linalg.cholesky(rho)
    psi = jnp.swapaxes(jnp.linalg.solve(K, jnp.swapaxes(overlaps.theta, 1, 2)), 1, 2)
    rest = symmetric_root(overlaps.q - psi @ jnp.swapaxes(psi, 1, 2), jnp)
    return Fields(overlaps.m[:, :, None] + psi @ eta + rest @ xi, K @ eta, weights)


def averages(student: Form, teacher: Form, numbers, rho_sigma, fields: Fields) -> Averages:
    """All of them; `numbers` are the parameters of student and teacher, `rho_sigma` the diagonal of
    ρ_Σ."""

    def losses(z, u):
        return mismatch(
            lifted(student)(z, **numbers[0]), lifted(teacher)(u, **numbers[1]), rho_sigma
        )

    def slopes(shift_z, shift_u):
        moved = lambda field, shift: field + shift[:, :, None]
        value, back = jax.vjp(
            lambda z: losses(z, moved(fields.u, shift_u)), moved(fields.w, shift_z)
        )
        return back(jnp.ones_like(value))[0], value

    def mean_slope(shift_z, shift_u):
        return slopes(shift_z, shift_u)[0] @ fields.weights

    zero = jnp.zeros(fields.w.shape[:2]), jnp.zeros(fields.u.shape[:2])
    each, value = slopes(*zero)
    by_z, by_u = jax.jacfwd(mean_slope, argnums=(0, 1))(*zero)
    own = lambda blocks: jnp.stack([blocks[l, :, l] for l in range(len(blocks))])
    scatter = jnp.einsum("lan,lbn,n->lab", each, each, fields.weights)
    return Averages(each @ fields.weights, own(by_z), own(by_u), scatter, value @ fields.weights)
