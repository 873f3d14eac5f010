"""Overlaps of correlated tokens: blocks q_ll', V_ll', θ_ll' of one joint Gaussian, and
their coordinates.

    q = C Cᵀ with C = exp X symmetric, the coordinate being X;  the same for V;  m;  and arsinh φ for θ,
    C⁻¹ θ ρ^{-1/2} = φ A^{-1},   A² = 1 + φᵀφ,

all roots symmetric, where single tokens have triangular ones (`coordinates.py`): exchanging two
tokens then exchanges entries of X and of φ, and the nodes (ξ, η) of the two tokens exchange their
fields. With one field X is the same coordinate there and here.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..numerics.small_matrices import exponential, half_log, inverse_root, root, transposed
from .overlaps import Factors, Overlaps, coordinate_layout

FLOOR = 1e-16  # as in `coordinates.py`


def is_joint(blocks: Any) -> bool:
    """Whether an overlap is one of two tokens, (L, L, a, b), and not of single ones, (L, a, b)."""
    return blocks.ndim == 4


def grouped(blocks: Any) -> Any:
    """Blocks (L, L, a, b) as the matrix of one group of fields, (1, L a, L b); what is of single
    tokens stays so."""
    if not is_joint(blocks):
        return blocks
    length, _, a, b = blocks.shape
    return blocks.swapaxes(1, 2).reshape(1, length * a, length * b)


def blocks_of(matrix: Any, length: int) -> Any:
    """The matrix of one group of fields, (…, 1, L a, L b), as blocks (…, L, L, a, b)."""
    *lead, _, rows, columns = matrix.shape
    return matrix.reshape(*lead, length, rows // length, length, columns // length).swapaxes(-2, -3)


def group(overlaps: Overlaps) -> Overlaps:
    """Overlaps with their blocks as matrices of one group, m included; those of single tokens stay
    as they are."""
    if not is_joint(overlaps.theta):
        return overlaps
    return Overlaps(
        grouped(overlaps.q), grouped(overlaps.V), overlaps.m.reshape(1, -1), grouped(overlaps.theta)
    )


def ungroup(overlaps: Overlaps, length: int) -> Overlaps:
    """Overlaps of one group of fields as blocks of tokens."""
    q, V, m, theta = overlaps
    return Overlaps(
        blocks_of(q, length), blocks_of(V, length), m.reshape(length, -1), blocks_of(theta, length)
    )


def single(overlaps: Overlaps) -> Overlaps:
    """Of joint overlaps, those of every token with itself: q_l = q_ll, and so on."""
    if not is_joint(overlaps.theta):
        return overlaps
    own = lambda blocks: np.einsum("llab->lab", blocks)
    return Overlaps(own(overlaps.q), own(overlaps.V), overlaps.m, own(overlaps.theta))


def to_coordinates(overlaps: Overlaps, rho: Any) -> Any:
    """Coordinates of joint overlaps; NaN if q, V or ρ − θᵀq⁻¹θ is not positive."""
    (q, V, m, theta), rho = group(overlaps), grouped(rho)
    X = half_log(q + FLOOR * jnp.eye(q.shape[1]))
    M = exponential(-X) @ theta @ inverse_root(rho)
    phi = M @ inverse_root(jnp.eye(M.shape[2]) - transposed(M) @ M)
    parts = (_triangle(X), _triangle(half_log(V)), m, jnp.arcsinh(phi))
    return jnp.concatenate([part.ravel() for part in parts])


def factors(x: Any, rho: Any, r_s: int) -> Factors:
    """The factors at coordinates `x`, of one group."""
    X, Y, m, phi = _split(x, rho, r_s)
    rho = grouped(rho)
    narrowed = root(rho) @ inverse_root(jnp.eye(rho.shape[1]) + transposed(phi) @ phi)
    half = exponential(-Y)
    return Factors(exponential(X), half @ half, m, phi @ transposed(narrowed), narrowed)


def from_coordinates(x: Any, rho: Any, r_s: int) -> Overlaps:
    """The overlaps at coordinates `x`, as blocks of tokens."""
    X, Y, m, _ = _split(x, rho, r_s)
    C, root_V = exponential(X), exponential(Y)
    return ungroup(Overlaps(C @ C, root_V @ root_V, m, C @ factors(x, rho, r_s).psi), len(rho))


def _split(x: Any, rho: Any, r_s: int):
    length, r_t = rho.shape[0], rho.shape[2]
    X, Y, m, phi = coordinate_layout((1, length * r_s, length * r_t)).split(x)
    return _symmetric(X, length * r_s), _symmetric(Y, length * r_s), m, jnp.sinh(phi)


def _triangle(matrix: Any) -> Any:
    rows, columns = np.tril_indices(matrix.shape[-1])
    return matrix[:, rows, columns]


def _symmetric(entries: Any, size: int) -> Any:
    rows, columns = np.tril_indices(size)
    place = np.zeros((size, size), int)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return entries[:, place]
