"""Unconstrained coordinates of the overlaps, in which the theory's equations are solved. Of each
token:

    C with q = C Cᵀ, its diagonal as logarithms;  the same for V;  m;  and φ for θ,
    C⁻¹ θ ρ^{-T/2} = φ A^{-T},   A Aᵀ = I + φᵀφ,   the coordinate being arsinh φ, entry by entry,

so that every point of coordinate space is a possible set of overlaps: q and V are positive, and ρ −
θᵀq⁻¹θ is too. Everywhere `rho` is ρ_l, (L, r_t, r_t); for correlated tokens it is ρ_ll',
(L, L, r_t, r_t), overlaps have two token indices likewise, and the coordinates are those of
`correlated.py`.
"""

from __future__ import annotations

from functools import lru_cache

import jax.numpy as jnp
import numpy as np

from ..numerics.kept_programs import kept
from ..numerics.small_matrices import cholesky, inverted, transposed
from . import correlated as joint
from .overlaps import Factors, Overlaps, coordinate_layout

FLOOR = 1e-16  # of q: weights that vanish come to rest there, with fields of 1e-8 that do nothing


def to_coordinates(overlaps: Overlaps, rho) -> jnp.ndarray:
    """Coordinates x, (size,), of overlaps; NaN if q, V or ρ − θᵀq⁻¹θ is not positive."""
    if joint.is_joint(rho):
        return joint.to_coordinates(overlaps, rho)
    # A student that learns nothing has q = 0: the floor keeps its logarithm finite.
    C = cholesky(overlaps.q + FLOOR * jnp.eye(overlaps.q.shape[1]))
    M = inverted(C) @ overlaps.theta @ transposed(inverted(cholesky(rho)))
    rest = cholesky(jnp.eye(M.shape[2]) - transposed(M) @ M)
    phi = M @ transposed(inverted(rest))
    parts = (_packed(C), _packed(cholesky(overlaps.V)), overlaps.m, jnp.arcsinh(phi))
    return jnp.concatenate([part.ravel() for part in parts])


def factors(x, rho, r_s: int) -> Factors:
    """The factors at coordinates `x`."""
    if joint.is_joint(rho):
        return joint.factors(x, rho, r_s)
    length, r_t = rho.shape[0], rho.shape[1]
    C, root_V, m, phi = _split(x, length, r_s, r_t)
    root, half = cholesky(rho), inverted(root_V)
    narrowing = inverted(cholesky(jnp.eye(r_t) + transposed(phi) @ phi))
    return Factors(
        C, transposed(half) @ half, m, phi @ transposed(root @ narrowing), root @ narrowing
    )


def from_coordinates(x, rho, r_s: int) -> Overlaps:
    """The overlaps at coordinates `x`."""
    if joint.is_joint(rho):
        return joint.from_coordinates(x, rho, r_s)
    length, r_t = rho.shape[0], rho.shape[1]
    C, root_V, m, _ = _split(x, length, r_s, r_t)
    return Overlaps(C @ transposed(C), root_V @ transposed(root_V), m, C @ factors(x, rho, r_s).psi)


SMALLEST = (
    1e-6  # overlaps far below this, in units of fields, do nothing: differences there are absolute
)


def distance(here: Overlaps, there: Overlaps, rho):
    """How far apart two sets of overlaps are: the largest difference, q and V in units of their
    size, m of √q and θ of √(q ρ), to which an absolute scale is added since any of them may vanish.
    """
    largest = lambda a: jnp.abs(a).max()
    q, V = largest(here.q) + SMALLEST**2, largest(here.V) + SMALLEST**2
    units = Overlaps(q, V, jnp.sqrt(q), jnp.sqrt(q * largest(rho)))
    parts = [largest(b - a) / unit for a, b, unit in zip(here, there, units, strict=True)]
    return jnp.stack(parts).max()


def _packed(root):
    """The lower triangle of a Cholesky factor, (L, r(r+1)/2), its diagonal as logarithms."""
    rows, columns = np.tril_indices(root.shape[1])
    entries = root[:, rows, columns]
    on = rows == columns
    return jnp.where(on, jnp.log(jnp.where(on, entries, 1.0)), entries)


def _unpacked(entries, r: int):
    rows, columns = np.tril_indices(r)
    on = rows == columns
    values = jnp.where(on, jnp.exp(jnp.where(on, entries, 0.0)), entries)
    return jnp.zeros((entries.shape[0], r, r), entries.dtype).at[:, rows, columns].set(values)


def _split(x, length: int, r_s: int, r_t: int):
    C, V, m, phi = coordinate_layout((length, r_s, r_t)).split(x)
    return _unpacked(C, r_s), _unpacked(V, r_s), m, jnp.sinh(phi)


coordinates_of = kept(to_coordinates, small=True)


@lru_cache(maxsize=16)
def _compiled_overlaps(rank: int):
    def run(x, rho) -> Overlaps:
        return from_coordinates(x, rho, rank)

    return kept(run, rank, small=True)


def overlaps_at(x: np.ndarray, rho: np.ndarray, rank: int) -> Overlaps:
    """The overlaps at coordinates x, as numpy arrays."""
    return Overlaps(*map(np.asarray, _compiled_overlaps(rank)(x, rho)))
