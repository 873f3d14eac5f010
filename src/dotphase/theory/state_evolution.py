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
from jax.scipy.linalg import solve_triangular

from ..compilation import compiled
from ..prox.linear import eliminate
from ..prox.loss import Problem, energy_gradient, mismatch, pull, sample_loss, tether
from ..prox.minimiser import NEARLY, descend
from ..prox.search import Minima, search
from ..scenario.attention import lifted
from ..scenario.scenario import Structure
from .overlaps import Factors, Overlaps, distance, factors, from_coordinates, to_coordinates


class Block(NamedTuple):
    """Nodes that are worked on together: `xi` (L, r_s, N), `eta` (L, r_t, N), `weights` (replicates, N/replicates)."""

    xi: Any
    eta: Any
    weights: Any


class Settled(NamedTuple):
    """The prox at every node of a block and at its rivals.

    - `z`: (L, r_s, N + rivals), the nodes first; `inverse`: (∇²E)⁻¹ there, (D, D, N + rivals).
    - `unsettled`: the share of nodes whose descent did not come to rest.
    """

    z: Any
    inverse: Any
    unsettled: Any


class Evaluated(NamedTuple):
    """One output half-step over a block.

    - `z`, `unsettled`: as in `Settled`.
    - `moments`: E[g gᵀ], E[g ξᵀ], E[g], E[g ηᵀ], E[ℓ(u, z*)], the energy E[E(z*)], and ε_g, flattened, per replicate:
      (replicates, F).
    - `slopes`: their pooled derivatives along the given directions of coordinate space, (directions, F).
    """

    z: Any
    unsettled: Any
    moments: Any
    slopes: Any


def teacher_overlap(values):
    """ρ_l = ⟨γ_l π πᵀ⟩, (L, r_t, r_t)."""
    law = values["law"]
    length = law["gamma"].shape[1]
    return jnp.einsum("k,kl,kij->lij", law["weight"], law["gamma"], law["moment"][:, length:, length:])


def fields(structure: Structure, values, x, block: Block) -> tuple[Factors, Any, Problem]:
    """The factors at `x`, the fields w, and the inner problem of every node of the block."""
    f = factors(x, teacher_overlap(values), structure.student.rank)
    w = f.m[..., None] + (f.C[..., None] * block.xi[:, None]).sum(2)
    u = (f.psi[..., None] * block.xi[:, :, None]).sum(1) + (f.K[..., None] * block.eta[:, None]).sum(2)
    target = lifted(structure.teacher)(u, **values["teacher"])
    rho_sigma = values["law"]["weight"] @ values["law"]["gamma"]
    return f, u, Problem(target, w, f.precision, rho_sigma, values["student"])


@lru_cache(maxsize=64)
def compiled_search(structure: Structure, rivals: int):
    """`(values, spread, x, block, known) -> Minima`: the global prox at x, from `known` and other starts."""

    def run(values, spread, x, block: Block, known) -> Minima:
        _, u, problem = fields(structure, values, x, block)
        # The teacher's own fields, put where the student would have to reproduce them, are where good minima lie.
        columns = min(u.shape[1], spread.shape[0])
        seen = (u[:, :columns, None] * spread[None, :columns, :, None]).sum(1)
        return search(structure.student, problem, jnp.stack([known, seen, -seen]), rivals)

    return compiled(run)


@lru_cache(maxsize=64)
def compiled_centres(structure: Structure):
    """`(values, x, block) -> w`, where a descent may begin."""
    return jax.jit(lambda values, x, block: fields(structure, values, x, block)[2].centre)


@lru_cache(maxsize=64)
def compiled_evaluate(structure: Structure):
    """`(values, x, directions, block, pool, z, rival_of, blur) -> Evaluated`: follow minima z to x, and average."""

    def run(values, x, directions, block: Block, pool, z, rival_of, blur) -> Evaluated:
        rest = _settle(structure, values, x, block, z, rival_of)
        of = lambda point: _moments(structure, values, point, block, rest.z, rest.inverse, rival_of, blur)
        moments, push = jax.linearize(of, x)
        slopes = jax.vmap(lambda direction: pool @ push(direction))(directions)
        return Evaluated(rest.z, rest.unsettled, moments, slopes)

    return compiled(run)


def _settle(structure: Structure, values, x, block: Block, z, rival_of) -> Settled:
    _, _, problem = fields(structure, values, x, block)
    found = descend(structure.student, _with_rivals(problem, rival_of), z, tolerance=NEARLY)
    unit = jnp.broadcast_to(jnp.eye(len(found.hessian))[:, :, None], found.hessian.shape)
    inverse, _ = eliminate(found.hessian, unit)
    return Settled(found.z, inverse, (~found.settled[: block.xi.shape[-1]]).mean())


def _with_rivals(problem: Problem, rival_of) -> Problem:
    repeat = lambda array: jnp.concatenate([array, array[..., rival_of]], axis=-1)
    return problem._replace(target=repeat(problem.target), centre=repeat(problem.centre))


