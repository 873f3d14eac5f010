"""ν, the joint distribution of (γ, τ, π) over the eigen-directions, reduced to what the theory sees of it.

The theory averages expressions that depend on γ in any way but on (τ, π) only through products of
two of them. So directions with equal γ can be merged, keeping their total weight and the second
moment of (τ, π) among them. For correlated tokens, Γ takes the place of γ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .tokens import Positions, Tokens


class Distribution(NamedTuple):
    """Groups of directions k with distinct spectra.

    - `weight`: (K,), the share of directions of each group.
    - `gamma`: γ, (K, L).
    - `moment`: ⟨(τ, π)(τ, π)ᵀ⟩ within each group, (K, L + r_t, L + r_t).
    - `Gamma`: Γ, (K, L, L), whose diagonals are γ; None where every Γ is diagonal.
    """

    weight: np.ndarray
    gamma: np.ndarray
    moment: np.ndarray
    Gamma: np.ndarray | None = None

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
    def joint_rho(self) -> np.ndarray:
        """Covariance of the teacher's fields: ρ_l, (L, r_t, r_t), or, for correlated tokens,
        ρ_ll' = ⟨Γ_ll' π πᵀ⟩, (L, L, r_t, r_t)."""
        if self.Gamma is None:
            return self.rho
        length = self.gamma.shape[1]
        return np.einsum(
            "k,klm,kij->lmij", self.weight, self.Gamma, self.moment[:, length:, length:]
        )

    @property
    def mean_gamma(self) -> np.ndarray:
        """The diagonal of ρ_Σ: ∫γ_l, (L,)."""
        return self.weight @ self.gamma

    @property
    def mean_Gamma(self) -> np.ndarray:
        """ρ_Σ = ⟨Γ⟩, (L, L), diagonal or not."""
        if self.Gamma is None:
            return np.diag(self.mean_gamma)
        return np.einsum("k,klm->lm", self.weight, self.Gamma)


class Table(NamedTuple):
    """Groups of directions as they were given: `share` (K,), γ (K, L), τ (K, L), π (K, r_t) or None,
    Γ (K, L, L) or None where every Γ is diagonal."""

    share: np.ndarray
    gamma: np.ndarray
    tau: np.ndarray
    pi: np.ndarray | None
    Gamma: np.ndarray | None


def table_of(tokens: Tokens, positions: Positions, pi: np.ndarray | None) -> Table:
    """The groups of directions, single rows repeated to the common length K."""
    gamma, tau, share = tokens.gamma, positions.tau, tokens.share
    rows = max(len(gamma), len(tau), 1 if pi is None else len(pi))
    if len(gamma) == 1:
        share = np.full(rows, 1 / rows)
    wide = lambda table: np.broadcast_to(table, (rows, *table.shape[1:]))
    return Table(
        share,
        wide(gamma),
        wide(tau),
        None if pi is None else wide(pi),
        wide(tokens.Gamma) if tokens.joint else None,
    )


def distribution_of(
    tokens: Tokens, positions: Positions, teacher_rank: int, pi: np.ndarray | None
) -> Distribution:
    """The distribution behind the spectra, the encodings and the teacher's weights (π ~ N(0, I) independent
    when None)."""
    share, gamma, tau, pi, Gamma = table_of(tokens, positions, pi)
    length, rows = gamma.shape[1], len(gamma)
    moment = np.zeros((rows, length + teacher_rank, length + teacher_rank))
    if pi is None:
        moment[:, :length, :length] = tau[:, :, None] * tau[:, None, :]
        moment[:, length:, length:] = np.eye(teacher_rank)
    else:
        joint = np.hstack([tau, pi])
        moment = joint[:, :, None] * joint[:, None, :]
    spectra = gamma if Gamma is None else Gamma.reshape(rows, -1)
    distinct, group = np.unique(spectra, axis=0, return_inverse=True)
    weight = np.bincount(group.ravel(), share, minlength=len(distinct))
    merged = np.zeros((len(distinct), *moment.shape[1:]))
    np.add.at(merged, group.ravel(), share[:, None, None] * moment)
    present = weight > 0
    weight, distinct, moment = (
        weight[present],
        distinct[present],
        merged[present] / weight[present, None, None],
    )
    if Gamma is None:
        return Distribution(weight, distinct, moment)
    distinct = distinct.reshape(-1, length, length)
    return Distribution(weight, np.einsum("kll->kl", distinct), moment, distinct)
