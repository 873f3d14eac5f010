"""The distribution of real tokens: Γ along each direction, lengths, and what a Gaussian
distribution neglects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np

from ..results.json import plain
from ..results.result import Result
from ..scenario.arguments import checked
from ..scenario.tokens import Tokens
from .lengths import Lengths, measure_lengths
from .sentences import Sentences


@dataclass(frozen=True, repr=False, eq=False)
class MeasuredTokens(Result):
    """The distribution of tokens fitted to an array of sentences, and what it neglects.

    - `tokens`: Γ of each group of directions, and the distribution of the lengths, for a
      `Scenario`.
    - `basis`: the directions, (d, d), in columns, group by group: `rotated` transforms sentences to
      these coordinates.
    - `count`: n, the number of sentences measured.
    - `lengths`: the tokens' lengths.
    - `neglected`: numbers that are zero where the distribution is exact: `off_diagonal`, the share
      of all second moments (in squares) between different directions, and the share expected from n
      sentences of this distribution; `within_groups`, the share lost by giving a group one Γ;
      `means`, the squared mean token relative to its mean square; `kurtosis`, the mean excess
      fourth moment along a direction after division by the length; `alignment`, by how much the
      cosine of two neighbours varies more (in squares) than it does in Gaussian sentences.
    """

    tokens: Tokens
    basis: np.ndarray
    count: int
    lengths: Lengths
    neglected: dict[str, float] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        kinds, scales = len(self.tokens.gamma), self.tokens.scales
        sizes = f"{self.count} sentences of {self.tokens.gamma.shape[1]} tokens in {len(self.basis)} dimensions"
        distribution = f"{kinds} group{'s' * (kinds > 1)} of directions, {scales or 'one length'}"
        return f"distribution of {sizes}: σ = {self.tokens.deviation:.4g}, {distribution}"

    def rows(self) -> list[dict[str, Any]]:
        Gamma, pairs = self.tokens.Gamma, ~np.eye(self.tokens.gamma.shape[1], dtype=bool)
        several = self.tokens.gamma.shape[1] > 1
        return [
            {"share": share, "gamma": float(np.diagonal(G).mean())}
            | ({"between tokens": float(G[pairs].mean())} if several else {})
            for share, G in zip(self.tokens.share, Gamma, strict=True)
        ]

    def arrays(self) -> dict[str, Any]:
        return {"basis": (("direction", "direction_"), self.basis)}

    def to_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "sigma": self.tokens.deviation,
            "groups": plain(self.rows()),
            "lengths": self.lengths.to_dict(),
            "neglected": plain(self.neglected),
        }

    def __str__(self) -> str:
        lines = [super().__str__(), str(self.lengths), "neglected:"]
        return "\n".join(
            [*lines, *(f"  {name:<22}{value:.3g}" for name, value in self.neglected.items())]
        )

    @overload
    def rotated(self, sentences: Sentences) -> Sentences: ...
    @overload
    def rotated(self, sentences: np.ndarray) -> np.ndarray: ...
    def rotated(self, sentences: Sentences | np.ndarray) -> Sentences | np.ndarray:
        """The sentences, or an array of them (n, L, d), in the coordinates of `basis`, as `data` of
        training."""
        if isinstance(sentences, Sentences):
            return sentences.rotated(self.basis)
        x = np.asarray(sentences, dtype=np.float64)
        if x.ndim != 3 or x.shape[2] != len(self.basis):
            raise ValueError(f"sentences: expected shape (n, L, {len(self.basis)}), got {x.shape}")
        return x @ self.basis


class _Moments(NamedTuple):
    """`mean` E[x_l], (L, d);  `second` E[x_l x_l'ᵀ] − means, (L, L, d, d);  `square` E|x_l|², (L,)."""

    mean: np.ndarray
    second: np.ndarray
    square: np.ndarray


@checked
def tokens_from_samples(
    x: np.ndarray | Sentences, groups: int = 8, scales: bool = True, alike: bool = False
) -> MeasuredTokens:
    """The distribution of tokens, estimated from an array of sentences x, (n, L, d).

    The directions are those of the mean covariance of the tokens, Σ̄ (of the mean covariance
    *between* tokens where Σ̄ is flat). Along each Γ_ll' is measured; directions are sorted, divided
    into `groups` groups of equal size, and each group gets its mean Γ. Eigenvalues that spread no
    more than those of n isotropic sentences would, 4√(d/n), form one group. The length of a token
    is s_l² = |x_l|²/Tr Σ_l; where its distribution is wider than that of Gaussian tokens, the
    excess becomes the distribution of the scales.

    **Arguments**

    - `x`: the array, or `Sentences`;  `groups`: largest number of groups of directions.
    - `scales`: whether to measure lengths; without them, the distribution is Gaussian.
    - `alike`: whether all positions in a sentence have the same distribution, as in a text cut at
      arbitrary points: then tokens are averaged, and so are all pairs of tokens at one distance.

    **Returns**: `MeasuredTokens`: the `Tokens`, and what they neglect.

    **Example**

        distribution = tokens_from_samples(read_text(length=2), alike=True)
        train(paper().vary(tokens=distribution.tokens), data=distribution.rotated(sentences), seeds=8)
    """
    count, length, d = _shape(x)
    most = min(groups, d)
    found = _moments(x, (count, length, d))
    noise = 4 * np.sqrt(d / count)
    basis = _basis(found.second, noise)
    along = np.einsum("ia,lkij,ja->alk", basis, found.second, basis, optimize=True)
    along = _alike(along) if alike else (along + np.swapaxes(along, 1, 2)) / 2
    height = _height(along, noise)
    order = np.argsort(-height, kind="stable")
    basis, along = basis[:, order], along[order]
    parts = np.array_split(np.arange(d), 1 if np.ptp(height) == 0 else most)
    share = np.array([len(part) for part in parts]) / d
    lengths = measure_lengths(_blocks(x, basis), _effective(found.second, count), alike)
    distribution = lengths.distribution if scales else None
    ratio = (
        np.ones((length, length)) if distribution is None else distribution.second_moment(length)
    )
    Gamma = np.stack([_positive(along[part].mean(0) / ratio) for part in parts])
    tokens = Tokens(weights=share, covariances=Gamma, scales=distribution)
    neglected = _neglected(found, along, parts, count) | {
        "kurtosis": lengths.kurtosis,
        "alignment": float(
            max(0.0, lengths.alignment_spread**2 - lengths.alignment_of_gaussians**2)
        ),
    }
    return MeasuredTokens(tokens, basis, count, lengths, neglected)


def _shape(x: np.ndarray | Sentences) -> tuple[int, int, int]:
    shape = (x.count, x.length, x.dimension) if isinstance(x, Sentences) else np.shape(x)
    if len(shape) != 3 or not np.prod(shape):
        raise ValueError(f"x: expected sentences (n, L, d), got shape {shape}")
    if shape[0] <= shape[2]:
        raise ValueError(
            f"x: {shape[0]} sentences do not determine the covariances of {shape[2]} dimensions; more are needed"
        )
    return shape  # type: ignore[return-value]


def _blocks(x: np.ndarray | Sentences, basis: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """The tokens (L, n, d), a block of sentences at a time, in the coordinates of `basis`."""
    count, length, d = _shape(x)
    step = max(1, 2**22 // (length * d))  # 32 MB at a time
    for first in range(0, count, step):
        rows = slice(first, first + step)
        block = (
            x.tokens(rows)
            if isinstance(x, Sentences)
            else np.moveaxis(np.asarray(x[rows], dtype=np.float64), 1, 0)
        )
        if not np.isfinite(block).all():
            raise ValueError("x: every entry must be finite")
        yield block if basis is None else block @ basis


def _moments(x: np.ndarray | Sentences, shape: tuple[int, int, int]) -> _Moments:
    count, length, d = shape
    total, second = np.zeros((length, d)), np.zeros((length, length, d, d))
    for block in _blocks(x):
        total += block.sum(1)
        for l in range(length):
            for k in range(l, length):
                second[l, k] += block[l].T @ block[k]
    for l in range(length):
        for k in range(l):
            second[l, k] = second[k, l].T
    mean, second = total / count, second / count
    square = np.einsum("llii->l", second)
    if not square.min() > 0:
        raise ValueError("x: a token that is always zero carries no information")
    return _Moments(mean, second - np.einsum("li,kj->lkij", mean, mean), square)


def _basis(second: np.ndarray, noise: float) -> np.ndarray:
    """Eigenvectors of the mean covariance; where that is flat, of the mean symmetric covariance
    between tokens."""
    mean = np.einsum("llij->ij", second) / len(second)
    values, vectors = np.linalg.eigh(mean)
    if np.ptp(values) > noise * values.mean() or len(second) == 1:
        return vectors
    between = second.sum((0, 1)) - np.einsum("llij->ij", second)
    return np.linalg.eigh(between + between.T)[1]


def _height(along: np.ndarray, noise: float) -> np.ndarray:
    """The key by which directions are sorted: γ, or Γ_ll' where all γ are equal; zero for all where
    both are equal."""
    gamma, length = np.einsum("all->a", along), along.shape[1]
    if np.ptp(gamma) > noise * gamma.mean():
        return gamma
    between = (along.sum((1, 2)) - gamma) / max(length - 1, 1)
    return between if np.ptp(between) > noise * gamma.mean() else np.zeros(len(along))


def _effective(second: np.ndarray, count: int) -> np.ndarray:
    """Tr Σ_l Tr Σ_l'/Tr Σ_l Σ_l', (L, L), without what `count` samples add to the last trace."""
    own = np.einsum("llij->lij", second)
    trace, product = np.einsum("lii->l", own), np.einsum("lij,kij->lk", own, own)
    traces = np.outer(trace, trace)
    return traces / np.maximum(product - np.diag(trace**2) / count, traces / second.shape[-1])


def _alike(along: np.ndarray) -> np.ndarray:
    """Γ_ll' averaged over all pairs at one distance |l − l'|."""
    length = along.shape[1]
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    means = np.stack([along[:, apart == distance].mean(1) for distance in range(length)])
    return np.moveaxis(means[apart], -1, 0)


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The matrix without its negative part: division by E[s_l s_l'] may make eigenvalues slightly
    negative."""
    values, vectors = np.linalg.eigh(matrix)
    return matrix if values[0] >= 0 else (vectors * np.maximum(values, 0)) @ vectors.T


def _neglected(found: _Moments, along: np.ndarray, groups: list, count: int) -> dict[str, float]:
    total = float((found.second**2).sum())
    binned = np.concatenate([np.broadcast_to(along[g].mean(0), along[g].shape) for g in groups])
    traces = np.einsum("alk->lk", along) if len(along) else along
    # Σ γ_i γ_j/n of noise.
    expected = float((np.outer(np.diagonal(traces), np.diagonal(traces))).sum()) / count
    return {
        "off_diagonal": 1 - float((along**2).sum()) / total,
        "off_diagonal_of_noise": min(1.0, expected / total),
        "within_groups": float(((along - binned) ** 2).sum()) / total,
        "means": float(((found.mean**2).sum(1) / found.square).mean()),
    }
