"""State evolution: the map from overlaps to overlaps whose fixed points describe the minima of the loss as d → ∞.

Output half-step, an average over ξ_l ∈ R^{r_s} and η_l ∈ R^{r_t} (one block of nodes at a time):

    w_l = m_l + C_l ξ_l,   u_l = ψ_lᵀ ξ_l + K_l η_l,   z* = argmin_z ½ Σ_l (z_l−w_l)ᵀV_l⁻¹(z_l−w_l) + ℓ(u, z),
    g_l = V_l⁻¹ (z*_l − w_l),   q̂_l = α E[g_l g_lᵀ],   m̂_l = α E[g_l],   θ̂_l = α E[g_l η_lᵀ] K_l⁻¹,
    V̂_l = −α E[g_l ξ_lᵀ] C_l⁻¹ + θ̂_l ψ_lᵀ C_l⁻¹                                  (Stein form of −α E[∂g_l/∂w_l])

Input half-step, an average over the law ν of (γ, τ, π):

    R = (λ + Σ_κ γ_κ V̂_κ)⁻¹,   c = Σ_κ (γ_κ θ̂_κ π + τ_κ m̂_κ),
    q_l = ⟨γ_l R(Σ_κ γ_κ q̂_κ + c cᵀ)R⟩,   V_l = ⟨γ_l R⟩,   m_l = ⟨τ_l R c⟩,   θ_l = ⟨γ_l R c πᵀ⟩.

(C, ψ and K are the factors of `overlaps.py`; with them no matrix square root is needed.)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..compilation import compiled
from ..inner.loss import Problem
from ..inner.minimiser import NEARLY, descend
from ..inner.search import search
from ..scenario.attention import lifted
from ..scenario.scenario import Structure
from .averages import Block, averages, with_rivals
from .overlaps import Factors, Overlaps, distance, factors, from_coordinates, to_coordinates
from .small import inverse, inverted, transposed


class Evaluated(NamedTuple):
    """One output half-step over a block.

    - `z`: near the prox at every node and, behind them, at their rivals, (L, r_s, N + rivals).
    - `rows`: moments of every replicate, and below them their pooled derivatives along the given directions of
      coordinate space, (replicates + directions, F), as in `averages.py`; `unsettled`: the share of nodes whose descent
      did not come to rest, written once more below them. One array, since every result costs time to fetch.
    """

    z: Any
    rows: Any


class Searched(NamedTuple):
    """One search over a block.

    - `z`: as in `Evaluated`; `rival_of`: the nodes the rivals belong to.
    - `told`: how much higher each rival is in energy, and last the share of nodes with several minima, (rivals + 1,).
    """

    z: Any
    rival_of: Any
    told: Any


def teacher_overlap(values):
    """ρ_l = ⟨γ_l π πᵀ⟩, (L, r_t, r_t)."""
    law = values["law"]
    length = law["gamma"].shape[1]
    return jnp.einsum("k,kl,kij->lij", law["weight"], law["gamma"], law["moment"][:, length:, length:])


def fields(structure: Structure, values, x, block: Block) -> tuple[Factors, Any, Problem]:
    """The factors at `x`, the teacher's fields u, and the inner problem of every node of the block."""
    f = factors(x, teacher_overlap(values), structure.student.rank)
    w = f.m[..., None] + (f.C[..., None] * block.xi[:, None]).sum(2)
    u = (f.psi[..., None] * block.xi[:, :, None]).sum(1) + (f.K[..., None] * block.eta[:, None]).sum(2)
    target = lifted(structure.teacher)(u, **values["teacher"])
    rho_sigma = values["law"]["weight"] @ values["law"]["gamma"]
    return f, u, Problem(target, w, f.precision, rho_sigma, values["student"])


@lru_cache(maxsize=64)
def compiled_search(structure: Structure, rivals: int):
    """`(values, spread, x, block, pool, known) -> Searched`: the global prox at x, from `known` and other starts."""

    def run(values, spread, x, block: Block, pool, known) -> Searched:
        _, u, problem = fields(structure, values, x, block)
        # The teacher's own fields, put where the student would have to reproduce them, are where good minima lie.
        columns = min(u.shape[1], spread.shape[0])
        seen = (u[:, :columns, None] * spread[None, :columns, :, None]).sum(1)
        starts = jnp.stack([known[..., : u.shape[-1]], seen, -seen])
        minima = search(structure.student, problem, starts, rivals)
        several = (minima.several.reshape(block.weights.shape) * block.weights * pool[:, None]).sum()
        both = jnp.concatenate([minima.z, minima.rival], axis=-1)
        return Searched(both, minima.rival_of, jnp.append(minima.gap, several))

    return compiled(run)


@lru_cache(maxsize=64)
def compiled_centres(structure: Structure, rivals: int):
    """`(values, x, block) -> (z, rival_of)`: fields w, where a descent may begin, with rivals that are none."""

    def run(values, x, block: Block):
        nobody = jnp.zeros(rivals, jnp.int32)  # the type a search gives, or an evaluation compiles twice
        w = fields(structure, values, x, block)[2].centre
        return jnp.concatenate([w, w[..., nobody]], axis=-1), nobody

    return jax.jit(run)


