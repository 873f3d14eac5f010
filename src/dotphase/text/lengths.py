"""Lengths of tokens: the distribution of s_l² = |x_l|²/Tr Σ_l, and whether it is wider than that of
Gaussian tokens; and the alignment of two tokens of a sentence.

For a teacher Q* ~ N(0, I) the fields of a sentence are Gaussian with covariance x_l·x_l'/d,
whatever the tokens are: only Euclidean lengths and angles matter, not those in units of Σ_l.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..results.result import Result
from ..scenario.scales import Scales

SCALES = {
    1: 32,
    2: 12,
    3: 7,
}  # number of length classes, by L: all combinations of them can occur


@dataclass(frozen=True, repr=False, eq=False)
class Lengths(Result):
    """Statistics of the tokens' lengths.

    - `distribution`: distribution of the scales, None where the lengths are those of Gaussian tokens.
    - `spread`: the standard deviation of s²;  `spread_of_gaussians`: √(2/D) without scales, D = (Tr
      Σ)²/Tr Σ².
    - `correlation`: of s² of two tokens of a sentence, averaged over pairs.
    - `kurtosis`: the mean over directions of E[y⁴]/E[y²]² − 3 for y = x/s.
    - `alignment`, `alignment_spread`: mean and standard deviation over sentences of the cosine of
      two neighbouring tokens; the latter is about 1/√D for Gaussian tokens,
      `alignment_of_gaussians`.
    """

    distribution: Scales | None
    spread: float
    spread_of_gaussians: float
    correlation: float
    kurtosis: float
    alignment: float = 0.0
    alignment_spread: float = 0.0
    alignment_of_gaussians: float = 0.0

    @property
    def headline(self) -> str:
        width = f"s² = 1 ± {self.spread:.3f} (Gaussian tokens: ± {self.spread_of_gaussians:.3f})"
        cosine = f"{self.alignment:.3f} ± {self.alignment_spread:.3f} (± {self.alignment_of_gaussians:.3f})"
        return f"lengths: {width}, correlation of two tokens' {self.correlation:+.3f}; cosine of neighbours {cosine}"

    def __str__(self) -> str:
        return self.headline


def measure_lengths(blocks: Iterable[np.ndarray], effective: np.ndarray, alike: bool) -> Lengths:
    """The lengths of tokens that come in blocks (L, n, d).

    **Arguments**: `effective`, D_ll' = Tr Σ_l Tr Σ_l'/Tr Σ_l Σ_l', (L, L): effective numbers of
    directions. The s_l² of Gaussian tokens has the variance 2/D_ll, and the cosine of two of them
    1/D_ll'.
    """
    squares, cosines, fourth, second = [], [], 0.0, 0.0
    d = np.diagonal(effective)[:, None]
    for block in blocks:
        squares.append((block**2).sum(-1))
        y = block / np.sqrt(np.maximum(squares[-1], 1e-300))[:, :, None]
        cosines.append(np.einsum("lni,lni->ln", y[1:], y[:-1]))
        square = y**2
        fourth, second = fourth + (square**2).sum(1), second + square.sum(1)
    s2 = np.concatenate(squares, axis=1)
    s2 = s2 / s2.mean(1, keepdims=True)
    count = s2.shape[1]
    with np.errstate(invalid="ignore"):
        kurtosis = float(np.nanmean(fourth * count / np.asarray(second) ** 2 * (1 + 2 / d))) - 3
    seen, spread, shared = _scales_of(s2, d, alike), float(s2.std()), _correlation(s2)[0]
    return Lengths(
        seen,
        spread,
        float(np.sqrt((2 / d).mean())),
        shared,
        kurtosis,
        *_alignment(np.concatenate(cosines, 1), np.diagonal(effective, 1)),
    )


def _alignment(cosine: np.ndarray, d: np.ndarray) -> tuple[float, float, float]:
    """Mean and spread of the cosines, and the spread that Gaussian tokens of that mean have, (1 −
    c²)/√d."""
    if not len(cosine):
        return 0.0, 0.0, 0.0
    mean = float(cosine.mean())
    return mean, float(cosine.std(1).mean()), float((1 - mean**2) * (d**-0.5).mean())


def _scales_of(s2: np.ndarray, d: np.ndarray, alike: bool) -> Scales | None:
    """Scales of measured squares s² (L, n), which are s² χ²_d/d for d effective directions, (L, 1):
    their spread, in logarithms, less that of χ²_d/d."""
    sure = 5.0  # standard errors above which a spread, or a correlation, of lengths counts
    length, count = s2.shape
    wider = (s2**2).mean(1, keepdims=True) / (1 + 2 / d) - 1
    if (wider < sure * 2 * np.sqrt(2 / d / count)).all():  # the error of Gaussian tokens
        return None
    logs = np.log(np.maximum(s2, 1e-6))  # a token may be zero
    mean, variance = logs.mean(1, keepdims=True), logs.var(1, keepdims=True)
    shrunk = np.exp(mean + (logs - mean) * np.sqrt(np.maximum(1 - (2 / d) / variance, 0)))
    shared, share_error = _correlation(s2)
    levels = SCALES.get(length, 4)
    if length == 1 or (alike and abs(shared) < sure * share_error):
        return Scales(np.sqrt(_levels(shrunk.ravel(), SCALES[1])[0]))
    return _together(shrunk, levels, alike)


def _together(s2: np.ndarray, levels: int, alike: bool) -> Scales:
    """The joint distribution: every token's lengths in `levels` classes, and how often each
    combination of them occurs."""
    if alike:
        means, one = _levels(s2.ravel(), levels)
        classes, values = one.reshape(s2.shape), [means] * len(s2)
    else:
        found = [_levels(row, levels) for row in s2]
        classes, values = np.stack([one for _, one in found]), [means for means, _ in found]
    counts = np.zeros((levels,) * len(s2))
    np.add.at(counts, tuple(classes), 1)
    if alike:  # symmetric under reversal of the sentence, as Γ_ll' = Γ_l'l is for the directions
        counts = counts + counts.transpose()
    chosen = [index for index in product(range(levels), repeat=len(s2)) if counts[index] > 0]
    squares = [[values[l][k] for l, k in enumerate(index)] for index in chosen]
    return Scales(np.sqrt(squares), [counts[index] for index in chosen])


def _levels(values: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of `levels` equally frequent classes of the values, and the class of each."""
    rank = np.empty(len(values), dtype=np.intp)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    classes = rank * levels // len(values)
    return np.bincount(classes, values, minlength=levels) / np.bincount(
        classes, minlength=levels
    ), classes


def _correlation(s2: np.ndarray) -> tuple[float, float]:
    """The mean correlation of two tokens' s², and its standard error if there were none."""
    length, count = s2.shape
    if length == 1:
        return 0.0, np.inf
    pairs = length * (length - 1) / 2
    matrix = np.atleast_2d(np.corrcoef(s2))
    return float(matrix[np.triu_indices(length, 1)].mean()), float(1 / np.sqrt(count * pairs))
