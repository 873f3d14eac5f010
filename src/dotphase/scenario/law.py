"""ν, the joint law of (γ, τ, π) over the eigen-directions, reduced to what the theory sees of it.

The theory averages expressions that depend on γ in any way but on (τ, π) only through products of two of them. So
directions with equal γ can be merged, keeping their total weight and the second moment of (τ, π) among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .tokens import Positions, Tokens


class Law(NamedTuple):
    """Kinds of direction k with distinct spectra.

    - `weight`: (K,), the share of directions of each kind.
    - `gamma`: γ, (K, L).
    - `moment`: ⟨(τ, π)(τ, π)ᵀ⟩ within each kind, (K, L + r_t, L + r_t).
    """

    weight: np.ndarray
    gamma: np.ndarray
    moment: np.ndarray

    @property
    def gram(self) -> np.ndarray:
        """p_l·p_l', (L, L)."""
        length = self.gamma.shape[1]
        return np.einsum("k,kij->ij", self.weight, self.moment[:, :length, :length])

    @property
    def rho(self) -> np.ndarray:
        """ρ_l = ⟨γ_l π πᵀ⟩, (L, r_t, r_t)."""
        length = self.gamma.shape[1]
        return np.einsum("k,kl,kij->lij", self.weight, self.gamma, self.moment[:, length:, length:])

    @property
    def mean_gamma(self) -> np.ndarray:
        """The diagonal of ρ_Σ: ∫γ_l, (L,)."""
        return self.weight @ self.gamma


def table_of(tokens: Tokens, positions: Positions, pi: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Weights (K,), γ (K, L), τ (K, L) and π (K, r_t) or None, with single rows repeated to the common length K."""
    gamma, tau, share = tokens.gamma, positions.tau, tokens.share
    rows = max(len(gamma), len(tau), 1 if pi is None else len(pi))
    if len(gamma) == 1:
        share = np.full(rows, 1 / rows)
    wide = lambda table: np.broadcast_to(table, (rows, table.shape[1]))
    return share, wide(gamma), wide(tau), None if pi is None else wide(pi)  # type: ignore[return-value]


def law_of(tokens: Tokens, positions: Positions, teacher_rank: int, pi: np.ndarray | None) -> Law:
    """The law behind the spectra, the encodings and the teacher's weights (π ~ N(0, I) independent when None)."""
    share, gamma, tau, pi = table_of(tokens, positions, pi)
    length, rows = gamma.shape[1], len(gamma)
    moment = np.zeros((rows, length + teacher_rank, length + teacher_rank))
    if pi is None:
        moment[:, :length, :length] = tau[:, :, None] * tau[:, None, :]
        moment[:, length:, length:] = np.eye(teacher_rank)
    else:
        joint = np.hstack([tau, pi])
        moment = joint[:, :, None] * joint[:, None, :]
    kinds, group = np.unique(gamma, axis=0, return_inverse=True)
    weight = np.bincount(group.ravel(), share, minlength=len(kinds))
    merged = np.zeros((len(kinds), *moment.shape[1:]))
    np.add.at(merged, group.ravel(), share[:, None, None] * moment)
    present = weight > 0
    return Law(weight[present], kinds[present], merged[present] / weight[present, None, None])
