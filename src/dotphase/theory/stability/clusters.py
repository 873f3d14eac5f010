"""One step of replica-symmetry breaking at zero temperature: the map, its free energy and
complexity.

Minima of the loss come in clusters: overlap q_1 = q_0 + Δ within one, q_0 between two. With w_0 = m
+ C_0 ξ_0, q_0 = C_0C_0ᵀ, and u correlated with ξ_0 only, every sample (ξ_0, η) has fields w = w_0 +
D ξ_1, Δ = DDᵀ; M(w) is the energy of its lowest minimum there, and ⟨·⟩ the average over ξ_1 with
weight ∝ exp(−y M(w)). Per token l,

    q̂_1 = α E⟨g gᵀ⟩,   q̂_0 = α E⟨g⟩⟨g⟩ᵀ,   m̂ = α E⟨g⟩,   θ̂ = α E[⟨g⟩ηᵀ] K⁻¹,
    V̂ = (θ̂ψᵀ − α E[⟨g⟩ξ_0ᵀ]) C_0⁻¹ + y(q̂_1 − q̂_0)                                     (= −α E⟨∂g/∂w⟩, jumps included)

and per group of directions, Λ = λ + Σ_κ γ_κV̂_κ, Δ̂ = Σ_κ γ_κ(q̂_1 − q̂_0)_κ, Λ_y = Λ − yΔ̂, H = Σ_κ
γ_κ q̂_0κ + ccᵀ,

    q_0 = ⟨γ_l Λ_y⁻¹ H Λ_y⁻¹⟩,   Δ = ⟨γ_l Λ⁻¹ Δ̂ Λ_y⁻¹⟩,   V = ⟨γ_l Λ⁻¹⟩,   m = ⟨τ_l Λ_y⁻¹ c⟩,   θ = ⟨γ_l Λ_y⁻¹ c πᵀ⟩.

These are the conditions for f to be stationary, of which Σ = y² ∂f/∂y is the complexity:

    f = Σ_l {½ Tr[q̂_1V − V̂q_1 + y(q̂_1q_1 − q̂_0q_0)] + m̂·m + Tr θ̂ᵀθ}
        − ½⟨Tr Λ_y⁻¹H⟩ + ⟨ln det Λ_yΛ⁻¹⟩/2y − (α/y) E ln⟨e^{−yM}⟩.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...inner.loss import prox_force
from ...inner.minimiser import descend
from ...inner.search import search
from ...numerics.kept_programs import kept
from ...overlaps.overlaps import Moments
from ...scenario.scenario import Structure
from ..state_evolution.averages import Block
from ..state_evolution.half_steps import conjugates, fields

TOGETHER = 1024  # fields worked on together, as in `nodes.py`


class Clusters(NamedTuple):
    """The overlaps of one step of breaking, per token: `q_0`, `spread` Δ, `V`, (L, r_s, r_s), `m`,
    `theta`; likewise their conjugates, where `spread` is q̂_1 − q̂_0."""

    q_0: Any
    spread: Any
    V: Any
    m: Any
    theta: Any

    @property
    def q_1(self) -> Any:
        return self.q_0 + self.spread


class Averages(NamedTuple):
    """Averages over samples, as flattened `Moments`: in the place of E[g gᵀ], `within` has E⟨g gᵀ⟩
    and `between` has E⟨g⟩⟨g⟩ᵀ; both have E ln⟨e^{−yM}⟩/y, which is −E⟨M⟩ at y = 0, in the place of
    the loss, and E⟨M⟩ as the energy."""

    within: Any
    between: Any


@lru_cache(maxsize=16)
def compiled_clusters(structure: Structure):
    """`(values, spread, x, D, y, block, inner, shift, known) -> (minima, Averages per replicate)`.

    **Arguments**

    - `x`: coordinates of (q_0, V, m, θ); `D`: (L, r_s, r_s).
    - `block`: N nodes (ξ_0, η); `inner`: I points of the unit cube, (L r_s, I), moved by a `shift`
      of each node's own, (L r_s, N), modulo one: normals ξ_1.
    - `known`: where descents may begin, (N/k, L, r_s, k I), and where the minima found are
      returned.
    """

    def run(values, spread, x, D, y, block: Block, inner, shift, known):
        at, count = fields(structure, values, x, block), block.xi.shape[-1]
        some = known.shape[-1] // inner.shape[-1]
        cut = lambda array: jnp.moveaxis(array.reshape(*array.shape[:-1], -1, some), -2, 0)
        work = lambda part: _some(structure, spread, at.problem, D, y, inner, *part)
        parts = tuple(map(cut, (at.problem.centre, at.problem.target, at.u, shift)))
        z, *averages = jax.lax.map(work, (*parts, known))
        g, gg, log, energy = (
            jnp.moveaxis(each, 0, -2).reshape(*each.shape[1:-1], count) for each in averages
        )
        outer = lambda left, right: left[:, :, None] * right[:, None]
        replicates, per = block.weights.shape
        rows = []
        for square in (gg, outer(g, g)):
            features = Moments(
                square, outer(g, block.xi), g, outer(g, block.eta), log, energy, 0 * log
            ).over_samples()
            rows.append(
                (features * block.weights.reshape(-1)).reshape(-1, replicates, per).sum(-1).T
            )
        return z, Averages(*rows)

    return kept(run, structure)


def _some(structure: Structure, spread, problem, D, y, inner, w_0, target, u, shift, known):
    """Of k samples: their minima, ⟨g⟩, ⟨g gᵀ⟩, ln⟨e^{−yM}⟩/y and ⟨M⟩, samples on the last axis.

    About w_0 the weight is e^{y g_0·Dξ}, a normal moved by s = y Dᵀg_0: nodes are moved there, and
    weighed for it by e^{−s·ξ − s²/2}. Without that a few nodes of large g would have all the
    weight.
    """
    length, rank, count = w_0.shape
    size = inner.shape[-1]
    each = lambda array: jnp.repeat(array, size, axis=-1)
    of = lambda array: array.reshape(*array.shape[:-1], count, size)
    columns = min(u.shape[1], spread.shape[0])
    seen = (u[:, :columns, None] * spread[None, :columns, :, None]).sum(1)
    lowest = lambda one, z, seen: search(structure.student, one, jnp.stack([z, seen, -seen]), 1).z
    middle = problem._replace(centre=w_0, target=target)
    t = (
        D[..., None] * prox_force(middle, lowest(middle, of(known)[..., 0], seen))[:, :, None]
    ).sum(1)

    uniform = jnp.mod(inner[:, None] + shift[:, :, None], 1.0)
    xi = jax.scipy.special.ndtri(jnp.clip(uniform, 1e-12, 1 - 1e-12)).reshape(length, rank, -1)
    w = each(w_0) + (D[..., None] * (xi + y * each(t))[:, None]).sum(2)
    one = problem._replace(centre=w, target=each(target))
    found = descend(structure.student, one, lowest(one, known, each(seen)))
    M, g = of(found.energy), of(prox_force(one, found.z))
    mean_M, linear = M.mean(-1), of((each(t) * xi).sum((0, 1)))
    heights = -y * (M - mean_M[..., None] + linear) - 0.5 * y**2 * (t**2).sum((0, 1))[:, None]
    weights = jax.nn.softmax(heights, axis=-1)
    mean = lambda array: (weights * array).sum(-1)
    gained = jax.nn.logsumexp(heights, axis=-1) - jnp.log(size)
    log = jnp.where(y > 0, gained / jnp.where(y > 0, y, 1.0), -linear.mean(-1)) - mean_M
    # ⟨M⟩ as −∂(ln⟨e^{−yM}⟩)/∂y with the nodes moving along: what is added averages to nothing, and
    # takes noise away.
    along = (g * (D[..., None] * t[:, None]).sum(2)[..., None]).sum((0, 1))
    energy = mean(M + linear - y * along) + y * (t**2).sum((0, 1))
    return found.z, mean(g), mean(g[:, :, None] * g[:, None]), log, energy


class PerGroup(NamedTuple):
    """The input half-step per group of directions: `weight`, (K,), `gamma`, (K, L), Λ, Λ_y, Δ̂, H,
    (K, r_s, r_s), and ⟨c (τ, π)ᵀ⟩, `signal`, (K, r_s, L + r_t)."""

    weight: np.ndarray
    gamma: np.ndarray
    stiffness: np.ndarray
    softened: np.ndarray
    spread: np.ndarray
    fields: np.ndarray
    signal: np.ndarray


@lru_cache(maxsize=16)
def compiled_conjugates(structure: Structure):
    """`(values, x, y, averages) -> Clusters` of conjugates; without y(q̂_1 − q̂_0), V̂ is in its
    Stein form."""

    def run(values, x, y, averages: Averages) -> Clusters:
        within, between = (conjugates(structure, values, x, row) for row in averages)
        spread = within.q - between.q
        return Clusters(between.q, spread, within.V + y * spread, within.m, within.theta)

    return kept(run, structure)


def per_group(distribution, ridge: float, y: float, hats: Clusters) -> PerGroup:
    """What conjugates make of each group of directions."""
    length, r_s = hats.m.shape
    gather = lambda per_token: np.einsum("kl,lab->kab", distribution.gamma, per_token)
    stiffness, spread = ridge * np.eye(r_s) + gather(hats.V), gather(hats.spread)
    positions = np.broadcast_to(hats.m.T, (len(distribution.weight), r_s, length))
    carrier = np.concatenate([positions, gather(hats.theta)], axis=2)
    signal = carrier @ distribution.moment
    H = gather(hats.q_0) + signal @ np.swapaxes(carrier, 1, 2)
    return PerGroup(
        distribution.weight,
        distribution.gamma,
        stiffness,
        stiffness - y * spread,
        spread,
        H,
        signal,
    )


def positive(at: PerGroup) -> bool:
    """Whether Λ and Λ_y are positive, without which there is no input half-step."""
    both = np.concatenate([at.stiffness, at.softened])
    return bool(np.isfinite(both).all() and np.linalg.eigvalsh(both).min() > 0)


def overlaps_from(at: PerGroup) -> Clusters:
    """The overlaps that conjugates give."""
    length = at.gamma.shape[1]
    R, R_y = np.linalg.inv(at.stiffness), np.linalg.inv(at.softened)
    over = lambda per_kind: np.einsum("k,kl,kab->lab", at.weight, at.gamma, per_kind)
    response = R_y @ at.signal
    return Clusters(
        q_0=over(R_y @ at.fields @ R_y),
        spread=over(R @ at.spread @ R_y),
        V=over(R),
        m=np.einsum("k,kal->la", at.weight, response[:, :, :length]),
        theta=over(response[:, :, length:]),
    )


def free_energy(
    at: PerGroup, y: float, overlaps: Clusters, hats: Clusters, alpha: float, log: float
) -> float:
    """f; `log` is E ln⟨e^{−yM}⟩/y."""
    inner = lambda left, right: float(np.sum(left * right))
    coupling = (
        inner(hats.q_1, overlaps.V) - inner(hats.V, overlaps.q_1) + y * _squares(overlaps, hats)
    )
    signal = inner(hats.m, overlaps.m) + inner(hats.theta, overlaps.theta)
    trace = _trace(at, np.linalg.solve(at.softened, at.fields))
    return 0.5 * (coupling - trace + _log_ratio(at, y)) + signal - alpha * log


def complexity(
    at: PerGroup,
    y: float,
    overlaps: Clusters,
    hats: Clusters,
    alpha: float,
    log: float,
    energy: float,
) -> float:
    """Σ = y² ∂f/∂y, all else held; `energy` is E⟨M⟩."""
    if y == 0:
        return 0.0
    turned = np.linalg.solve(at.softened, at.spread)
    moved = _trace(at, turned @ np.linalg.solve(at.softened, at.fields))
    channel = _squares(overlaps, hats) - moved - (_log_ratio(at, y) + _trace(at, turned)) / y
    return 0.5 * y**2 * channel + alpha * y * (log + energy)


def _squares(overlaps: Clusters, hats: Clusters) -> float:
    """Σ_l Tr[q̂_1q_1 − q̂_0q_0]."""
    return float(np.sum(hats.q_1 * overlaps.q_1) - np.sum(hats.q_0 * overlaps.q_0))


def _trace(at: PerGroup, matrices: np.ndarray) -> float:
    return float(at.weight @ np.trace(matrices, axis1=1, axis2=2))


def _log_ratio(at: PerGroup, y: float) -> float:
    """⟨ln det Λ_yΛ⁻¹⟩/y, which is −⟨Tr Λ⁻¹Δ̂⟩ at y = 0."""
    turned = np.linalg.solve(at.stiffness, at.spread)
    if y == 0:
        return -_trace(at, turned)
    eigenvalues = np.linalg.eigvals(turned)
    return float(at.weight @ np.log1p(-y * eigenvalues.real).sum(1)) / y
