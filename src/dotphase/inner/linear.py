"""Small linear systems, one per sample, samples on the last axis.

Elimination is written out over the D unknowns so that every operation runs along the samples: for D of a few this is
many times faster than a batched library call per D×D matrix.
"""

from __future__ import annotations

import jax.numpy as jnp


def eliminate(matrix, right):
    """Solve A X = B for symmetric A per sample, and tell the least pivot (positive iff A is positive definite).

    **Arguments**: `matrix` A, (D, D, …); `right` B, (D, K, …). **Returns** X, (D, K, …), and the least pivot, (…).
    """
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
