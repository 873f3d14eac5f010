"""Word vectors from the text itself: the leading directions of its co-occurrence statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .words import Corpus

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def embed(corpus: Corpus, dimension: int, window: int = 5) -> np.ndarray:
    """One vector per word, (words, d): E = U S^{1/2} with U S Uᵀ the leading d terms of the
    singular value decomposition of the positive mutual information

        M_ab = max(0, log(n_ab n/(n_a n_b))),

    n_ab counting how often words a and b stand at most `window` places apart (n_a, n its sums).

    **Arguments**: `corpus`; `dimension`, d; `window`.
    """
    from scipy.sparse.linalg import eigsh

    size = len(corpus.words)
    if size <= dimension:
        raise ValueError(
            f"dimension: {dimension} directions need more than {dimension} different words, the text has {size} that "
            "are frequent enough; lower --dimension or --least, or give more text"
        )
    information = positive_information(neighbours(corpus, window))
    start = np.random.default_rng(0).standard_normal(size)
    values, U = eigsh(
        information, k=dimension, v0=start
    )  # symmetric: its singular values are |eigenvalues|
    order = np.argsort(-np.abs(values))
    signs = np.sign(U[np.abs(U).argmax(0), np.arange(dimension)])
    return (U * signs * np.sqrt(np.abs(values)))[:, order]


def neighbours(corpus: Corpus, window: int) -> csr_array:
    """n_ab: how often words a and b stand at most `window` places apart in one document; symmetric,
    sparse."""
    from scipy.sparse import coo_array, csr_array

    size = len(corpus.words)
    total = csr_array((size, size), dtype=np.float64)
    for distance in range(1, window + 1):
        left = np.concatenate([ids[:-distance] for ids in corpus.documents])
        right = np.concatenate([ids[distance:] for ids in corpus.documents])
        total = total + coo_array((np.ones(len(left)), (left, right)), shape=(size, size)).tocsr()
    return (total + total.T).tocsr()


def positive_information(counts: csr_array) -> csr_array:
    """max(0, log(n_ab n/(n_a n_b))), where n_ab is not zero."""
    pairs = counts.tocoo()
    rows = np.asarray(counts.sum(1)).ravel()
    a, b = pairs.coords
    pairs.data = np.maximum(np.log(pairs.data * rows.sum() / (rows[a] * rows[b])), 0.0)
    found = pairs.tocsr()
    found.eliminate_zeros()
    return found
