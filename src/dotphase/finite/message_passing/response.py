"""How the weights answer to a pull on a sample, V, and what stands between samples and directions:
Γ, γ and the scales.

Tokens on their own (γ) have one V_l per token, (L, r_s, r_s). Correlated tokens (Γ)
have one for every two, V_ll', (L, L, r_s, r_s), of which the first are the case l = l'. A sample
with scales s feels V_ll' s_l s_l'.
"""

from __future__ import annotations

import numpy as np

from ...overlaps.correlated import blocks_of, grouped
from ..data.sampling import Sample


class Coupling:
    """Γ (or γ) of an instance and the scales of its samples, as far as message passing needs them."""

    def __init__(self, sample: Sample) -> None:
        instance = sample.instance
        self.gamma, self.Gamma, self.scales = instance.gamma, instance.Gamma, sample.scales
        self.dimension, self.rank = instance.dimension, sample.scenario.student.rank

    def first(self, response: np.ndarray | float) -> np.ndarray:
        """V to begin with; a number stands for that multiple of the identity, token by token."""
        length, rank = len(self.gamma), self.rank
        V = response * np.eye(rank) if np.ndim(response) == 0 else np.asarray(response)
        if self.Gamma is not None and V.ndim < 4:
            V = np.eye(length)[:, :, None, None] * np.broadcast_to(V, (length, rank, rank))[:, None]
        shape = (length, rank, rank) if self.Gamma is None else (length, length, rank, rank)
        return np.array(np.broadcast_to(V, shape), dtype=np.float64)

    def felt(self, V: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """V g of every sample, Σ_l' s_l s_l' V_ll' g_l', for g of shape (L, r_s, n)."""
        if self.scales is not None:
            slopes = self.scales[:, None] * slopes
        found = np.einsum("lab,lbn->lan" if self.Gamma is None else "lkab,kbn->lan", V, slopes)
        return found if self.scales is None else self.scales[:, None] * found

    def own(self, weights: np.ndarray, V_hat: np.ndarray) -> np.ndarray:
        """Σ_ll' Γ_ll' Q V̂_ll', (d, r_s)."""
        if self.Gamma is None:
            return sum(g[:, None] * (weights @ V) for g, V in zip(self.gamma, V_hat, strict=True))  # type: ignore
        return np.einsum("lki,ia,lkab->ib", self.Gamma, weights, V_hat, optimize=True)

    def precision(self, ridge: float, V_hat: np.ndarray) -> np.ndarray:
        """λ + Σ_ll' Γ_ll' V̂_ll' along every direction, (d, r_s, r_s)."""
        if self.Gamma is None:
            return ridge * np.eye(V_hat.shape[-1]) + np.einsum("li,lab->iab", self.gamma, V_hat)
        return ridge * np.eye(V_hat.shape[-1]) + np.einsum("lki,lkab->iab", self.Gamma, V_hat)

    def response(self, R: np.ndarray) -> np.ndarray:
        """V = Σ_i Γ_i R_i/d."""
        if self.Gamma is None:
            return np.einsum("li,iab->lab", self.gamma, R) / self.dimension
        return np.einsum("lki,iab->lkab", self.Gamma, R) / self.dimension

    def admissible(self, ridge: float, V_hat: np.ndarray) -> np.ndarray:
        """V̂ as it is where λ + Σ Γ V̂ is positive definite; else with its negative part cut off.

        Far from a fixed point (around Q = 0, say) the loss curves downwards and the Gaussian
        messages would have no width. What the fixed points are does not depend on V̂.
        """
        if np.linalg.eigvalsh(self.precision(ridge, V_hat)).min() > 0:
            return V_hat
        if self.Gamma is None:
            return _positive(V_hat)
        return blocks_of(_positive(joined(V_hat)[None]), len(self.gamma))


def joined(V: np.ndarray) -> np.ndarray:
    """One matrix (L r, L r) of V_l, (L, r, r), or V_ll', (L, L, r, r)."""
    if V.ndim == 3:
        V = np.eye(len(V))[:, :, None, None] * V[:, None]
    return grouped(V)[0]


def _positive(matrices: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrices)
    return np.einsum("lab,lb,lcb->lac", vectors, np.maximum(values, 0.0), vectors)
