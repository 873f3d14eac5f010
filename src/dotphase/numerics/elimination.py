"""Small linear systems, one per sample, samples on the last axis.

Elimination runs along the samples, which is many times faster than a batched library call per D×D
matrix.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def eliminate(matrix, right):
    """Solve A X = B for symmetric A per sample, and tell the least pivot (positive iff A is
    positive definite).

    **Arguments**: `matrix` A, (D, D, …); `right` B, (D, K, …). **Returns** X, (D, K, …), and the
    least pivot, (…).
    """
    # unknowns up to which elimination is written out: faster to run there, beyond slower to compile
    written_out = 4
    return (_written_out if len(matrix) <= written_out else _row_by_row)(matrix, right)


def _written_out(matrix, right):
    size, width = matrix.shape[0], matrix.shape[0] + right.shape[1]
    # Entries as separate arrays: nothing is sliced or copied between the steps.
    rows = [[*matrix[i], *right[i]] for i in range(size)]
    least = None
    for k in range(size):
        pivot = rows[k][k]
        least = pivot if least is None else jnp.minimum(least, pivot)
        inverse = 1 / jnp.where(pivot == 0, 1.0, pivot)
        for j in range(k + 1, width):
            rows[k][j] = rows[k][j] * inverse
        for i in range(size):
            if i != k:
                factor = rows[i][k]
                for j in range(k + 1, width):
                    rows[i][j] = rows[i][j] - factor * rows[k][j]
    return jnp.stack([jnp.stack(row[size:]) for row in rows]), least


def _row_by_row(matrix, right):
    size = len(matrix)
    others = jnp.arange(size).reshape(size, 1, *[1] * (matrix.ndim - 2))

    def clear(k, state):
        rows, least = state
        row, column = rows[k], rows[:, k]
        pivot = row[k]
        row = row * (1 / jnp.where(pivot == 0, 1.0, pivot))
        return jnp.where(others == k, row, rows - column[:, None] * row), jnp.minimum(least, pivot)

    begin = (
        jnp.concatenate([matrix, right], axis=1),
        jnp.full(matrix.shape[2:], jnp.inf, matrix.dtype),
    )
    rows, least = jax.lax.fori_loop(0, size, clear, begin)
    return rows[:, size:], least
