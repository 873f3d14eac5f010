"""Shares of the scores' variance: position, content, rest, with their errors.

With P̂₋ᵦ and T̂₋ᵦ fitted without the block b of sentences that x belongs to, and M s the scores
centred over the keys of each row,

    position = ⟨M s, M P̂₋ᵦ⟩/⟨M s, M s⟩,   content = ⟨M s, M T̂₋ᵦ⟩/⟨M s, M s⟩,   rest = 1 − position − content.

A block's own noise is not in the fit that it is multiplied with, so both are unbiased for any number
of sentences, which the squares of fitted values are not. Where places and words are correlated, each
of the two gets half of what they share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..results.estimate import Estimate
from ..scenario.arguments import array, checked_with
from .entries import Entries, entries_of
from .fit import RIDGE, centred, check_separable, comparable_groups, fit_without_blocks, summing

ROUNDING = 100 * RIDGE  # of a share: what the ridge of the fit may change


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the variance of scores, one per head.

    - `position`, `content`, `rest`: they add up to one.
    - `coverage`: the share of the scores that could be used;  `blocks`: of sentences.
    - `mean_scores`: the fitted P_ij, centred over each row, (heads, places), and `places`, (places, 2).
    - `word_scores`: the fitted T, centred over the words met by each query word, (heads, pairs), and
      `pairs`, (pairs, 2).
    """

    position: Estimate
    content: Estimate
    rest: Estimate
    coverage: float
    blocks: int
    mean_scores: np.ndarray
    places: np.ndarray
    word_scores: np.ndarray
    pairs: np.ndarray


@checked_with(scores=array(4), ids=array(2))
def measure_shares(
    scores: np.ndarray, ids: np.ndarray, causal: bool = False, most_pairs: int = 4000
) -> Shares:
    """The shares of `scores` in sentences `ids`.

    **Arguments**

    - `scores`: before the softmax, (n, heads, L, L), finite where i ≠ j (j < i if causal).
    - `ids`: the words, whole numbers (n, L);  `causal`: whether a place sees earlier ones only.
    - `most_pairs`: of the pairs of words, so many are used, the most frequent ones.

    **Returns**: `Shares`: of position, content and rest, with errors.

    **Example**: `measure_shares(s[:, None], ids).content`.
    """
    entries = entries_of(ids, causal, most_pairs)
    check_separable(entries)
    taken = scores[entries.sentence, :, entries.query, entries.key].astype(np.float64)
    return shares_of(entries, taken)


def shares_of(entries: Entries, scores: np.ndarray) -> Shares:
    """The shares of the scores of some entries, (entries, heads)."""
    groups = comparable_groups(entries)
    s = centred(scores, groups)
    power = _by_block(entries, s * s)
    scale = np.maximum(np.abs(scores).max(0), 1e-300)
    flat = power.sum(0) <= 1e-20 * len(s) * scale**2  # constant rows: nothing to explain
    power = np.where(flat, 1.0, power)
    products, whole = [], None
    for whole in fit_without_blocks(entries, scores):
        products.append(
            [_by_block(entries, s * part) for part in whole]
        )  # s is centred, parts need not be
    assert whole is not None
    by_part = np.array(products).transpose(1, 0, 2, 3)  # (2, blocks + 1, blocks, heads)
    position, content, rest = (
        _estimate(each, power, flat) for each in (*by_part, power - by_part.sum(0))
    )
    return Shares(
        position,
        content,
        Estimate(np.where(flat, 0.0, rest.value), rest.error),
        entries.coverage,
        entries.blocks,
        _mean_over(entries.place, centred(whole.position, entries.row)),
        entries.places,
        _mean_over(entries.pair, centred(whole.content, entries.words[entries.pair, 0])),
        entries.words,
    )


def _estimate(products: np.ndarray, power: np.ndarray, flat: np.ndarray) -> Estimate:
    """A share and its error from g_cb = ⟨M s, M f₋ᶜ⟩ over block b, (blocks + 1, blocks, heads); the
    last fit f is that of all blocks.

    The share is Σ_b g_bb/Σ_b D_b, with D_b = ⟨M s, M s⟩. Without block c it is, to first order in what
    a block changes in a fit, Σ_{b≠c} (g_bb + g_cb − g_b)/Σ_{b≠c} D_b. The jackknife over c counts twice
    what comes from two blocks together, h_bc = g_b − g_cb, all there is where a share vanishes; that is
    measured by the interactions of h and subtracted once; if nothing significant is left, it is the
    variance.
    """
    blocks = len(power)
    own = products[np.arange(blocks), np.arange(blocks)]
    change = products[:-1] - products[-1]  # (left out, block, heads)
    share = own.sum(0) / power.sum(0)
    apart = ~np.eye(blocks, dtype=bool)[:, :, None]
    without = (own.sum(0) - own) + (change * apart).sum(1)
    left = without / (power.sum(0) - power)
    jackknife = (blocks - 1) * left.var(0)
    pairs = _interactions(change) / power.sum(0)
    # Each unordered pair of blocks enters the share twice, as h_bc + h_cb.
    together = (pairs**2).sum((0, 1)) / 2
    # (B − 1)/(B − 3): an error from B blocks is uncertain itself, as in Student's distribution.
    student = (blocks - 1) / (blocks - 3)
    variance = np.where(jackknife > 3 * together, student * (jackknife - together), together)
    return Estimate(
        np.where(flat, 0.0, share), np.where(flat, 0.0, np.hypot(np.sqrt(variance), ROUNDING))
    )


def _interactions(change: np.ndarray) -> np.ndarray:
    """h_bc + h_cb for b ≠ c without the mean and what belongs to one block, (blocks, blocks, heads)."""
    both = change + change.transpose(1, 0, 2)
    blocks = len(both)
    apart = ~np.eye(blocks, dtype=bool)[:, :, None]
    both = both * apart
    total = both.sum((0, 1)) / (blocks * (blocks - 1))
    single = (both.sum(1) - (blocks - 1) * total) / max(blocks - 2, 1)
    left = (both - total - single[:, None] - single[None]) * apart
    freedom = max(blocks * (blocks - 3), 1) / (blocks * (blocks - 1))
    return left / np.sqrt(freedom)


def _by_block(entries: Entries, values: np.ndarray) -> np.ndarray:
    return summing(entries.block, entries.blocks) @ values


def _mean_over(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean over each group, (heads, groups)."""
    size = np.bincount(groups)
    return np.stack([np.bincount(groups, column) / size for column in values.T])
