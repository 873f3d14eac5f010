"""Tokens of different length: the distribution of their scales.

A token is x_l = s_l × (a Gaussian token), with s_l > 0 random from sentence to sentence and E s_l²
= 1, so that Σ_l stays the covariance of x_l. Real embeddings are like that: some words have long
vectors, others short ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from .validation import freeze, thaw

MOST_OUTCOMES = 2**20  # of all tokens together, that are listed one by one


@dataclass(frozen=True)
class Scales:
    """The distribution of the scales (s_1 … s_L) that multiply the tokens of a sentence.

    **Arguments**

    - `values`: possible scales, all positive. (S,): of one token, and every token draws its own
      from them. (S, L): of all tokens of a sentence together; equal columns are one scale for the
      whole sentence.
    - `weights`: (S,), how likely each is; scaled to sum to one. Equally likely unless given.

    Only ratios of scales matter: they are multiplied, token by token, so that E s_l² = 1.

    **Example**: s² is 0.4 or 1.6, for each token on its own, or for both tokens of a sentence at
    once:

        Scales(np.sqrt([0.4, 1.6]))
        Scales(np.sqrt([[0.4, 0.4], [1.6, 1.6]]))
    """

    values: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        values = thaw(freeze("scales.values", self.values))
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(
                f"scales.values: expected (S,) or (S, L) scales, got shape {values.shape}"
            )
        if not (values > 0).all():
            raise ValueError(
                f"scales.values: every scale must be positive, the least is {values.min():g}"
            )
        weights = np.full(len(values), 1 / len(values)) if self.weights is None else self.weights
        weights = thaw(freeze("scales.weights", weights, ndim=1))
        if weights.shape != (len(values),):
            raise ValueError(
                f"scales.weights: expected {len(values)}, one per scale, got {weights.size}"
            )
        if (weights < 0).any() or weights.sum() == 0:
            raise ValueError("scales.weights: must not be negative, nor all zero")
        values, weights = values[weights > 0], weights[weights > 0]
        # What is normalised already stays as it is, to the last bit: a distribution read back from a file is
        # the same distribution.
        weights = weights / weights.sum() if abs(weights.sum() - 1) > 1e-12 else weights
        mean = weights @ values**2
        values = np.where(np.abs(mean - 1) > 1e-12, values / np.sqrt(mean), values)
        rows = values.reshape(len(values), -1)
        order = np.lexsort((*rows.T[::-1], (rows**2).sum(1)))
        values, weights = values[order], weights[order]
        object.__setattr__(self, "values", freeze("scales.values", values))
        object.__setattr__(self, "weights", freeze("scales.weights", weights))

    @property
    def s(self) -> np.ndarray:
        """The scales, (S,) or (S, L), shortest first."""
        return thaw(self.values)  # type: ignore[arg-type]

    @property
    def share(self) -> np.ndarray:
        """How likely each is, (S,)."""
        return thaw(self.weights)  # type: ignore[arg-type]

    @property
    def independent(self) -> bool:
        """Whether every token draws its scale on its own."""
        return self.s.ndim == 1

    @property
    def trivial(self) -> bool:
        """Whether all scales are one."""
        return bool((np.abs(self.s - 1) < 1e-12).all())

    def dimension(self, length: int) -> int:
        """How many uniform numbers it takes to draw the scales of `length` tokens."""
        return length if self.independent else 1

    def at(self, uniforms: np.ndarray) -> np.ndarray:
        """Scales, (L, …), from uniform numbers in [0, 1], (dimension, …): by the inverse of their
        distribution."""
        edges = np.cumsum(self.share)[:-1]
        chosen = np.searchsorted(edges, uniforms, side="right")
        return self.s[chosen] if self.independent else np.moveaxis(self.s[chosen[0]], -1, 0)

    def draw(self, random: np.random.Generator, count: int, length: int) -> np.ndarray:
        """Scales of `count` sentences of `length` tokens, (L, count)."""
        return self.at(random.random((self.dimension(length), count)))

    def outcomes(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """All combinations of scales of `length` tokens, (S', L), and how likely each is, (S',)."""
        if not self.independent:
            return self.s, self.share
        if len(self.s) ** length > MOST_OUTCOMES:
            raise ValueError(f"scales: {len(self.s)}^{length} combinations are too many to list")
        index = np.array(list(product(range(len(self.s)), repeat=length)))
        return self.s[index], self.share[index].prod(1)

    def second_moment(self, length: int) -> np.ndarray:
        """E[s sᵀ], (L, L): one on the diagonal."""
        if not self.independent:
            return np.einsum("n,nl,nk->lk", self.share, self.s, self.s)
        mean = float(self.share @ self.s)
        return np.where(np.eye(length) > 0, 1.0, mean**2)

    def permuted(self, order: tuple[int, ...]) -> Scales:
        """The distribution of (s_order[0], s_order[1], …)."""
        return self if self.independent else Scales(self.s[:, list(order)], self.share)

    def same_as(self, other: Scales) -> bool:
        """Whether two distributions are the same, up to rounding."""
        if self.s.shape != other.s.shape:
            return False
        rows = [
            np.column_stack([distribution.s, distribution.share]) for distribution in (self, other)
        ]
        one, two = (table[np.lexsort(np.round(table, 9).T)] for table in rows)
        return bool(np.allclose(one, two, rtol=1e-9, atol=1e-12))

    def __str__(self) -> str:
        shown = ", ".join(f"{scale:.4g}" for scale in self.s.ravel()[:4]) + (
            ", …" if self.s.size > 4 else ""
        )
        whose = "each token its own" if self.independent else "of all tokens jointly"
        return f"{len(self.s)} scales ({shown}), {whose}"
