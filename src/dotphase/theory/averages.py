"""The averages of the output half-step over one block of nodes, and how they change with the overlaps.

The attentions are differentiated automatically, once for all directions; the rest is written out. At the prox ∇E = 0,
so with s = z* − w, along a direction of coordinate space that moves w, u and V⁻¹,

    dz = (∇²E)⁻¹ (V⁻¹dw − dV⁻¹ s + B du),    dg = dV⁻¹ s + V⁻¹(dz − dw),    B = −∂²ℓ/∂z∂u,
    dE = ½ sᵀ dV⁻¹ s − g·dw + ∂ℓ/∂u·du,      dℓ = −g·dz + ∂ℓ/∂u·du.

Arrays have the samples on their last axis; D = L r_s and T = L r_t count the fields of student and teacher.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..compilation import fenced
from ..prox.linear import eliminate
from ..prox.loss import Problem, pull, tether
from ..prox.minimiser import Minimum
from ..scenario.attention import entries
from ..scenario.scenario import Structure
from .overlaps import Factors


class Block(NamedTuple):
    """Nodes that are worked on together: `xi` (L, r_s, N), `eta` (L, r_t, N), `weights` (replicates, N/replicates)."""

    xi: Any
    eta: Any
    weights: Any


class LossSlopes(NamedTuple):
    """ℓ(u, z), (N,), and its derivatives: `along_z`, ∂ℓ/∂z, (D, N); `along_u`, ∂ℓ/∂u, (T, N); `mixed`, B, (T, D, N)."""

    loss: Any
    along_z: Any
    along_u: Any
    mixed: Any


def with_rivals(problem: Problem, rival_of) -> Problem:
    """The problem of every node and, behind them, those of its rivals once more."""
    return problem._replace(target=_repeated(problem.target, rival_of), centre=_repeated(problem.centre, rival_of))


def averages(
    structure: Structure, values, f: Factors, moves: Factors, u, problem: Problem, found: Minimum, block: Block, pool,
    rival_of, blur,
) -> tuple[Any, Any]:  # fmt: skip
    """Moments per replicate, (replicates, F), and their pooled derivatives along directions, (K, F).

    Moments are E[g gᵀ], E[g ξᵀ], E[g], E[g ηᵀ], E[ℓ(u, z*)], the energy E[E(z*)] and ε_g, flattened.

    **Arguments**

    - `f`: the factors; `moves`: their derivatives along K directions of coordinate space, on a leading axis.
    - `u`: the teacher's fields, and `problem` the inner problem, of every node of the block.
    - `found`: near the prox of every node and, behind them, of its rivals: one more Newton step is taken.
    - `rival_of`: the nodes that rivals belong to; `blur`: the energy over which a rival takes over.
    """
    length, replicates = structure.length, len(block.weights)
    lone, total = u.shape[-1], found.z.shape[-1]
    both = with_rivals(problem, rival_of)
    size = len(found.hessian)

    def of_nodes(found: Minimum, u):
        unit = jnp.broadcast_to(jnp.eye(size)[:, :, None], found.hessian.shape)
        inverse, _ = eliminate(found.hessian, unit)
        gradient = found.gradient.reshape(size, total)
        step = (inverse * gradient).sum(1)
        turned = _target_slopes(structure, values["teacher"], u)
        near = _loss_slopes(structure, both, found.z, _repeated(turned, rival_of))
        test = _loss_slopes(structure, problem, problem.centre, turned, mixed=False)
        return inverse, found.z - step.reshape(found.z.shape), found.energy - 0.5 * (gradient * step).sum(0), near, test

    # With two fields, what is worked out twice costs less than keeping it.
    inverse, z, energy, near, test = of_nodes(found, u) if size <= 2 else fenced(of_nodes, found, u)
    xi, eta = _repeated(block.xi, rival_of), _repeated(block.eta, rival_of)
    s, g = z - both.centre, pull(both, z)
    features = _features(g, xi, eta, energy - tether(both, z), energy)

    # A rival of energy E' has the share h(gap/blur) of its node's weight, gap = E' − E.
    gap = energy[lone:] - energy[rival_of]
    share, share_slope = jax.jvp(rival_share, (gap / blur,), (jnp.ones_like(gap) / blur,))
    weights = block.weights.reshape(-1)
    exchanged = features[:, lone:] - features[:, rival_of]
    belongs = (rival_of // block.weights.shape[1])[:, None] == jnp.arange(replicates)[None]
    per_replicate = lambda each: (each * weights).reshape(*each.shape[:-1], replicates, -1).sum(-1)
    moments = per_replicate(features[:, :lone]) + (share * weights[rival_of] * exchanged) @ belongs
    moments = jnp.concatenate([moments, per_replicate(2 * test.loss / length)[None]]).T

    applied = lambda matrix, fields: (matrix[..., None] * fields[..., None, :, :]).sum(-2)
    transposed = lambda matrix: jnp.swapaxes(matrix, -1, -2)
    flat = lambda fields: fields.reshape(len(fields), -1, total)
    dw = moves.m[..., None] + applied(moves.C, xi)
    du = flat(applied(transposed(moves.psi), xi) + applied(moves.K, eta))
    ds, pulled = applied(moves.precision, s), applied(f.precision, dw)
    force = flat(pulled - ds) + (near.mixed * du[:, :, None]).sum(1)
    dz = (inverse * force[:, None]).sum(2).reshape(dw.shape)
    dg = ds + applied(f.precision, dz) - pulled
    through_u = (near.along_u * du).sum(1)
    d_energy = (0.5 * s * ds - g * dw).sum((1, 2)) + through_u
    d_loss = through_u - (g * dz).sum((1, 2))

    pooled = (pool[:, None] * block.weights).reshape(-1)
    taken = share * pooled[rival_of]
    weighing = jnp.concatenate([pooled.at[rival_of].add(-taken), taken])
    mean = lambda right: jnp.einsum("klan,lbn->klab", weighing * dg, right)
    gg = mean(g)
    parts = [gg + transposed(gg), mean(xi), (weighing * dg).sum(-1), mean(eta)]
    parts += [(weighing * d_loss).sum(-1), (weighing * d_energy).sum(-1)]
    slopes = jnp.concatenate([part.reshape(len(du), -1) for part in parts], axis=1)
    d_gap = d_energy[:, lone:] - d_energy[:, rival_of]
    slopes = slopes + (d_gap * share_slope * pooled[rival_of]) @ exchanged.T
    d_test = (test.along_z * flat(dw)[..., :lone]).sum(1) + (test.along_u * du[..., :lone]).sum(1)
    return moments, jnp.concatenate([slopes, (2 / length * d_test @ pooled)[:, None]], axis=1)


def rival_share(height):
    """The weight of a rival that is `height` blurs above its minimum: a step whose first three moments vanish.

    The prox jumps where a rival becomes the minimum. Averaged over a fixed set of nodes such a jump would make the map
    discontinuous; blurred over a few nodes it is smooth, and its derivative has its share from the jump. With the
    kernel ½(3 − t²)φ(t) instead of φ(t) the blur costs an error of fourth order only.
    """
    bounded = jnp.clip(height, -12.0, 12.0)
    normal = jnp.exp(-0.5 * bounded**2) / jnp.sqrt(2 * jnp.pi)
    return 1 - (jax.scipy.special.ndtr(bounded) + 0.5 * bounded * normal)


def _features(g, xi, eta, loss, energy):
    """g gᵀ, g ξᵀ, g, g ηᵀ per token, the loss and the energy, flattened to (F − 1, N)."""
    outer = lambda left, right: (left[:, :, None] * right[:, None]).reshape(-1, left.shape[-1])
    return jnp.concatenate(
        [outer(g, g), outer(g, xi), g.reshape(-1, g.shape[-1]), outer(g, eta), loss[None], energy[None]]
    )


def _target_slopes(structure: Structure, parameters, u):
    """∂T/∂u, (T, L, L, N)."""
    length, rank, count = u.shape
    attention = _over_samples(structure.teacher, parameters, count)
    fields = [list(row) for row in u]

    def push(direction):
        along = [[jnp.broadcast_to(direction[l, a], (count,)) for a in range(rank)] for l in range(length)]
        return _stack(jax.jvp(attention, (fields,), (along,))[1])

    return jax.vmap(push)(jnp.eye(length * rank, dtype=u.dtype).reshape(-1, length, rank))


def _loss_slopes(structure: Structure, problem: Problem, z, turned, mixed: bool = True) -> LossSlopes:
    """ℓ at z and its derivatives; `turned` is ∂T/∂u."""
    count, tokens = z.shape[-1], range(len(z))
    attention, back = jax.vjp(_over_samples(structure.student, problem.parameters, count), [list(row) for row in z])
    apart = [[problem.target[i, j] - attention[i][j] for j in tokens] for i in tokens]
    weighed = [[problem.rho[j] * apart[i][j] for j in tokens] for i in tokens]
    onto = lambda matrix: _stack(back([[matrix[i][j] for j in tokens] for i in tokens])[0]).reshape(-1, count)
    return LossSlopes(
        loss=0.5 * sum(weighed[i][j] * apart[i][j] for i in tokens for j in tokens),
        along_z=-onto(weighed),
        along_u=sum(weighed[i][j] * turned[:, i, j] for i in tokens for j in tokens),
        mixed=jax.vmap(onto)(turned * problem.rho[:, None]) if mixed else None,
    )


def _over_samples(form, parameters, count: int):
    """The attention on nested lists, all entries as long as the samples are many."""
    of = entries(form)
    return lambda fields: [[jnp.broadcast_to(e, (count,)) for e in row] for row in of(fields, **parameters)]


def _repeated(array, rival_of):
    return jnp.concatenate([array, array[..., rival_of]], axis=-1)


def _stack(rows):
    return jnp.stack([jnp.stack(row) for row in rows])