@lru_cache(maxsize=64)
def compiled_evaluate(structure: Structure):
    """`(values, x, directions, block, pool, z, rival_of, blur) -> Evaluated`: follow minima z to x, and average."""

    def run(values, x, directions, block: Block, pool, z, rival_of, blur) -> Evaluated:
        f, u, problem = fields(structure, values, x, block)
        found = descend(structure.student, with_rivals(problem, rival_of), z, tolerance=NEARLY)
        rho = teacher_overlap(values)
        moves = jax.vmap(jax.linearize(lambda point: factors(point, rho, structure.student.rank), x)[1])(directions)
        moments, slopes = averages(structure, values, f, moves, u, problem, found, block, pool, rival_of, blur)
        unsettled = jnp.broadcast_to((~found.settled[: u.shape[-1]]).mean(), moments[:1].shape)
        return Evaluated(found.z, jnp.concatenate([moments, slopes, unsettled]))

    return compiled(run)


def conjugates(structure: Structure, values, x, moments) -> Overlaps:
    """q̂, V̂, m̂, θ̂ (in the places of q, V, m, θ) from the moments of one output half-step at coordinates x."""
    length, r_s, r_t = structure.shape
    f = factors(x, teacher_overlap(values), r_s)
    alpha = values["sample_ratio"]
    square, flat = length * r_s * r_s, length * r_s
    gg, gxi, g, geta, _ = jnp.split(moments, [square, 2 * square, 2 * square + flat, 2 * square + flat + flat * r_t])
    gg, gxi = gg.reshape(length, r_s, r_s), gxi.reshape(length, r_s, r_s)
    g, geta = g.reshape(length, r_s), geta.reshape(length, r_s, r_t)
    theta_hat = alpha * geta @ inverted(f.K)
    V_hat = (theta_hat @ transposed(f.psi) - alpha * gxi) @ inverted(f.C)
    return Overlaps(alpha * gg, 0.5 * (V_hat + transposed(V_hat)), alpha * g, theta_hat)


def input_step(values, hats: Overlaps) -> tuple[Overlaps, Any]:
    """The overlaps that conjugates give, and the ridge's part of the training loss, (λ/2)⟨Tr R(Σγq̂ + ccᵀ)R⟩."""
    law, ridge = values["law"], values["ridge"]
    weight, gamma, moment = law["weight"], law["gamma"], law["moment"]
    length, r_s = hats.m.shape
    R = inverse(ridge * jnp.eye(r_s) + jnp.einsum("kl,lab->kab", gamma, hats.V))
    semantic = jnp.einsum("kl,lat->kat", gamma, hats.theta)
    carrier = jnp.concatenate([jnp.broadcast_to(hats.m.T, (len(weight), r_s, length)), semantic], axis=2)
    response = jnp.einsum("kab,kbi,kij->kaj", R, carrier, moment)  # ⟨R c (τ, π)ᵀ⟩ of each kind
    cc = jnp.einsum("kai,kij,kbj->kab", carrier, moment, carrier)
    spread = R @ (jnp.einsum("kl,lab->kab", gamma, hats.q) + cc) @ R
    q = jnp.einsum("k,kl,kab->lab", weight, gamma, spread)
    V = jnp.einsum("k,kl,kab->lab", weight, gamma, R)
    m = jnp.einsum("k,kal->la", weight, response[:, :, :length])
    theta = jnp.einsum("k,kl,kat->lat", weight, gamma, response[:, :, length:])
    return Overlaps(q, V, m, theta), 0.5 * ridge * jnp.einsum("k,kaa->", weight, spread)


@lru_cache(maxsize=64)
def compiled_input(structure: Structure):
    """`(values, x, rows, directions, slopes) -> results` of the input half-step.

    `rows` are moments, (rows, F), the pooled ones first, whose `slopes` along `directions` are known. A result is the
    new coordinates followed by ε_g, ε_t and α E[E(z*)]: one per row, below them their slopes along every direction, and
    below these the residual, the last two of the pooled row.
    """

    def outcome(values, x, moments):
        overlaps, ridge_part = input_step(values, conjugates(structure, values, x, moments))
        train_loss = values["sample_ratio"] * moments[-3] + ridge_part
        new = to_coordinates(overlaps, teacher_overlap(values))
        return jnp.concatenate([new, jnp.stack([moments[-1], train_loss, values["sample_ratio"] * moments[-2]])])

    def run(values, x, rows, directions, slopes):
        of = lambda point, moments: outcome(values, point, moments)
        push = lambda d, s: jax.jvp(of, (x, rows[0]), (d, s))[1]
        results = jax.vmap(lambda row: of(x, row))(rows)
        rho = teacher_overlap(values)
        here = from_coordinates(x, rho, structure.student.rank)
        there = from_coordinates(results[0, :-3], rho, structure.student.rank)
        residual = jnp.broadcast_to(distance(here, there, rho), results[:1].shape)
        return jnp.concatenate([results, jax.vmap(push)(directions, slopes), residual])

    return compiled(run)
