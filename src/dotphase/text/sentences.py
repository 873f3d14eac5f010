"""Real sentences: one vector per word, and L words per sentence; the `data` of training."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..numerics.files import written_whole
from ..scenario.arguments import checked, checked_with, matrix
from .arrays import open_array

ROWS = 1 << 16  # rows of a matrix that are read at once


@checked_with(embeddings=matrix, ids=matrix)
@dataclass(frozen=True, eq=False, repr=False)
class Sentences:
    """n sentences of L tokens in d dimensions, x_l^μ = embeddings[ids[μ, l]].

    **Arguments**

    - `embeddings`: a vector per word, (words, d);  `ids`: the words of every sentence, (n, L).
    - `words`: the words as text, if known.
    - `provenance`: where they come from and what was done to them, in words and numbers.

    **Example**: `train(scenario, data=read_text(dimension=200, length=2))`.
    """

    embeddings: np.ndarray
    ids: np.ndarray
    words: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.embeddings.ndim != 2 or not self.embeddings.size:
            raise ValueError(
                f"embeddings: expected a matrix (words, d), got shape {self.embeddings.shape}"
            )
        if self.ids.ndim != 2 or not self.ids.size or self.ids.dtype.kind not in "iu":
            raise ValueError(
                f"ids: expected whole numbers (sentences, L), got {self.ids.dtype} {self.ids.shape}"
            )
        if not isinstance(self.embeddings, np.memmap):  # of files the reader has done so
            check_finite(self.embeddings, "embeddings")
        check_in_range(self.ids, len(self.embeddings), "ids", "the matrix")

    @property
    def count(self) -> int:
        """n, the number of sentences."""
        return len(self.ids)

    @property
    def length(self) -> int:
        """L, the number of tokens of each."""
        return self.ids.shape[1]

    @property
    def dimension(self) -> int:
        """d."""
        return self.embeddings.shape[1]

    @property
    def frequency(self) -> np.ndarray:
        """The share of each word among all tokens, (words,)."""
        return np.bincount(self.ids.ravel(), minlength=len(self.embeddings)) / self.ids.size

    def tokens(self, rows: np.ndarray | slice) -> np.ndarray:
        """x of some sentences, (L, n, d)."""
        return self.embeddings[self.ids[rows].T]

    # --------------------------------------------------------------------- what can be done to them

    def centred(self) -> Sentences:
        """With the mean token subtracted from every vector."""
        return self._with("centred", self.embeddings - self.frequency @ self.embeddings)

    def whitened(self) -> Sentences:
        """With the covariance of the tokens (all places together) made σ²I, at the σ they have."""
        values, vectors = np.linalg.eigh(self.covariance)
        kept = values > 1e-10 * values[-1]
        if not kept.all():
            raise ValueError(
                f"whiten: the tokens span {kept.sum()} of {self.dimension} directions; lower --dimension"
            )
        return self._with(
            "whitened", self.embeddings @ (vectors / np.sqrt(values)) * self.deviation
        )

    def scaled_to(self, deviation: float) -> Sentences:
        """With the root mean square entry of a token made `deviation`, σ."""
        return self._with(
            f"scaled to σ = {deviation:g}", self.embeddings * (deviation / self.deviation)
        )

    def shuffled(self, seed: int = 0) -> Sentences:
        """With all tokens randomly redistributed over the sentences: word frequencies are kept,
        neighbours are not."""
        dealt = np.random.default_rng(seed).permutation(self.ids.ravel()).reshape(self.ids.shape)
        return self._with("shuffled", ids=dealt)

    def without_repeats(self) -> Sentences:
        """Without the sentences in which a word occurs twice, and each sentence once."""
        ordered = np.sort(self.ids, axis=1)
        unlike = (np.diff(ordered, axis=1) > 0).all(1)
        return self._with("without repeats", ids=np.unique(self.ids[unlike], axis=0))

    def every_word_once(self, seed: int = 0) -> Sentences:
        """With every word in exactly one sentence, at one position, together with random words."""
        words = np.random.default_rng(seed).permutation(np.unique(self.ids))
        return self._with("every word once", ids=in_sentences(words, self.length))

    def equal_lengths(self) -> Sentences:
        """With every vector scaled to one length, that of the root mean square token."""
        norm = np.linalg.norm(self.embeddings, axis=1, keepdims=True)
        wanted = self.deviation * np.sqrt(self.dimension)
        return self._with("equal lengths", self.embeddings * (wanted / np.maximum(norm, 1e-300)))

    def gaussian_words(self, seed: int = 0) -> Sentences:
        """With a Gaussian vector of the same covariance for every word, scaled to the word's own
        length: the order of the words and their lengths are kept, the distribution of directions is
        not."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        drawn = np.random.default_rng(seed).standard_normal(self.embeddings.shape) @ root.T
        norms = [np.linalg.norm(rows, axis=1, keepdims=True) for rows in (self.embeddings, drawn)]
        return self._with("Gaussian words", drawn * (norms[0] / norms[1]))

    def rotated(self, basis: np.ndarray) -> Sentences:
        """In other coordinates: x ↦ x · basis, the new directions in the columns of `basis`, (d,
        d)."""
        return self._with("", self.embeddings @ basis)

    @property
    def covariance(self) -> np.ndarray:
        """E[x xᵀ] over all tokens, (d, d); the mean is not subtracted."""
        return _second_moment(self.embeddings, self.frequency)

    @property
    def deviation(self) -> float:
        """σ: the root mean square entry of a token."""
        square = sum(
            float(
                self.frequency[k : k + ROWS]
                @ (np.asarray(self.embeddings[k : k + ROWS], float) ** 2).sum(1)
            )
            for k in range(0, len(self.embeddings), ROWS)
        )
        return float(np.sqrt(square / self.dimension))

    def _with(
        self, what: str, embeddings: np.ndarray | None = None, ids: np.ndarray | None = None
    ) -> Sentences:
        done = [*self.provenance.get("done", []), what] if what else self.provenance.get("done", [])
        new_ids = self.ids if ids is None else ids
        new = self.embeddings if embeddings is None else embeddings
        return replace(
            self, embeddings=new, ids=new_ids, provenance=self.provenance | {"done": done}
        )

    # ---------------------------------------------------------------------------------- shown, kept

    def __repr__(self) -> str:
        size = f"{self.count} sentences of {self.length} tokens in {self.dimension} dimensions"
        lines = [f"{size}, {len(self.embeddings)} words, σ = {self.deviation:.4g}"]
        lines += [f"  {name:<11}{value}" for name, value in self.provenance.items()]
        if self.words:
            shown = [" ".join(self.words[k] for k in row) for row in self.ids[:6]]
            lines.append(f"  {'begin with':<11}{' | '.join(shown)}")
        return "\n".join(line if len(line) < 130 else line[:129] + "…" for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Numbers that describe the sentences, for JSON."""
        sizes = {"sentences": self.count, "length": self.length, "dimension": self.dimension}
        return {
            **sizes,
            "words": len(self.embeddings),
            "sigma": self.deviation,
            "provenance": self.provenance,
        }

    def save(self, path: str | Path) -> None:
        """Keep vectors and ids (not the n × L × d numbers) in one `.npz`; it is written in one
        step."""
        with written_whole(Path(path)) as unfinished, unfinished.open("wb") as file:
            np.savez(
                file,
                embeddings=self.embeddings,
                ids=self.ids,
                words=np.array(self.words, dtype=str),
                provenance=np.array(json.dumps(self.provenance)),
            )


@checked
def load_sentences(path: str | Path) -> Sentences:
    """The sentences that `Sentences.save` or `dotphase text` wrote; their vectors are mapped, not
    read.

    **Arguments**: `path` of the file.

    **Returns**: `Sentences`.

    **Example**: `distribution = tokens_from_samples(load_sentences("tokens.npz"))`.
    """
    try:
        embeddings, ids, words, description = (
            open_array(path, name) for name in ("embeddings", "ids", "words", "provenance")
        )
        found = Sentences(
            embeddings, np.asarray(ids), tuple(words.tolist()), json.loads(str(description))
        )
    except (ValueError, zipfile.BadZipFile) as error:
        if str(error).startswith(("ids:", "embeddings:")):
            raise ValueError(f"{path}: {error}") from None
        raise ValueError(f"{path}: not a file that `dotphase text` wrote") from None
    check_finite(found.embeddings, str(path))
    return found


def in_sentences(ids: np.ndarray, length: int) -> np.ndarray:
    """Consecutive sentences, (n, L), of ids (tokens,); what is left at the end is dropped."""
    whole = len(ids) // length
    return ids[: whole * length].reshape(whole, length)


def check_token_ids(ids: np.ndarray, name: str) -> None:
    """Refuse what is neither a text of token ids, (tokens,), nor sentences of them, (n, L)."""
    if ids.dtype.kind not in "iu" or ids.ndim not in (1, 2) or not ids.size:
        raise ValueError(
            f"{name}: expected token ids, whole numbers (tokens,) or (n, L), "
            f"got {ids.dtype} {ids.shape}"
        )


def check_in_range(ids: np.ndarray, size: int, name: str, rows: str) -> None:
    """Refuse ids below zero, or from `size` on, the number of `rows` there are."""
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise ValueError(f"{name}: token {wrong} is out of range, {rows} has rows 0 to {size - 1}")


def check_finite(
    matrix: np.ndarray, name: str, rows: Callable[[int], int] = lambda row: row
) -> None:
    """Refuse a matrix with an entry that is no number, some rows at a time."""
    for first in range(0, len(matrix), ROWS):
        wrong = ~np.isfinite(matrix[first : first + ROWS]).all(1)
        if wrong.any():
            raise ValueError(
                f"{name}: row {rows(first + int(wrong.argmax()))} holds an entry that is not a number"
            )


def _second_moment(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_a w_a x_a x_aᵀ, (d, d), some rows at a time."""
    total = np.zeros((matrix.shape[1], matrix.shape[1]))
    for first in range(0, len(matrix), ROWS):
        block = np.asarray(matrix[first : first + ROWS], dtype=np.float64)
        total += (block.T * weights[first : first + ROWS]) @ block
    return total
