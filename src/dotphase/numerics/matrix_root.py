"""The symmetric root of matrices that are positive semi-definite up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np


def symmetric_root(matrices: Any, library: Any = np) -> Any:
    """A^{1/2} on the last two axes; what rounding has put below zero counts as zero.

    **Arguments**: `matrices`, (…, r, r); `library`: `jax.numpy` inside compiled functions.
    """
    if matrices.shape[-1] == 1:
        return library.sqrt(library.maximum(matrices, 0.0))
    values, vectors = library.linalg.eigh(matrices)
    root = library.sqrt(library.maximum(values, 0.0))[..., None, :]
    return (vectors * root) @ library.swapaxes(vectors, -1, -2)
