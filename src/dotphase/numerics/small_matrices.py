"""Cholesky factors of small matrices, on the last two axes, written out entry by entry.

A library call per matrix costs more than all the arithmetic of a few numbers, and its derivatives
many calls more.
"""

from __future__ import annotations

import jax.numpy as jnp


def cholesky(matrix):
    """Lower triangular C with C Cᵀ = matrix; entries that are not numbers tell that it is not
    positive definite."""
    size = matrix.shape[-1]
    C: list[list] = [[None] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            rest = matrix[..., i, j] - sum(C[i][k] * C[j][k] for k in range(j))
            C[i][j] = jnp.sqrt(rest) if i == j else rest / C[j][j]
    return _assembled(C, matrix.shape[:-2])


def inverted(lower):
    """The inverse of a lower triangular matrix."""
    size = lower.shape[-1]
    inverse: list[list] = [[None] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            against = sum(lower[..., i, k] * inverse[k][j] for k in range(j, i))
            inverse[i][j] = ((1.0 if i == j else 0.0) - against) / lower[..., i, i]
    return _assembled(inverse, lower.shape[:-2])


def inverse(matrix):
    """The inverse of a symmetric positive definite matrix."""
    half = inverted(cholesky(matrix))
    return transposed(half) @ half


def transposed(matrix):
    return jnp.swapaxes(matrix, -1, -2)


def _assembled(rows, shape):
    entry = lambda value: jnp.zeros(shape) if value is None else jnp.broadcast_to(value, shape)
    return jnp.stack([jnp.stack([entry(value) for value in row], axis=-1) for row in rows], axis=-2)
