"""Is a model positional or semantic? The shares of its scores' variance, with error bars.

The measure is that of every attention (`dotphase.mechanism`): which share of the scores' variance do
the two *places* explain, which the two *letters*, and which neither? The diagonal i = j, a pair of
equal places and of equal letters, is left out. A second number is what the attention does with equal
letters at different places,

    equal-letter weight = a_= / (a_= + a_≠),   a_= = E[A_ij | t_i = t_j, i ≠ j],   a_≠ = E[A_ij | t_i ≠ t_j]

which is ½ for attention that does not depend on the letters, and 1 for attention to equal letters
only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ..mechanism.entries import BLOCKS
from ..mechanism.shares import measure_shares
from ..mechanism.verdict import verdict_of
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from ..scenario.arguments import checked, checked_with, whole_numbers
from .transformer import Mechanism, Weights, attention, scores


@dataclass(frozen=True, repr=False, eq=False)
class Scores(Result):
    """What the attention of one or several seeds says about their mechanism.

    - `position`, `content`, `rest`: shares of the variance of the scores; they add up to one.
    - `equal_letter_weight`: ½ if the letters do not matter, 1 if only equal ones are looked at.
    """

    position: Estimate
    content: Estimate
    rest: Estimate
    equal_letter_weight: Estimate

    @property
    def headline(self) -> str:
        return f"{self.verdict}: what explains the variance of the scores"

    @property
    def verdict(self) -> str:
        """positional, semantic, both, neither or undecided (`dotphase.mechanism.verdict_of`)."""
        return verdict_of(self.position, self.content).word


@checked_with(tokens=whole_numbers)
def measure(
    weights: Weights, tokens: np.ndarray, mechanism: Mechanism, sequences: int = 2000
) -> Scores:
    """Score one seed's model on the first `sequences` of `tokens`, (samples, L); errors are jackknifed
    over blocks of sequences, and below 0.01 by default.

    **Returns**: `Scores`.
    """
    ids = np.asarray(tokens)[:sequences]
    require_enough(len(ids))
    shares = measure_shares(np.asarray(scores(weights, ids, mechanism))[:, None], ids)
    weight = _equal_letter_weight(np.asarray(attention(weights, ids, mechanism), np.float64), ids)
    return Scores(shares.position[0], shares.content[0], shares.rest[0], weight)


def require_enough(sequences: int) -> None:
    """Refuse to put an error bar on too few sequences."""
    if sequences < 2 * BLOCKS:
        raise ValueError(
            f"sequences: at least {2 * BLOCKS} validation sequences are needed for an error bar, got {sequences}"
        )


@checked
def mean_scores(listed: Sequence[Scores]) -> Scores:
    """Mean over independently trained and measured seeds, with its standard error s/√n.

    **Returns**: `Scores`: means over seeds.
    """
    if len(listed) == 1:
        return listed[0]
    return Scores(*(_mean([getattr(each, f.name) for each in listed]) for f in fields(Scores)))


def _mean(seeds: list[Estimate]) -> Estimate:
    """Its error is at least what the seeds' own errors give, where all seeds agree."""
    known = [each for each in seeds if np.isfinite(each.value)]
    if not known:
        return Estimate(np.nan, np.inf)
    mean = over_seeds([each.value for each in known])
    own = np.sqrt(np.sum([each.error**2 for each in known])) / len(known)
    return Estimate(mean.value, max(mean.error, float(own)))


def no_scores() -> Scores:
    """Scores of a seed whose weights are not finite."""
    return Scores(*(Estimate(np.nan, np.inf) for _ in fields(Scores)))


@checked
def separation(a: Estimate, b: Estimate) -> float:
    """|a − b| in units of its standard error; of two exact values infinite if they differ, else 0.

    **Returns**: a number.
    """
    apart, error = abs(a.value - b.value), np.hypot(a.error, b.error)
    if not error:
        return float("inf") if apart else 0.0
    return float(apart / error)


def _equal_letter_weight(A: np.ndarray, ids: np.ndarray) -> Estimate:
    """Of attention A, (n, L, L); its error leaves out one block of sequences at a time:
    error² = (B−1)/B Σ_b (w_b − w̄)², with w_b the weight without block b."""
    equal = ids[:, :, None] == ids[:, None, :]
    other = equal & ~np.eye(ids.shape[1], dtype=bool)
    columns = [(A * other), other, (A * ~equal), ~equal]
    sums = np.stack([each.sum((1, 2)) for each in columns], 1)  # (n, 4)
    blocks = np.stack([part.sum(0) for part in np.array_split(sums, BLOCKS)])

    def weight(total: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            same, different = total[..., 0] / total[..., 1], total[..., 2] / total[..., 3]
            return same / (same + different)

    without = weight(blocks.sum(0) - blocks)
    return Estimate(float(weight(blocks.sum(0))), float((BLOCKS - 1) ** 0.5 * np.std(without)))
