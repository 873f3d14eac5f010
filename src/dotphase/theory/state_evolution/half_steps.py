"""State evolution: the map from overlaps to overlaps whose fixed points describe the minima of the
loss as d → ∞.

Output half-step, an average over ξ_l ∈ R^{r_s} and η_l ∈ R^{r_t} (one block of nodes at a time):

    w_l = m_l + C_l ξ_l,   u_l = ψ_lᵀ ξ_l + K_l η_l,   z* a minimum of ½ Σ_l (z_l−w_l)ᵀV_l⁻¹(z_l−w_l) + ℓ(u, z),
    g_l = V_l⁻¹ (z*_l − w_l),   q̂_l = α E[g_l g_lᵀ],   m̂_l = α E[g_l],   θ̂_l = α E[g_l η_lᵀ] K_l⁻¹,
    V̂_l = −α E[g_l ξ_lᵀ] C_l⁻¹ + θ̂_l ψ_lᵀ C_l⁻¹                                  (Stein form of −α E[∂g_l/∂w_l])

Input half-step, an average over the distribution ν of (γ, τ, π):

    R = (λ + Σ_κ γ_κ V̂_κ)⁻¹,   c = Σ_κ (γ_κ θ̂_κ π + τ_κ m̂_κ),
    q_l = ⟨γ_l R(Σ_κ γ_κ q̂_κ + c cᵀ)R⟩,   V_l = ⟨γ_l R⟩,   m_l = ⟨τ_l R c⟩,   θ_l = ⟨γ_l R c πᵀ⟩.

(C, ψ and K are the factors of `overlaps/coordinates.py`; with them no matrix square root is
needed.) `minimum` selects z*, the lowest minimum or the one that training
reaches: see `inner/minima.py`.

*Correlated tokens*: all fields are one Gaussian; C, ψ, K, V⁻¹ and the moments are
those of all of them, the overlaps have blocks q_ll', V_ll', θ_ll', ρ_Σ in ℓ is a full matrix, and
in the input half-step Σ_κ γ_κ X_κ becomes Σ_κκ' Γ_κκ' X_κκ', and γ_l becomes Γ_ll'.

*Random scales*: one more average. w_l − m_l and u_l carry a factor s_l, V_l a factor s_l² and ρ_Σ
stands between diag(s); then ĝ_l = s_l g_l is in the place of g_l in q̂, θ̂ and V̂, but not in m̂.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ...inner.loss import Problem, applied, scaled, unscaled
from ...inner.minima import Reached, flow
from ...inner.minimiser import NEARLY, descend
from ...inner.search import search
from ...numerics.kept_programs import kept
from ...numerics.small_matrices import inverse, inverted, transposed
from ...overlaps.coordinates import distance, factors, from_coordinates, to_coordinates
from ...overlaps.correlated import grouped, ungroup
from ...overlaps.overlaps import Moments, Overlaps
from ...scenario.attentions.attention import lifted
from ...scenario.scenario import Structure
from .averages import Block, BlockMinima, Fields, averages, of_fields, with_rivals


class Evaluated(NamedTuple):
    """One output half-step over a block.

    - `minima`: of every node, followed to the present overlaps.
    - `moments`: flattened, of every replicate, (replicates, F);  `slopes`: their pooled derivatives
      along the given directions of coordinate space, (directions, F).
    - `unsettled`: the share of nodes whose descent did not come to rest.
    """

    minima: BlockMinima
    moments: Any
    slopes: Any
    unsettled: Any


class Searched(NamedTuple):
    """One search over a block: the `minima`; how much higher in energy each rival is, `gap`,
    (rivals,); the share of nodes with `several` minima."""

    minima: BlockMinima
    gap: Any
    several: Any


class Image(NamedTuple):
    """What the map makes of some moments: new `coordinates`, (n,), ε_g, ε_t, and the energy α
    E[E(z*)]."""

    coordinates: Any
    test_error: Any
    train_loss: Any
    energy: Any


def teacher_overlap(values):
    """ρ_l = ⟨γ_l π πᵀ⟩, (L, r_t, r_t), or ρ_ll' = ⟨Γ_ll' π πᵀ⟩, (L, L, r_t, r_t)."""
    distribution = values["distribution"]
    length = distribution["gamma"].shape[1]
    _, spread_out = along_groups(distribution)
    return spread_out(distribution["moment"][:, length:, length:])


def fields(structure: Structure, values, x, block: Block) -> Fields:
    """The nodes of a block as samples of the overlaps at `x`."""
    f = factors(x, teacher_overlap(values), structure.student.rank)
    s, tokens = block.scale, lambda groups: groups.reshape(structure.length, -1, block.xi.shape[-1])
    noise = (f.C[..., None] * block.xi[:, None]).sum(2)
    w = tokens(f.m[..., None] + (noise if s is None else of_fields(s, noise) * noise))
    u = (f.psi[..., None] * block.xi[:, :, None]).sum(1) + (
        f.K[..., None] * block.eta[:, None]
    ).sum(2)
    u = scaled(tokens(u), s)
    target = lifted(structure.teacher)(u, **values["teacher"])
    return Fields(
        f,
        u,
        Problem(target, w, f.precision, _rho_sigma(values), values["student"], s, values["gram"]),
    )


def _rho_sigma(values):
    """The diagonal of ρ_Σ, (L,), or all of it, (L, L)."""
    distribution = values["distribution"]
    return (
        distribution["weight"] @ distribution["gamma"]
        if distribution["Gamma"] is None
        else jnp.einsum("k,klm->lm", distribution["weight"], distribution["Gamma"])
    )


def signal(structure: Structure, values, x, at: Fields) -> tuple[Any, Any]:
    """What of a field is signal, E[w | u] = m + θ ρ⁻¹ u, (L, r_s, N), and the response V of every
    group of fields.

    Given scales s it is m + diag(s) θ ρ⁻¹ diag(s)⁻¹ u; they cancel where every token is on its own.
    """
    rho, s = teacher_overlap(values), at.problem.scale if structure.joint else None
    here = from_coordinates(x, rho, structure.student.rank)
    slope = grouped(here.theta) @ inverse(grouped(rho))
    return here.m[..., None] + scaled(applied(slope, unscaled(at.u, s)), s), grouped(here.V)


@lru_cache(maxsize=64)
def compiled_lowest(structure: Structure, rivals: int):
    """`(values, spread, x, block, known) -> Searched`: the lowest minima at x, from `known` ones
    and other starts."""

    def run(values, spread, x, block: Block, known: BlockMinima) -> Searched:
        _, u, problem = fields(structure, values, x, block)
        # The teacher's own fields, put where the student would have to reproduce them, are where
        # good minima lie.
        columns = min(u.shape[1], spread.shape[0])
        seen = (u[:, :columns, None] * spread[None, :columns, :, None]).sum(1)
        starts = jnp.stack([known.z[..., : u.shape[-1]], seen, -seen])
        minima = search(structure.student, problem, starts, rivals)
        both = jnp.concatenate([minima.z, minima.rival], axis=-1)
        return Searched(
            BlockMinima(both, minima.rival_of), minima.gap, block.pooled @ minima.several
        )

    return kept(run, structure, rivals)


@lru_cache(maxsize=64)
def compiled_reached(structure: Structure, rivals: int, method: Reached):
    """`(values, x, block) -> BlockMinima`: the minima at x that training reaches, with rivals that
    are none."""

    def run(values, x, block: Block) -> BlockMinima:
        at = fields(structure, values, x, block)
        start, V = signal(structure, values, x, at)
        return without_rivals(flow(structure.student, at.problem, start, V, method).z, rivals)

    return kept(run, structure, rivals, method)


@lru_cache(maxsize=64)
def compiled_first(structure: Structure, rivals: int, signals: bool):
    """`(values, x, block) -> BlockMinima`: where a descent may begin: at the fields w, or at their
    signal part."""

    def run(values, x, block: Block) -> BlockMinima:
        at = fields(structure, values, x, block)
        return without_rivals(
            signal(structure, values, x, at)[0] if signals else at.problem.centre, rivals
        )

    return kept(run, structure, rivals, signals, small=True)


def without_rivals(z, rivals: int) -> BlockMinima:
    """Minima whose rivals are they themselves, which changes nothing; as many as a search gives, in
    the type it gives them, or an evaluation would compile twice."""
    own = jnp.zeros(rivals, jnp.int32)
    return BlockMinima(jnp.concatenate([z, z[..., own]], axis=-1), own)


@lru_cache(maxsize=64)
def compiled_evaluate(structure: Structure):
    """`(values, x, directions, block, minima, blur) -> Evaluated`: follow the minima to x, and
    average."""

    def run(values, x, directions, block: Block, minima: BlockMinima, blur) -> Evaluated:
        at, rival_of = fields(structure, values, x, block), minima.rival_of
        found = descend(
            structure.student, with_rivals(at.problem, rival_of), minima.z, tolerance=NEARLY
        )
        rho = teacher_overlap(values)
        moves = jax.vmap(
            jax.linearize(lambda point: factors(point, rho, structure.student.rank), x)[1]
        )(directions)
        moments, slopes = averages(
            structure, values["teacher"], at, moves, found, block, rival_of, blur
        )
        unsettled = (~found.settled[: at.u.shape[-1]]).mean()
        return Evaluated(BlockMinima(found.z, rival_of), moments, slopes, unsettled)

    return kept(run, structure)


def conjugates(structure: Structure, values, x, moments) -> Overlaps:
    """q̂, V̂, m̂, θ̂ (in the places of q, V, m, θ) from the flattened moments of one output
    half-step at x."""
    f = factors(x, teacher_overlap(values), structure.student.rank)
    average, alpha = Moments.unflat(moments, structure.shape), values["sample_ratio"]
    invert = jnp.linalg.inv if structure.joint else inverted
    theta_hat = alpha * average.g_eta @ invert(f.K)
    V_hat = (theta_hat @ transposed(f.psi) - alpha * average.g_xi) @ invert(f.C)
    hats = Overlaps(
        alpha * average.gg, 0.5 * (V_hat + transposed(V_hat)), alpha * average.g, theta_hat
    )
    return ungroup(hats, structure.length) if structure.joint else hats


def input_step(values, hats: Overlaps) -> tuple[Overlaps, Any]:
    """The overlaps that conjugates give, and the ridge's part of the training loss, (λ/2)⟨Tr R(Σγq̂
    + ccᵀ)R⟩."""
    distribution, ridge = values["distribution"], values["ridge"]
    weight, moment = distribution["weight"], distribution["moment"]
    length, r_s = hats.m.shape
    gather, spread_out = along_groups(distribution)
    R = inverse(ridge * jnp.eye(r_s) + gather(hats.V))
    semantic = gather(hats.theta)
    carrier = jnp.concatenate(
        [jnp.broadcast_to(hats.m.T, (len(weight), r_s, length)), semantic], axis=2
    )
    response = jnp.einsum("kab,kbi,kij->kaj", R, carrier, moment)  # ⟨R c (τ, π)ᵀ⟩ of each group
    cc = jnp.einsum("kai,kij,kbj->kab", carrier, moment, carrier)
    spread = R @ (gather(hats.q) + cc) @ R
    m = jnp.einsum("k,kal->la", weight, response[:, :, :length])
    overlaps = Overlaps(spread_out(spread), spread_out(R), m, spread_out(response[:, :, length:]))
    return overlaps, 0.5 * ridge * jnp.einsum("k,kaa->", weight, spread)


def along_groups(distribution) -> tuple[Callable, Callable]:
    """X ↦ Σ_l γ_l X_l of every group of directions, (K, a, b), and X ↦ ⟨γ_l X⟩; or the same with
    Γ_ll'."""
    weight, gamma, Gamma = distribution["weight"], distribution["gamma"], distribution["Gamma"]
    if Gamma is None:
        gather = lambda X: jnp.einsum("kl,lab->kab", gamma, X)
        return gather, lambda X: jnp.einsum("k,kl,kab->lab", weight, gamma, X)
    gather = lambda X: jnp.einsum("klm,lmab->kab", Gamma, X)
    return gather, lambda X: jnp.einsum("k,klm,kab->lmab", weight, Gamma, X)


