"""The directions of encodings and teacher as orthonormal modes, in every group of directions.

In group k, X = (τ_1 … τ_L, π) has second moments M_k = Σ_a B_a B_aᵀ, so that

    X = Σ_a B_a e_a,    ⟨e_a e_a'⟩ = δ_aa',

and weights Q = F X are Q = Σ_a A_a e_a with A_a = F B_a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...scenario.distribution import Distribution


class Signals(NamedTuple):
    """`group`: k of each mode, (A,); `loads`: B, (A, L + r_t), encodings first; `length`: L."""

    group: np.ndarray
    loads: np.ndarray
    length: int

    @property
    def encodings(self) -> np.ndarray:
        """The loads of τ, (A, L)."""
        return self.loads[:, : self.length]

    @property
    def teacher(self) -> np.ndarray:
        """The loads of π, (A, r_t)."""
        return self.loads[:, self.length :]


def signals_of(distribution: Distribution) -> Signals:
    """The modes that span encodings and teacher; those of M = 0 are left out."""
    length = distribution.gamma.shape[1]
    found = [(k, load) for k, M in enumerate(distribution.moment) for load in _loads(M, length)]
    group, loads = zip(*found, strict=True)
    return Signals(np.array(group), np.array(loads), length)


def _loads(moment: np.ndarray, length: int) -> list[np.ndarray]:
    """The rows B_a of one group: modes of the encodings, then modes of what the teacher has besides
    them."""
    rows: list[np.ndarray] = []
    for block in (slice(length), slice(length, None)):
        rest = moment - sum(np.outer(row, row) for row in rows)
        values, vectors = np.linalg.eigh(rest[block, block])
        for value, vector in zip(values, vectors.T, strict=True):
            if value > 1e-12 * np.abs(moment).max():
                rows.append(rest[:, block] @ vector / np.sqrt(value))
    return rows
