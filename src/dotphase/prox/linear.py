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
    size = matrix.shape[0]
    rows = [jnp.concatenate([matrix[i], right[i]]) for i in range(size)]
    pivots = []
    for k in range(size):
        pivot = rows[k][k]
        pivots.append(pivot)
        safe = jnp.where(pivot == 0, 1.0, pivot)
        rows[k] = rows[k] / safe
        for i in range(size):
            if i != k:
                rows[i] = rows[i] - rows[i][k] * rows[k]
    least = pivots[0]
    for pivot in pivots[1:]:
        least = jnp.minimum(least, pivot)
    return jnp.stack([row[size:] for row in rows]), least