@lru_cache(maxsize=64)
def compiled_input(structure: Structure):
    """`(values, x, rows, directions, slopes) -> (image, apart, image slopes, residual)` of the
    input half-step.

    `rows` are flattened moments, (rows, F), the pooled ones first, whose `slopes` along
    `directions` are known. The `Image` of the pooled ones; how far those of the others lie from it,
    to first order, since few nodes need not give a positive response; its slopes along every
    direction; and its undamped residual.
    """

    def image(values, x, moments) -> Image:
        overlaps, ridge_part = input_step(values, conjugates(structure, values, x, moments))
        average, alpha = Moments.unflat(moments, structure.shape), values["sample_ratio"]
        new = to_coordinates(overlaps, teacher_overlap(values))
        return Image(
            new, average.test_error, alpha * average.loss + ridge_part, alpha * average.energy
        )

    def run(values, x, rows, directions, slopes):
        pooled, move = jax.linearize(
            lambda point, moments: image(values, point, moments), x, rows[0]
        )
        still, others = jnp.zeros((len(rows) - 1, len(x))), rows[1:] - rows[0]
        moved = jax.vmap(move)(
            jnp.concatenate([still, directions]), jnp.concatenate([others, slopes])
        )
        apart, pushed = (
            Image(*(part[cut] for part in moved))
            for cut in (slice(len(others)), slice(len(others), None))
        )
        rho, rank = teacher_overlap(values), structure.student.rank
        here, there = (
            from_coordinates(x, rho, rank),
            from_coordinates(pooled.coordinates, rho, rank),
        )
        return pooled, apart, pushed, distance(here, there, rho)

    return kept(run, structure, small=True)
