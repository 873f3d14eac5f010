"""The averages of the output half-step over one block of nodes, and how they change with the
overlaps.

The attentions are differentiated automatically, once for all directions; the rest is written out.
At a minimum ∇E = 0, so with s = z* − w, along a direction of coordinate space that moves w, u and
V⁻¹,

    dz = (∇²E)⁻¹ (V⁻¹dw − dV⁻¹ s + B du),    dg = dV⁻¹ s + V⁻¹(dz − dw),    B = −∂²ℓ/∂z∂u,
    dE = ½ sᵀ dV⁻¹ s − g·dw + ∂ℓ/∂u·du,      dℓ = −g·dz + ∂ℓ/∂u·du.

Arrays have the samples on their last axis; D = L r_s and T = L r_t count the fields of student and
teacher. G groups of fields are jointly Gaussian, a of the student and b of the teacher in each: L
tokens, of r_s and r_t, or all as one.

With random scales s all of this holds for s⁻¹dw, s⁻¹dz, the shift s⁻¹(z* − w) and the force ĝ = s
g, which is what the moments but E[g] are made of; fields w − m and u carry a factor s, and V⁻¹ is
that at s = 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ...inner.loss import (
    Problem,
    along_each,
    loss_of,
    prox_force,
    quadratic_term,
    scaled,
    unscaled,
    weigh,
)
from ...inner.minimiser import Minimum
from ...numerics.compilation import fenced
from ...numerics.elimination import eliminate
from ...numerics.small_matrices import transposed
from ...overlaps.overlaps import Factors, Moments
from ...scenario.attentions.attention import lifted
from ...scenario.scenario import Structure


class Block(NamedTuple):
    """Nodes that are worked on together.

    - `xi`: (G, a, N);  `eta`: (G, b, N).
    - `weights`: of the nodes in their replicate, (replicates, N/replicates);  `pool`: the share of
      each replicate in the pooled value, (replicates,).
    - `scale`: s, (L, N), where tokens have random scales.
    """

    xi: Any
    eta: Any
    weights: Any
    pool: Any
    scale: Any = None

    @property
    def pooled(self) -> Any:
        """The weight of every node in the pooled value, (N,)."""
        return (self.pool[:, None] * self.weights).reshape(-1)


class Fields(NamedTuple):
    """The nodes of a block as samples: `factors` of the overlaps, teacher's fields `u`, (L, r_t,
    N), `problem`."""

    factors: Factors
    u: Any
    problem: Problem


class BlockMinima(NamedTuple):
    """Where the inner minima of a block's nodes are.

    - `z`: at every node and, behind them, second minima of some of them, the rivals, (L, r_s, N +
      rivals).
    - `rival_of`: the nodes the rivals belong to, (rivals,).
    """

    z: Any
    rival_of: Any


class AtMinimum(NamedTuple):
    """The inner minimum z* of N nodes, rivals included, and what tells how it moves.

    - `shift`: s, and `g`: V⁻¹ s, (G, a, N);  `loss`: ℓ(u, z*), `energy`: E(z*), (N,).
    - `inverse`: (∇²E)⁻¹, (D, D, N);  `along_u`: ∂ℓ/∂u, (T, N);  `mixed`: B, (T, D, N).
    """

    shift: Any
    g: Any
    loss: Any
    energy: Any
    inverse: Any
    along_u: Any
    mixed: Any


class TestLoss(NamedTuple):
    """ℓ(u, w), of which ε_g is the average, (N,); ∂ℓ/∂w, (D, N); ∂ℓ/∂u, (T, N)."""

    loss: Any
    along_w: Any
    along_u: Any


class Moved(NamedTuple):
    """Derivatives along K directions, on the first axis: of w and g, (K, G, a, N), u, (K, T, N), ℓ
    and E, (K, N)."""

    w: Any
    u: Any
    g: Any
    loss: Any
    energy: Any


def with_rivals(problem: Problem, rival_of) -> Problem:
    """The problem of every node and, behind them, those of its rivals once more."""
    target, centre = _repeated(problem.target, rival_of), _repeated(problem.centre, rival_of)
    return problem._replace(target=target, centre=centre, scale=_repeated(problem.scale, rival_of))


def averages(
    structure: Structure,
    teacher: dict,
    at: Fields,
    moves: Factors,
    found: Minimum,
    block: Block,
    rival_of,
    blur,
) -> tuple[Any, Any]:
    """Flattened `Moments` per replicate, (replicates, F), and their pooled derivatives along
    directions, (K, F).

    **Arguments**

    - `teacher`: its numbers;  `at`: the samples.
    - `moves`: derivatives of the factors along K directions of coordinate space, on a leading axis.
    - `found`: near the minimum of every node and, behind them, of its rivals: one more Newton step
      is taken.
    - `rival_of`: the nodes that rivals belong to; `blur`: the energy over which a rival takes over.
    """
    lone, (replicates, per) = at.u.shape[-1], block.weights.shape
    s = _repeated(block.scale, rival_of)
    here, test = _at_minimum(structure, teacher, at, found, rival_of)
    xi, eta = _repeated(block.xi, rival_of), _repeated(block.eta, rival_of)
    scale = of_fields(s, xi)
    test_error = 2 / structure.length * test.loss
    features = _features(here, xi, eta, scale, _repeated(test_error, rival_of))

    # A rival of energy E' has the share h(gap/blur) of its node's weight, gap = E' − E.
    gap = here.energy[lone:] - here.energy[rival_of]
    share, share_slope = jax.jvp(rival_share, (gap / blur,), (jnp.ones_like(gap) / blur,))
    weights = block.weights.reshape(-1)
    exchanged = features[:, lone:] - features[:, rival_of]
    belongs = (rival_of // per)[:, None] == jnp.arange(replicates)[None]
    per_replicate = (features[:, :lone] * weights).reshape(-1, replicates, per).sum(-1)
    moments = per_replicate + (share * weights[rival_of] * exchanged) @ belongs

    moved = _moved(at.factors, moves, here, xi, eta, s)
    taken = share * block.pooled[rival_of]
    weighing = jnp.concatenate([block.pooled.at[rival_of].add(-taken), taken])
    mean = lambda right: jnp.einsum("klan,lbn->klab", weighing * moved.g, right)
    gg, total = mean(here.g), lambda each: (weighing * each).sum(-1)
    of_test = (test.along_w * _flat(moved.w)[..., :lone]).sum(1) + (
        test.along_u * moved.u[..., :lone]
    ).sum(1)
    slopes = Moments(
        gg=gg + transposed(gg),
        g_xi=mean(xi),
        g=total(_over(moved.g, scale)),
        g_eta=mean(eta),
        loss=total(moved.loss),
        energy=total(moved.energy),
        test_error=2 / structure.length * of_test @ block.pooled,
    ).flat()
    gap_slope = moved.energy[:, lone:] - moved.energy[:, rival_of]
    return moments.T, slopes + (gap_slope * share_slope * block.pooled[rival_of]) @ exchanged.T


def _at_minimum(
    structure: Structure, teacher: dict, at: Fields, found: Minimum, rival_of
) -> tuple[AtMinimum, TestLoss]:
    """What is found, one more Newton step taken, and the test loss at every node."""
    problem, u = at.problem, at.u
    both, size = with_rivals(problem, rival_of), len(found.hessian)

    def work(found: Minimum, u):
        unit = jnp.broadcast_to(jnp.eye(size)[:, :, None], found.hessian.shape)
        inverse, _ = eliminate(found.hessian, unit)
        gradient = found.gradient.reshape(size, -1)
        step = (inverse * gradient).sum(1)
        turned = _target_slopes(structure, teacher, u)
        _, _, along_u, mixed = _loss_slopes(structure, both, found.z, _repeated(turned, rival_of))
        test = TestLoss(*_loss_slopes(structure, problem, problem.centre, turned)[:3])
        energy = found.energy - 0.5 * (gradient * step).sum(0)
        return found.z - step.reshape(found.z.shape), energy, inverse, along_u, mixed, test

    # With two fields, what is worked out twice costs less than keeping it.
    z, energy, inverse, along_u, mixed, test = (
        work(found, u) if size <= 2 else fenced(work, found, u)
    )
    groups = lambda fields: fields.reshape(*structure.shape[:2], -1)
    shift, force = unscaled(z - both.centre, both.scale), scaled(prox_force(both, z), both.scale)
    return AtMinimum(
        groups(shift),
        groups(force),
        energy - quadratic_term(both, z),
        energy,
        inverse,
        along_u,
        mixed,
    ), test


def _moved(f: Factors, moves: Factors, at: AtMinimum, xi, eta, s) -> Moved:
    """How fields, prox and losses change: the formulas above; `s`: the scales, if any."""
    scale = of_fields(s, xi)
    applied = lambda matrix, fields: (matrix[..., None] * fields[..., None, :, :]).sum(-2)
    dw = _over(moves.m[..., None], scale) + applied(moves.C, xi)
    du = _flat(
        _times(applied(transposed(moves.psi), xi) + applied(moves.K, eta), of_fields(s, eta))
    )
    ds, pulled = applied(moves.precision, at.shift), applied(f.precision, dw)
    force = _flat(_over(pulled - ds, scale)) + (at.mixed * du[:, :, None]).sum(1)
    dz = _over((at.inverse * force[:, None]).sum(2).reshape(dw.shape), scale)
    through_u = (at.along_u * du).sum(1)
    return Moved(
        w=_times(dw, scale),
        u=du,
        g=ds + applied(f.precision, dz) - pulled,
        loss=through_u - (at.g * dz).sum((1, 2)),
        energy=(0.5 * at.shift * ds - at.g * dw).sum((1, 2)) + through_u,
    )


def rival_share(height):
    """The weight of a rival that is `height` blurs above its minimum: a step whose first three
    moments vanish.

    The prox jumps where a rival becomes the minimum. Averaged over a fixed set of nodes such a jump
    would make the map discontinuous; blurred over a few nodes it is smooth, and its derivative has
    its share from the jump. With the kernel ½(3 − t²)φ(t) instead of φ(t) the blur costs an error
    of fourth order only.
    """
    bounded = jnp.clip(height, -12.0, 12.0)
    normal = jnp.exp(-0.5 * bounded**2) / jnp.sqrt(2 * jnp.pi)
    return 1 - (jax.scipy.special.ndtr(bounded) + 0.5 * bounded * normal)


def _features(here: AtMinimum, xi, eta, scale, test_error):
    """What the moments are averages of, sample by sample: (F, N), in their layout."""
    outer = lambda left, right: left[:, :, None] * right[:, None]
    g, pulled = here.g, _over(here.g, scale)
    return Moments(
        outer(g, g), outer(g, xi), pulled, outer(g, eta), here.loss, here.energy, test_error
    ).over_samples()


def _target_slopes(structure: Structure, parameters, u):
    """∂T/∂u, (T, L, L, N)."""
    _, move = jax.linearize(lambda fields: lifted(structure.teacher)(fields, **parameters), u)
    return along_each(move, u)


def _loss_slopes(structure: Structure, problem: Problem, z, turned) -> tuple[Any, Any, Any, Any]:
    """ℓ(u, z), (N,), ∂ℓ/∂z, (D, N), ∂ℓ/∂u, (T, N), and −∂²ℓ/∂z∂u, (T, D, N); `turned` is ∂T/∂u."""
    attention, back = jax.vjp(
        lambda fields: lifted(structure.student)(fields, **problem.parameters), z
    )
    weighing = lambda matrix: weigh(matrix, problem.rho, problem.scale)
    onto = lambda matrix: back(matrix)[0].reshape(-1, z.shape[-1])
    weighed = weighing(problem.target - attention)
    along_u = (weighed * turned).sum((1, 2))
    mixed = jax.vmap(lambda along: onto(weighing(along)))(turned)
    pull_back = weighed if problem.gram is None else weighed - weigh(attention, problem.gram)
    return loss_of(problem, attention), -onto(pull_back), along_u, mixed


def of_fields(scale, fields):
    """The scale of every field, (G, a, N), from those of tokens, (L, N); None if there are no
    scales."""
    if scale is None:
        return None
    groups, inside, count = fields.shape
    return jnp.repeat(scale, groups * inside // len(scale), axis=0).reshape(groups, inside, count)


def _times(fields, scale):
    return fields if scale is None else fields * scale


def _over(fields, scale):
    return fields if scale is None else fields / scale


def _repeated(array, rival_of):
    if array is None:
        return None
    return jnp.concatenate([array, array[..., rival_of]], axis=-1)


def _flat(fields):
    """(K, L, r, N) as (K, L r, N)."""
    return fields.reshape(len(fields), -1, fields.shape[-1])
