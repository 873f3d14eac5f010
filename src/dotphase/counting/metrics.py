"""Is a model positional or semantic? Measured on its attention, with error bars.

Over sequences μ and all pairs of positions (i, j), the attention A^μ_ij has a variance. Which share
of it do the two *positions* explain, and which share the two *letters*?

    share(k) = Var_k(E[A | k]) / Var(A),      k = (i, j)  or  k = (t_i, t_j)

A purely positional model has a position share of 1 and a smaller letter share, a semantic one the
reverse. The smaller share need not be 0: the diagonal i = j is a pair of equal positions and,
always, of equal letters. So they are compared with each other, and the weight on equal letters
leaves the diagonal out:

    equal-letter weight = a_= / (a_= + a_≠),   a_= = E[A_ij | t_i = t_j, i ≠ j],   a_≠ = E[A_ij | t_i ≠ t_j]

which is ½ for attention that does not depend on the letters, and 1 for attention to equal letters
only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from .transformer import Mechanism, Weights, attention

BLOCKS = 20
ROUNDING = (
    np.finfo(np.float32).eps ** 2
)  # a relative variance below this is rounding of the attention


@dataclass(frozen=True, repr=False, eq=False)
class Scores(Result):
    """What the attention of one or several seeds says about their mechanism."""

    position_share: Estimate
    letter_share: Estimate
    share_difference: (
        Estimate  # position_share − letter_share; its error includes the correlation of the two
    )
    equal_letter_weight: Estimate

    @property
    def headline(self) -> str:
        return f"{self.verdict}: what explains the variance of the attention"

    @property
    def verdict(self) -> str:
        """The side that explains more of the attention, or "undecided" within three standard
        errors; "unknown" where the attention is not finite."""
        difference = self.share_difference
        if not np.isfinite(difference.value):
            return "unknown"
        if abs(difference) <= 3 * difference.error:
            return "undecided"
        return "positional" if difference > 0 else "semantic"


class _Sums(NamedTuple):
    """Sums of A over sequences, one row per block of sequences: the data of all scores."""

    number: np.ndarray  # (blocks,)       sequences
    squares: np.ndarray  # (blocks,)       Σ A²
    positions: np.ndarray  # (blocks, L, L)  Σ A over each pair of positions
    letters: np.ndarray  # (blocks, T, T)  Σ A over each pair of letters
    pairs: np.ndarray  # (blocks, T, T)  how many pairs of letters that was


def measure(weights: Weights, tokens: np.ndarray, mechanism: Mechanism) -> Scores:
    """Score one seed's model on sequences `tokens` (samples, L); errors are jackknifed over the
    sequences."""
    require_enough(len(tokens))
    # Equal blocks, so that leaving out any of them is the same experiment.
    tokens = np.asarray(tokens)[: len(tokens) // BLOCKS * BLOCKS]
    letters = weights.W_E.shape[0]
    blocks = [_sum_block(weights, part, mechanism, letters) for part in np.split(tokens, BLOCKS)]
    sums = _Sums(*(np.stack(column) for column in zip(*blocks, strict=True)))
    return Scores(*(_jackknife(score, sums) for score in _SCORES))


def require_enough(sequences: int) -> None:
    """Refuse to put an error bar on too few sequences."""
    if sequences < 2 * BLOCKS:
        raise ValueError(
            f"need at least {2 * BLOCKS} validation sequences for an error bar, got {sequences}"
        )


def mean_scores(scores: Sequence[Scores]) -> Scores:
    """Mean over independently trained and measured seeds, with its standard error s/√n."""
    if len(scores) == 1:
        return scores[0]
    values = lambda name: [getattr(score, name).value for score in scores]
    return Scores(
        *(
            over_seeds([v if np.isfinite(v) else None for v in values(f.name)])
            for f in fields(Scores)
        )
    )


def no_scores() -> Scores:
    """Scores of a seed whose weights are not finite."""
    return Scores(*(Estimate(np.nan, np.inf) for _ in fields(Scores)))


def separation(a: Estimate, b: Estimate) -> float:
    """|a − b| in units of its standard error; infinite for two exact and different values."""
    error = np.hypot(a.error, b.error)
    return float(abs(a.value - b.value) / error) if error else float("inf")


def _sum_block(weights, tokens, mechanism, letters):
    # Double precision from here on: the shares are differences of large sums.
    A = np.asarray(attention(weights, tokens, mechanism), np.float64)
    onehot = np.eye(letters)[tokens]
    histogram = onehot.sum(axis=1)
    to_letters = np.einsum("nij,njb->nib", A, onehot)
    return (
        len(tokens),
        (A**2).sum(),
        A.sum(axis=0),
        np.tensordot(onehot, to_letters, axes=((0, 1), (0, 1))),
        histogram.T @ histogram,
    )


def _share(sums, group_sums, group_numbers):
    """Var_k(E[A | k]) / Var(A) from the sums and sizes of the groups k."""
    number = group_numbers.sum()
    square_of_mean = group_sums.sum() ** 2 / number
    variance = sums.squares - square_of_mean
    if variance < ROUNDING * square_of_mean:
        return 0.0  # uniform attention: there is nothing to explain
    seen = group_numbers > 0
    return ((group_sums[seen] ** 2 / group_numbers[seen]).sum() - square_of_mean) / variance


def _position_share(sums):
    return _share(sums, sums.positions, np.full_like(sums.positions, sums.number))


def _letter_share(sums):
    return _share(sums, sums.letters, sums.pairs)


def _share_difference(sums):
    return _position_share(sums) - _letter_share(sums)


def _equal_letter_weight(sums):
    length = len(sums.positions)
    # Equal letters without the diagonal i = j, where they are always equal.
    equal = (np.trace(sums.letters) - np.trace(sums.positions)) / (
        np.trace(sums.pairs) - sums.number * length
    )
    different = (sums.letters.sum() - np.trace(sums.letters)) / (
        sums.pairs.sum() - np.trace(sums.pairs)
    )
    return equal / (equal + different)


_SCORES = (_position_share, _letter_share, _share_difference, _equal_letter_weight)


def _jackknife(score: Callable[[_Sums], float], sums: _Sums) -> Estimate:
    """The score of all blocks, and its error from leaving out one block at a time.

    error² = (B−1)/B Σ_b (s_b − s̄)², s_b the score without block b.
    """
    whole = _Sums(*(column.sum(axis=0) for column in sums))
    without = [
        score(_Sums(*(total - column[b] for total, column in zip(whole, sums, strict=True))))
        for b in range(BLOCKS)
    ]
    return Estimate(float(score(whole)), float((BLOCKS - 1) ** 0.5 * np.std(without)))