def _moments(structure: Structure, values, x, block: Block, z, inverse, rival_of, blur):
    """Moments per replicate as a differentiable function of x: minima given take one Newton step, moving with x."""
    _, _, problem = fields(structure, values, x, block)
    both = _with_rivals(problem, rival_of)
    _, gradient = energy_gradient(structure.student, both, z)
    step = (inverse * gradient.reshape(-1, z.shape[-1])[None]).sum(1).reshape(z.shape)
    z = z - step
    g = pull(both, z)
    lone = block.xi.shape[-1]
    repeat = lambda array: jnp.concatenate([array, array[..., rival_of]], axis=-1)
    loss = sample_loss(structure.student, both, z)
    height = tether(both, z) + loss
    features = _features(g, repeat(block.xi), repeat(block.eta), loss, height)
    gap = height[lone:] - height[rival_of]
    share = rival_share(gap / blur)
    replicates, per = block.weights.shape
    weights = block.weights.reshape(-1)
    exchange = share * weights[rival_of] * (features[:, lone:] - features[:, rival_of])
    belongs = (rival_of // per)[:, None] == jnp.arange(replicates)[None]
    moments = (features[:, :lone] * weights).reshape(-1, replicates, per).sum(2).T + (exchange @ belongs).T
    attention = lifted(structure.student)(problem.centre, **problem.parameters)
    error = 2 * mismatch(attention, problem.target, problem.rho) / structure.length
    error = (error * weights).reshape(replicates, per).sum(1)
    return jnp.concatenate([moments, error[:, None]], axis=1)


def rival_share(height):
    """The weight of a rival that is `height` blurs above its minimum: a step whose first three moments vanish.

    The prox jumps where a rival becomes the minimum. Averaged over a fixed set of nodes such a jump would make the map
    discontinuous; blurred over a few nodes it is smooth, and its derivative has its share from the jump. With the
    kernel ½(3 − t²)φ(t) instead of φ(t) the blur costs an error of fourth order only.
    """
    bounded = jnp.clip(height, -12.0, 12.0)
    normal = jnp.exp(-0.5 * bounded**2) / jnp.sqrt(2 * jnp.pi)
    return 1 - (jax.scipy.special.ndtr(bounded) + 0.5 * bounded * normal)


def _features(g, xi, eta, loss, height):
    """g gᵀ, g ξᵀ, g, g ηᵀ per token, the loss and the energy, flattened to (F − 1, N)."""
    outer = lambda left, right: (left[:, :, None] * right[:, None]).reshape(-1, left.shape[-1])
    return jnp.concatenate(
        [outer(g, g), outer(g, xi), g.reshape(-1, g.shape[-1]), outer(g, eta), loss[None], height[None]]
    )


def conjugates(structure: Structure, values, x, moments) -> Overlaps:
    """q̂, V̂, m̂, θ̂ (in the places of q, V, m, θ) from the moments of one output half-step at coordinates x."""
    length, r_s, r_t = structure.shape
    f = factors(x, teacher_overlap(values), r_s)
    alpha = values["sample_ratio"]
    square, flat = length * r_s * r_s, length * r_s
    gg, gxi, g, geta, _ = jnp.split(moments, [square, 2 * square, 2 * square + flat, 2 * square + flat + flat * r_t])
    gg, gxi = gg.reshape(length, r_s, r_s), gxi.reshape(length, r_s, r_s)
    g, geta = g.reshape(length, r_s), geta.reshape(length, r_s, r_t)
    theta_hat = alpha * _right_divided(geta, f.K)
    through_w = -alpha * gxi + theta_hat @ jnp.swapaxes(f.psi, 1, 2)
    V_hat = _right_divided(through_w, f.C)
    return Overlaps(alpha * gg, 0.5 * (V_hat + jnp.swapaxes(V_hat, 1, 2)), alpha * g, theta_hat)


def _right_divided(matrix, lower):
    """`matrix` times the inverse of `lower`, per token."""
    flipped = solve_triangular(lower, jnp.swapaxes(matrix, 1, 2), lower=True, trans=1)
    return jnp.swapaxes(flipped, 1, 2)


def input_step(values, hats: Overlaps) -> tuple[Overlaps, Any]:
    """The overlaps that conjugates give, and the ridge's part of the training loss, (λ/2)⟨Tr R(Σγq̂ + ccᵀ)R⟩."""
    law, ridge = values["law"], values["ridge"]
    weight, gamma, moment = law["weight"], law["gamma"], law["moment"]
    length, r_s = hats.m.shape
    R = jnp.linalg.inv(ridge * jnp.eye(r_s) + jnp.einsum("kl,lab->kab", gamma, hats.V))
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
    """`(values, x, rows, directions, slopes) -> (results, slopes, residual)` of the input half-step.

    `rows` are moments, (rows, F), the pooled ones first, whose `slopes` along `directions` are known. A result is the
    new coordinates followed by ε_g, ε_t and α E[E(z*)], one per row; slopes and residual are those of the pooled row.
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
        return results, jax.vmap(push)(directions, slopes), distance(here, there, rho)

    return compiled(run)
