"""`read_text` and `read_embeddings`: sentences from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..numerics.extras import free_memory
from ..scenario.arguments import checked_with, number
from .arrays import Halves, as_floats, open_array
from .embedding import embed
from .sentences import (
    ROWS,
    Sentences,
    check_finite,
    check_in_range,
    check_token_ids,
    in_sentences,
)
from .words import DEFAULT, keep_frequent, read_words

LEAST, MOST = 5, 20_000  # least occurrences of a word; largest number of different words


@checked_with(deviation=number(above=True))
def read_text(
    files: str | Path | Iterable[str | Path] = (),
    dimension: int = 200,
    length: int = 2,
    *,
    window: int = 5,
    least: int = LEAST,
    centre: bool = True,
    whiten: bool = False,
    deviation: float = 0.5,
) -> Sentences:
    """Sentences of L consecutive words of a text, each word a vector in d dimensions learnt from
    the text itself.

    Words are runs of letters in lower case. Those that occur less than `least` times are left out.
    What is left is cut into sentences of L words, one after the other, none across two files.
    Vectors are the leading directions of the positive mutual information of words that stand near
    each other (`embed`).

    **Arguments**

    - `files`: UTF-8 text; Python's own help texts (64,000 words of English prose) if none is given.
    - `dimension`, `length`: d and L;  `window`: largest distance of neighbours.
    - `centre`: subtract the mean token;  `whiten`: make the covariance of the tokens σ²I.
    - `deviation`: σ, the root mean square entry of a token.

    **Returns**: `Sentences`.

    **Example**: `read_text("war-and-peace.txt", dimension=300, length=3)`.
    """
    listed = [files] if isinstance(files, str | Path) else list(files)
    for file in listed:
        if not Path(file).is_file():
            raise ValueError(f"files: {file}: No such file")
    everything = read_words(listed)
    corpus = keep_frequent(everything, least, MOST)
    ids = [in_sentences(document, length) for document in corpus.documents]
    named = ", ".join(map(str, listed)) or DEFAULT
    if not sum(map(len, ids)):
        raise ValueError(
            f"{named}: too short for a sentence of {length} tokens: {everything.size} words, of which {corpus.size} "
            f"occur {least} times or more"
        )
    description = {
        "text": named,
        "read": everything.size,
        "kept": corpus.size,
        "window": window,
        "least": least,
    }
    found = Sentences(
        embed(corpus, dimension, window), np.concatenate(ids), tuple(corpus.words), description
    )
    return prepared(found, centre, whiten, deviation)


@checked_with(deviation=number(above=True))
def read_embeddings(
    embeddings: str | Path,
    ids: str | Path,
    dimension: int | None = None,
    length: int = 2,
    *,
    centre: bool = True,
    whiten: bool = False,
    deviation: float = 0.5,
) -> Sentences:
    """Sentences from given vectors: a matrix (words, D) and token ids, both in files.

    **Arguments**

    - `embeddings`, `ids`: `.npy`, `.npz` or `.safetensors`, mapped and never unpickled; `FILE:NAME`
      where a file has several arrays. Only the rows that occur are read. Ids are a text, (tokens,),
      or sentences, (n, L).
    - `dimension`: d; of the D directions the leading ones, unless all are kept.
    - `length`, `centre`, `whiten`, `deviation`: as in `read_text`.

    **Returns**: `Sentences`.

    **Example**: `read_embeddings("glove.npy", "ids.npy", length=3)`.
    """
    matrix, numbers = _opened(embeddings), np.asarray(_opened(ids))
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise ValueError(
            f"{embeddings}: expected a matrix (words, d) of numbers, got {matrix.dtype} {matrix.shape}"
        )
    check_token_ids(numbers, str(ids))
    if numbers.ndim == 2 and numbers.shape[1] != length:
        raise ValueError(f"{ids}: sentences of {numbers.shape[1]} tokens, but --length is {length}")
    check_in_range(numbers, len(matrix), str(ids), str(embeddings))
    cut = numbers if numbers.ndim == 2 else in_sentences(numbers, length)
    if not len(cut):
        raise ValueError(
            f"{ids}: too short for a sentence of {length} tokens: {numbers.size} tokens"
        )
    used, compact = np.unique(cut, return_inverse=True)
    vectors = _gathered(matrix, used, str(embeddings))
    description: dict[str, Any] = {"embeddings": str(embeddings), "ids": str(ids)}
    found = Sentences(vectors, compact.reshape(cut.shape).astype(np.int32), (), description)
    if not found.deviation > 0:
        raise ValueError(f"{embeddings}: every row that occurs is zero")
    return prepared(
        found if dimension is None else _leading(found, dimension), centre, whiten, deviation
    )


def prepared(sentences: Sentences, centre: bool, whiten: bool, deviation: float) -> Sentences:
    """Centred, whitened if asked for, and scaled."""
    found = sentences.centred() if centre else sentences
    return (found.whitened() if whiten else found).scaled_to(deviation)


def _opened(path: str | Path) -> np.ndarray:
    """The array at FILE or FILE:NAME."""
    file, colon, name = str(path).rpartition(":")
    if Path(path).exists() or not colon or not Path(file).exists():
        return open_array(path)
    return open_array(file, name)


def _gathered(matrix: np.ndarray, rows: np.ndarray, name: str) -> np.ndarray:
    """Some rows of a mapped matrix, read a part at a time."""
    _check_fits(len(rows) * matrix.shape[1] * 8, name)
    found = np.empty((len(rows), matrix.shape[1]))
    for first in range(0, len(rows), ROWS):
        part = slice(first, first + ROWS)
        found[part] = as_floats(matrix[rows[part]], isinstance(matrix, Halves))
    check_finite(found, name, lambda row: int(rows[row]))
    return found


def _check_fits(needed: int, name: str) -> None:
    from ..finite.checks import size

    free = free_memory()
    if needed > free:
        raise ValueError(
            f"{name}: the rows that occur take {size(needed)} of memory, {size(free)} are free"
        )


def _leading(sentences: Sentences, dimension: int) -> Sentences:
    """The d directions of largest variance."""
    if dimension > sentences.dimension:
        raise ValueError(
            f"dimension: {dimension} asked for, the matrix has {sentences.dimension} columns"
        )
    if dimension == sentences.dimension:
        return sentences
    centred = sentences.centred()
    _, vectors = np.linalg.eigh(centred.covariance)
    return sentences.rotated(vectors[:, : -dimension - 1 : -1])
