"""The tokens' covariance spectra and the positional encodings, along the directions of the shared eigenbasis.

Per eigen-direction: γ_l, the eigenvalue of Σ_l; τ_l = √d p_l·e, the positional encoding along it; and a weight, the
share of the d directions that look like this. An isotropic model is one row; a measured covariance is d rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .frozen import finite_number, freeze, thaw, whole_number


@dataclass(frozen=True)
class Tokens:
    """Spectra of the token covariances Σ_1 … Σ_L, which share an eigenbasis.

    **Arguments**

    - `eigenvalues`: γ, (K, L): the eigenvalue of each Σ_l along each of K kinds of direction.
    - `weights`: (K,): the share of directions of each kind; scaled to sum to one. Equal shares unless given.

    **Example**: two tokens, of which the second is noisier along a tenth of the directions:

        Tokens(eigenvalues=[[0.25, 0.25], [0.25, 1.0]], weights=[0.9, 0.1])
    """

    eigenvalues: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        gamma = thaw(freeze("tokens.eigenvalues", self.eigenvalues, ndim=2))
        if gamma.size == 0:
            raise ValueError("tokens.eigenvalues: expected at least one direction and one token")
        if (gamma < 0).any():
            raise ValueError(f"tokens.eigenvalues: must not be negative, the least is {gamma.min():g}")
        if (gamma.max(0) == 0).any():
            raise ValueError("tokens.eigenvalues: a token whose covariance is zero carries no information")
        weights = np.full(len(gamma), 1 / len(gamma)) if self.weights is None else self.weights
        weights = thaw(freeze("tokens.weights", weights, ndim=1))
        if weights.shape != (len(gamma),):
            raise ValueError(f"tokens.weights: expected {len(gamma)}, one per direction, got {weights.size}")
        if (weights < 0).any() or weights.sum() == 0:
            raise ValueError("tokens.weights: must not be negative, nor all zero")
        object.__setattr__(self, "eigenvalues", freeze("tokens.eigenvalues", gamma))
        object.__setattr__(self, "weights", freeze("tokens.weights", weights / weights.sum()))

    @property
    def gamma(self) -> np.ndarray:
        """γ, (K, L)."""
        return thaw(self.eigenvalues)  # type: ignore[arg-type]

    @property
    def share(self) -> np.ndarray:
        """The weight of each kind of direction, (K,)."""
        return thaw(self.weights)  # type: ignore[arg-type]

    @property
    def deviation(self) -> float:
        """σ: the root of the mean eigenvalue over directions and tokens."""
        return float(np.sqrt((self.share @ self.gamma).mean()))

    def scaled_to(self, deviation: float) -> Tokens:
        """The same spectra, scaled so that their root mean eigenvalue σ is `deviation`."""
        deviation = finite_number("token_deviation", deviation, above=True)
        return Tokens(self.gamma * (deviation / self.deviation) ** 2, self.share)


def isotropic(length: int, deviation: float | ArrayLike = 1.0) -> Tokens:
    """Σ_l = σ_l² I: one kind of direction.

    **Arguments**: `length`, L; `deviation`, σ, or one σ_l per token.

    **Example**: `isotropic(2, deviation=0.5)`.
    """
    length = whole_number("length", length)
    sigma = thaw(freeze("token_deviation", deviation))
    if sigma.ndim > 1 or (sigma.ndim == 1 and len(sigma) != length):
        raise ValueError(f"token_deviation: expected one σ, or {length} of them, got shape {sigma.shape}")
    if not (sigma > 0).all():
        raise ValueError(f"token_deviation: σ must be positive, got {deviation!r}")
    return Tokens(np.broadcast_to(sigma**2, (1, length)))


@dataclass(frozen=True)
class Positions:
    """Positional encodings p_1 … p_L of norm O(1), seen by the student only.

    **Arguments**

    - `components`: τ, (K, L): τ_l = √d p_l·e along each kind of direction, in the order of `Tokens.eigenvalues`. With
      isotropic tokens (one row there) any number of rows is allowed, in equal shares: then p_l·p_l' = Σ_k τ_kl τ_kl'/K.

    **Example**: `Positions([[1.0, -1.0]])` are the paper's.
    """

    components: ArrayLike

    def __post_init__(self) -> None:
        tau = np.atleast_2d(thaw(freeze("positions.components", self.components)))
        object.__setattr__(self, "components", freeze("positions.components", tau, ndim=2))

    @property
    def tau(self) -> np.ndarray:
        """τ, (K, L)."""
        return thaw(self.components)  # type: ignore[arg-type]


def opposite_positions(norm: float = 1.0) -> Positions:
    """The paper's two positions, p_1 = −p_2 = (1, …, 1)/√d, times `norm`.

    **Example**: `paper().vary(positions=opposite_positions(2.0))`.
    """
    return Positions([[norm, -norm]])


def no_positions(length: int) -> Positions:
    """p_l = 0: the student sees the tokens alone.

    **Arguments**: `length`, L.

    **Example**: `paper().vary(positions=no_positions(2))`.
    """
    return Positions(np.zeros((1, length)))


def positions_from_gram(gram: ArrayLike) -> Positions:
    """Encodings with given scalar products p_l·p_l' = `gram`, (L, L), for isotropic tokens.

    **Example**: `positions_from_gram([[1.0, -0.5], [-0.5, 2.0]])`.
    """
    gram = thaw(freeze("gram", gram, ndim=2))
    if gram.shape[0] != gram.shape[1] or (np.abs(gram - gram.T) > 1e-10 * np.abs(gram).max()).any():
        raise ValueError("gram: scalar products p_l·p_l' form a symmetric matrix, (L, L); this one is not")
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    if values.min() < -1e-10 * max(values.max(), 1e-300):
        raise ValueError(f"gram: not positive semi-definite, its least eigenvalue is {values.min():g}")
    return Positions(np.sqrt(np.maximum(values, 0) * len(gram))[:, None] * vectors.T)
