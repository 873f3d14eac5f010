"""The joint fit of scores by places and words, a constant per row free.

    s_ij(x) = a_i(x) + P_ij + T(x_i, x_j) + rest

Least squares for P and T together: a(x) is eliminated by centring over each row, (M s)_ij = s_ij −
mean_j s_ij, and with X = [places | pairs of words] the normal equations are Xᵀ M X β = Xᵀ M s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, hstack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .entries import Entries

# A constant in P and in each component of T is free; this ridge, relative to one observation, sets
# it without moving what the scores determine by more than rounding.
RIDGE = 1e-8


class Fitted(NamedTuple):
    """P_ij and T(x_i, x_j) at every entry, (entries, heads)."""

    position: np.ndarray
    content: np.ndarray


def centred(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """`values`, (entries, …), minus their mean over each group."""
    size = np.maximum(np.bincount(groups), 1)
    sums = summing(groups, len(size)) @ values.reshape(len(values), -1)
    return values - (sums / size[:, None])[groups].reshape(values.shape)


def fit_without_blocks(entries: Entries, scores: np.ndarray) -> Iterator[Fitted]:
    """Fit P and T to `scores`, (entries, heads): without each block of sentences in turn and, last,
    with all of them."""
    places = len(entries.places)
    design = hstack(
        [summing(entries.place, places).T, summing(entries.pair, len(entries.words)).T],
        format="csr",
    )
    parts = [_normal_equations(entries, design, scores, b) for b in range(entries.blocks)]
    matrix = sum((part[0] for part in parts[1:]), parts[0][0])
    moment = sum((part[1] for part in parts[1:]), parts[0][1])
    for less, gone in (*parts, (0 * matrix, 0.0)):
        solution = _solve(matrix - less, moment - gone)
        yield Fitted(solution[:places][entries.place], solution[places:][entries.pair])


def comparable_groups(entries: Entries) -> np.ndarray:
    """The group of each entry: entries of one row whose T can be compared by what other blocks say.

    T(a, b) − T(a, c) follows from a block-free fit only if b and c are linked there by rows with
    query a that contain both, directly or through other words. Entries without such a partner form
    groups of their own, which centring sets to zero.
    """
    part = np.empty(len(entries.row), dtype=np.int64)
    first = np.r_[True, np.diff(entries.row) > 0]
    links = np.flatnonzero(~first)  # an entry and the one before it, of the same row
    for b in range(entries.blocks):
        here = entries.block == b
        use = links[~here[links]]
        number = len(entries.words)
        linked = (entries.pair[use], entries.pair[use - 1])
        graph = csr_array((np.ones(len(use)), linked), shape=(number, number))
        part[here] = connected_components(graph, directed=False)[1][entries.pair[here]]
    return np.unique(np.stack([entries.row, part], 1), axis=0, return_inverse=True)[1].ravel()


def check_separable(entries: Entries) -> None:
    """Refuse sentences in which places and words cannot be told apart, such as equal sentences."""
    places = len(entries.places)
    by_place = summing(entries.place, places).T
    by_pair = summing(entries.pair, len(entries.words)).T
    design = hstack([by_place, by_pair], format="csr")
    matrix, _ = _normal_equations(entries, design, np.zeros((len(entries.row), 1)), None)
    inner, mixed = matrix[places:, places:], matrix[:places, places:]
    factor = splu(csc_array(inner + RIDGE * eye_array(inner.shape[0])))
    explained = mixed @ factor.solve(np.ascontiguousarray(mixed.T.toarray()))
    left = np.linalg.eigvalsh(matrix[:places, :places].toarray() - explained)
    free = places - len(np.unique(entries.places[:, 0]))  # a constant per query is a(x)'s
    if free < 1 or np.sort(left)[-free] < 1e-6 * matrix.diagonal()[:places].max():
        raise ValueError(
            "sentences: places and words cannot be told apart in them; the same words have to occur "
            "at different places: give more sentences"
        )


def _normal_equations(entries, design, scores, block):
    """Xᵀ M X and Xᵀ M s over one block; over all entries if it is None."""
    here = np.flatnonzero(entries.block == block) if block is not None else slice(None)
    row = np.unique(entries.row[here], return_inverse=True)[1].ravel()
    part = design[here]
    in_rows = summing(row, row[-1] + 1)
    weight = 1 / np.bincount(row)
    totals = in_rows @ part
    matrix = part.T @ part - totals.T @ totals.multiply(weight[:, None]).tocsr()
    return csc_array(matrix), part.T @ centred(scores[here], row)


def _solve(matrix, moment):
    factor = splu(csc_array(matrix + RIDGE * eye_array(matrix.shape[0])))
    return factor.solve(np.ascontiguousarray(moment))


def summing(groups: np.ndarray, number: int) -> csr_array:
    """The matrix that sums entries over groups, (groups, entries)."""
    size = len(groups)
    return csr_array((np.ones(size), (groups, np.arange(size))), shape=(number, size))
