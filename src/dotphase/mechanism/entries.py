"""The scores that enter the fit: pairs of different places whose words meet again elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLOCKS = 20  # of sentences; an error bar from 20 blocks is known to a sixth
LEAST = 8  # sentences
FEWEST = 4  # blocks from which an error can be estimated


@dataclass(frozen=True, eq=False)
class Entries:
    """One entry per score s_ij(x) that is used, as columns of a table.

    - `sentence`, `query`, `key`: the index of x, and i and j;  `row`: which entries share (x, i).
    - `block`: the block of sentences that x belongs to.
    - `place`: the number of the pair of places (i, j);  `pair`: that of the pair of words.
    - `words`: the words (x_i, x_j) of each pair, (pairs, 2);  `places`: (i, j) of each, (places, 2).
    - `coverage`: the share of all scores between different places that is used.
    """

    sentence: np.ndarray
    query: np.ndarray
    key: np.ndarray
    row: np.ndarray
    block: np.ndarray
    place: np.ndarray
    pair: np.ndarray
    words: np.ndarray
    places: np.ndarray
    coverage: float

    @property
    def blocks(self) -> int:
        return int(self.block.max()) + 1


def entries_of(ids: np.ndarray, causal: bool, most_pairs: int = 4000) -> Entries:
    """The entries of sentences `ids`, (n, L).

    Left out are the diagonal i = j, where position and equality of words are one; pairs of words
    that occur in one block of sentences only, from which nothing can be predicted; of the others all
    but the `most_pairs` most frequent; and rows in which fewer than two entries remain.

    **Arguments**: `causal`: keys j < i only, instead of all j ≠ i.
    """
    n, length = ids.shape
    if n < LEAST:
        raise ValueError(f"sentences: at least {LEAST} are needed for an error bar, got {n}")
    if length < 3 + causal:
        raise ValueError(
            f"sentences: at least {3 + causal} tokens per sentence are needed, so that a place "
            f"sees two others; got {length}"
        )
    i, j = np.tril_indices(length, -1) if causal else np.nonzero(~np.eye(length, dtype=bool))
    sentence, column = np.repeat(np.arange(n), len(i)), np.tile(np.arange(len(i)), n)
    block = sentence * min(n, BLOCKS) // n
    words, pair = np.unique(
        np.stack([ids[:, i].ravel(), ids[:, j].ravel()], 1), axis=0, return_inverse=True
    )
    kept = _frequent(pair.ravel(), block, len(words), most_pairs)[pair.ravel()]
    row = sentence * length + i[column]
    kept &= np.bincount(row[kept], minlength=n * length)[row] >= 2
    if not kept.any():
        raise ValueError(
            "sentences: no two words occur together in two different sentences; "
            "more or longer sentences, or fewer different words, are needed"
        )
    blocks, block = np.unique(block[kept], return_inverse=True)  # some may have no entries
    if len(blocks) < FEWEST:
        raise ValueError(
            f"sentences: words meet again in {len(blocks)} of {min(n, BLOCKS)} blocks of sentences "
            f"only, at least {FEWEST} are needed for an error bar; give more sentences"
        )
    used, renumbered = np.unique(pair.ravel()[kept], return_inverse=True)
    shown, place = np.unique(column[kept], return_inverse=True)
    return Entries(
        sentence=sentence[kept],
        query=i[column[kept]],
        key=j[column[kept]],
        row=np.unique(row[kept], return_inverse=True)[1],
        block=block,
        place=place,
        pair=renumbered,
        words=words[used],
        places=np.stack([i, j], 1)[shown],
        coverage=float(kept.mean()),
    )


def _frequent(pair: np.ndarray, block: np.ndarray, pairs: int, most: int) -> np.ndarray:
    """Which pairs of words occur in two blocks or more; the `most` frequent of them, (pairs,)."""
    met = np.unique(np.stack([pair, block], 1), axis=0)[:, 0]
    repeated = np.bincount(met, minlength=pairs) >= 2
    count = np.where(repeated, np.bincount(pair, minlength=pairs), 0)
    if repeated.sum() <= most:
        return repeated
    chosen = np.argsort(-count, kind="stable")[:most]
    found = np.zeros(pairs, dtype=bool)
    found[chosen] = True
    return found & repeated
