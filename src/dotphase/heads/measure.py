"""`measure`: what the heads of a transformer do, by the shares of their scores' variance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanism.entries import Entries, entries_of
from ..mechanism.fit import check_separable
from ..mechanism.permutation import Permutation, permutation_scores
from ..mechanism.shares import Shares, shares_of
from ..mechanism.verdict import THRESHOLD, Verdict, verdict_of
from ..results.estimate import Estimate
from ..results.result import Result
from ..scenario.arguments import checked
from ..text.sentences import check_in_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..text.sentences import Sentences

Head = Callable[[np.ndarray], Any]
Numbered = Callable[[np.ndarray, int], Any]  # of sentences and the number of the first
CHUNK = 32  # sentences that a head is given at once
NUMBERS = 1 << 22  # scores that are fitted at once: 32 MB


@dataclass(frozen=True, repr=False, eq=False)
class Heads(Result):
    """What heads do, one row per head.

    - `position`, `content`, `rest`: shares of the variance of the scores; they add up to one.
    - `positional_score`, `symbolic_score`: permutation scores; None for recorded scores.
    - `names`: of the heads: `head` or `layer.head`;  `sentences`, `length`, `causal`: what was measured.
    - `coverage`: the share of the scores between different places that could be used.
    - `threshold`: the share from which on a mechanism counts (`verdict`).
    - `mean_scores`, `places`: fitted P_ij, (heads, places), of the pairs of places (i, j).
    - `word_scores`, `pairs`: fitted T, (heads, pairs), of the pairs of words;  `words`: as text, if known.
    """

    position: Estimate
    content: Estimate
    rest: Estimate
    positional_score: Estimate | None
    symbolic_score: Estimate | None
    names: tuple[str, ...]
    sentences: int
    length: int
    causal: bool
    coverage: float
    threshold: float
    mean_scores: np.ndarray
    places: np.ndarray
    word_scores: np.ndarray
    pairs: np.ndarray
    words: tuple[str, ...] = ()

    row = "head"

    @property
    def headline(self) -> str:
        what = f"{len(self.names)} heads" if len(self.names) > 1 else "one head"
        return f"{what}, {self.sentences} sentences of {self.length} tokens, {self.coverage:.0%} of the scores used"

    @property
    def permutation(self) -> Permutation | None:
        """Both permutation scores; None for recorded scores."""
        if self.positional_score is None or self.symbolic_score is None:
            return None
        return Permutation(self.positional_score, self.symbolic_score)

    @property
    def verdicts(self) -> list[Verdict]:
        """Of each head: positional, semantic, both, neither or undecided, with its margin."""
        return [
            verdict_of(self.position[k], self.content[k], self.threshold)
            for k in range(len(self.names))
        ]

    @property
    def verdict(self) -> Verdict:
        """That of a single head; of several take `verdicts`."""
        if len(self.names) > 1:
            raise ValueError(f"verdict: there are {len(self.names)} heads; see `verdicts`")
        return self.verdicts[0]

    def rows(self) -> list[dict[str, Any]]:
        rows = []
        for k, (name, verdict) in enumerate(zip(self.names, self.verdicts, strict=True)):
            row = {"head": name, "verdict": verdict.word, "margin": round(verdict.margin, 1)}
            row |= {part: getattr(self, part)[k] for part in ("position", "content", "rest")}
            if self.permutation is not None:
                row |= {
                    "positional_score": self.permutation.positional[k],
                    "symbolic_score": self.permutation.symbolic[k],
                }
            rows.append(row)
        return rows

    def arrays(self) -> dict[str, Any]:
        return {
            "mean_scores": (("head", "place"), self.mean_scores),
            "word_scores": (("head", "pair"), self.word_scores),
        }

    def strongest(self, head: int = 0, count: int = 10) -> list[tuple[Any, Any, float]]:
        """The pairs (query word, key word) with the largest fitted T, as text if it is known."""
        order = np.argsort(-self.word_scores[head], kind="stable")[:count]
        name = lambda word: self.words[word] if self.words else int(word)
        return [
            (name(a), name(b), float(self.word_scores[head, k]))
            for k, (a, b) in zip(order, self.pairs[order], strict=True)
        ]

    def plot(self, head: int | None = None) -> Figure:
        """The map of all heads; of one head its mean scores by distance and strongest pairs."""
        from .plots import draw_head, draw_map

        if head is None and len(self.names) > 1:
            return draw_map(self)
        return draw_head(self, head or 0)


@checked
def measure(
    head: Head | np.ndarray,
    sentences: np.ndarray | Sentences,
    *,
    causal: bool | None = None,
    permutations: int = 4,
    most_pairs: int = 4000,
    threshold: float = THRESHOLD,
    words: Sequence[str] = (),
    seed: int = 0,
) -> Heads:
    """What heads do: shares of s_ij(x) = a_i(x) + P_ij + T(x_i, x_j) + rest, without the diagonal.

    **Arguments**

    - `head`: a function from token ids (n, L) to scores before the softmax, (n, L, L), (n, heads, L, L)
      or (n, layers, heads, L, L); or an array of scores that was recorded. Attention patterns (rows
      that add up to one) are accepted too: their logarithm is the scores, up to a constant per row.
    - `sentences`: token ids, (n, L), or `dotphase.text.Sentences`.
    - `causal`: whether place i sees j ≤ i only; found from the mask (−∞, or zero attention) by default.
    - `permutations`: of each sentence, for the permutation scores; 0 for none.
    - `most_pairs`: pairs of words used, the most frequent ones;  `threshold`: of the verdict.
    - `words`: the words behind the ids, for pictures.

    **Returns**: `Heads`: the shares and the verdict of every head.

    **Example**: `measure(lambda ids: embedding[ids] @ embedding[ids].swapaxes(1, 2), ids).verdict`.
    """
    ids, words = _ids(sentences, words)
    function = _function(head, ids)
    first = _scores(function, ids[:CHUNK])
    masked = _is_masked(first)
    causal = masked if causal is None else causal
    if masked and not causal:
        raise ValueError("causal: the scores are masked above the diagonal; leave causal=None")
    entries = entries_of(ids, causal, most_pairs)
    check_separable(entries)
    taken, names = _taken(function, ids, entries)
    step = max(1, NUMBERS // len(taken))
    groups = range(0, taken.shape[1], step)
    parts = [shares_of(entries, taken[:, k : k + step]) for k in groups]
    found = None
    if callable(head) and permutations and ids.shape[1] > 3:
        some = ids[: max(CHUNK, 4096 // len(names))]
        together = lambda ids: _flat(_in_chunks(function, ids))
        found = permutation_scores(together, some, causal, permutations, seed)
    return Heads(
        *(_joined(parts, name) for name in ("position", "content", "rest")),
        positional_score=None if found is None else found.positional,
        symbolic_score=None if found is None else found.symbolic,
        names=names,
        sentences=len(ids),
        length=ids.shape[1],
        causal=causal,
        coverage=entries.coverage,
        threshold=threshold,
        mean_scores=np.concatenate([part.mean_scores for part in parts]),
        places=entries.places,
        word_scores=np.concatenate([part.word_scores for part in parts]),
        pairs=entries.words,
        words=words,
    )


def _ids(sentences: Any, words: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    if hasattr(sentences, "ids"):
        return np.asarray(sentences.ids), tuple(words) or sentences.words
    ids = np.asarray(sentences)
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or not ids.size:
        raise ValueError(
            f"sentences: expected token ids, whole numbers (n, L), got {ids.dtype} {ids.shape}"
        )
    check_in_range(ids, len(words) or int(ids.max()) + 1, "sentences", "the vocabulary")
    return ids, tuple(words)


def _function(head: Any, ids: np.ndarray) -> Numbered:
    """The head as a function of sentences and the number of the first of them, by which recorded
    scores are looked up."""
    if callable(head):
        return lambda ids, start: head(ids)
    recorded = np.asarray(head)
    if recorded.ndim < 3 or recorded.shape[0] != len(ids):
        raise ValueError(
            f"head: expected scores ({len(ids)}, …, L, L), one per sentence, got shape {recorded.shape}"
        )
    return lambda ids, start: recorded[start : start + len(ids)]


def _scores(function: Numbered, ids: np.ndarray, start: int = 0) -> np.ndarray:
    """Scores (n, layers, heads, L, L) of some sentences; patterns become their logarithms."""
    found = np.asarray(function(ids, start), dtype=np.float64)
    n, length = ids.shape
    if found.ndim not in (3, 4, 5) or found.shape[0] != n or found.shape[-2:] != (length, length):
        raise ValueError(
            f"head: expected scores ({n}, [[layers,] heads,] {length}, {length}), got {found.shape}"
        )
    found = found.reshape(n, *(1,) * (5 - found.ndim), *found.shape[1:])
    if np.isfinite(found).all() and (found >= 0).all() and np.allclose(found.sum(-1), 1, atol=1e-3):
        with np.errstate(divide="ignore"):
            return np.log(found)
    return found


def _is_masked(scores: np.ndarray) -> bool:
    """Whether all scores above the diagonal are −∞, or as negative as masks are."""
    above = scores[..., *np.triu_indices(scores.shape[-1], 1)]
    return bool((above < -1e4).all())


def _taken(
    function: Numbered, ids: np.ndarray, entries: Entries
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The scores that enter, (entries, heads), and the names of the heads."""
    parts, shape = [], (1, 1)
    for start in range(0, len(ids), CHUNK):
        scores = _scores(function, ids[start : start + CHUNK], start)
        shape = scores.shape[1:3]
        here = slice(*np.searchsorted(entries.sentence, (start, start + CHUNK)))
        at = entries.sentence[here] - start, entries.query[here], entries.key[here]
        parts.append(_flat(scores)[at[0], :, at[1], at[2]])
    taken = np.concatenate(parts)
    if not np.isfinite(taken).all():
        wrong = int((~np.isfinite(taken)).any(1).argmax())
        i, j = entries.query[wrong], entries.key[wrong]
        raise ValueError(
            f"head: the score of sentence {entries.sentence[wrong]} at places ({i}, {j}) is not finite; "
            "if these are attention patterns that round to zero, give the scores before the softmax"
        )
    layers, heads = shape
    single = [str(h) for h in range(heads)]
    names = single if layers == 1 else [f"{k}.{h}" for k in range(layers) for h in range(heads)]
    return taken, tuple(names)


def _in_chunks(function: Numbered, ids: np.ndarray) -> np.ndarray:
    starts = range(0, len(ids), CHUNK)
    return np.concatenate([_scores(function, ids[k : k + CHUNK], k) for k in starts])


def _flat(scores: np.ndarray) -> np.ndarray:
    """(n, layers · heads, L, L)."""
    return scores.reshape(len(scores), -1, *scores.shape[-2:])


def _joined(parts: list[Shares], name: str) -> Estimate:
    listed = [getattr(part, name) for part in parts]
    value, error = (np.concatenate([getattr(e, x) for e in listed]) for x in ("value", "error"))
    return Estimate(value, error)
