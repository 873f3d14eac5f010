"""Permutation scores: keep the query, permute the words it looks at.

A positional head keeps its scores at their places, a symbolic one lets them move with the words. With
a permutation π of the keys of a query i and x′ the sentence with x′_j = x_π(j), the correlations over
the keys j are

    positional = corr(s_ij(x′), s_ij(x)),    symbolic = corr(s_ij(x′), s_iπ(j)(x)),

averaged over sentences, queries and permutations (Urrutia et al., arXiv 2511.11579). They need the
head as a function of the sentence. A head that looks at positions only has a symbolic score of zero,
the mean over all permutations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..results.estimate import Estimate
from ..results.statistics import over_seeds
from ..scenario.arguments import array, checked_with, function

KEYS = 3  # that a query sees at least: a correlation over two is 1 or −1


class Permutation(NamedTuple):
    """Two correlations, one number per head."""

    positional: Estimate
    symbolic: Estimate


@checked_with(ids=array(2), head=function)
def permutation_scores(
    head: Callable[[np.ndarray], np.ndarray],
    ids: np.ndarray,
    causal: bool = False,
    repeats: int = 4,
    seed: int = 0,
) -> Permutation:
    """The permutation scores of `head`, a function from ids (n, L) to scores (n, heads, L, L).

    **Arguments**: `ids`: sentences, (n, L); `causal`: keys j < i only; `repeats`: permutations of
    each sentence, each with a query of its own.

    The errors are those of a mean over sentences.

    **Returns**: a `Permutation`: one positional and one symbolic score per head, with errors.
    """
    least = KEYS + 1
    if ids.shape[1] < least:
        raise ValueError(
            f"ids: at least {least} tokens per sentence are needed, got {ids.shape[1]}"
        )
    rng = np.random.default_rng(seed)
    before = head(ids)
    found = np.array([_one_pass(head, before, ids, causal, rng) for _ in range(repeats)])
    known = np.isfinite(found)
    count = known.sum(0)  # (2, n, heads); none where the scores of a sentence are constant
    means = np.where(known, found, 0.0).sum(0) / np.where(count, count, np.nan)
    return Permutation(*(_over_sentences(each) for each in means))


def _one_pass(head, before, ids, causal, rng) -> np.ndarray:
    """Both correlations for one query and one permutation of each sentence, (2, n, heads)."""
    n, length = ids.shape
    moved, places, queries = ids.copy(), [], []
    for x in range(n):
        query = int(rng.integers(KEYS, length)) if causal else int(rng.integers(length))
        keys = np.delete(np.arange(query if causal else length), [] if causal else query)
        order = rng.permutation(keys)
        moved[x, keys] = ids[x, order]
        places.append((keys, order))
        queries.append(query)
    after = head(moved)
    correlations = np.empty((2, n, before.shape[1]))
    for x, (query, (keys, order)) in enumerate(zip(queries, places, strict=True)):
        new = after[x][:, query, keys]
        for which, at in enumerate((keys, order)):
            correlations[which, x] = _correlation(new, before[x][:, query, at])
    return correlations


def _correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Over the last axis; not a number where one of the two is constant."""
    a, b = (each - each.mean(-1, keepdims=True) for each in (a, b))
    size = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    constant = size <= 1e-12
    return np.where(constant, np.nan, (a * b).sum(-1) / np.where(constant, 1.0, size))


def _over_sentences(values: np.ndarray) -> Estimate:
    heads = [
        over_seeds([v if np.isfinite(v) else None for v in column.tolist()]) for column in values.T
    ]
    return Estimate([h.value for h in heads], [h.error for h in heads])
