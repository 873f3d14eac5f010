"""Words of UTF-8 files, read piece by piece and stored as one number per word.

A word is a run of letters, apostrophes inside it included, in lower case; digits, underscores and
punctuation end it.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
PIECE = 1 << 20  # bytes read at once
# the help texts of the language: 64,000 words of English prose in every Python
DEFAULT = "pydoc_data.topics"


class Corpus(NamedTuple):
    """Text as numbers.

    - `documents`: one array per file (per topic in the default corpus): the number of each word, in
      the order of the text.
    - `words`: the word behind each number, the most frequent first.
    """

    documents: list[np.ndarray]
    words: list[str]

    @property
    def counts(self) -> np.ndarray:
        """How often each word occurs."""
        return np.bincount(np.concatenate(self.documents), minlength=len(self.words))

    @property
    def size(self) -> int:
        return sum(map(len, self.documents))


def read_words(files: Iterable[str | Path] = ()) -> Corpus:
    """The words of some UTF-8 files; of Python's own help texts if no file is given."""
    numbers: dict[str, int] = {}
    documents = []
    for pieces in map(pieces_of_file, files) if (files := list(files)) else default_pieces():
        ids = array("i")
        for word in words_of(pieces):
            ids.append(numbers.setdefault(word, len(numbers)))
        documents.append(np.array(ids, dtype=np.int32))
    if not any(map(len, documents)):
        named = ", ".join(map(str, files))
        raise ValueError(f"{named}: no words in it; a text of at least one sentence is needed")
    return _by_frequency(Corpus(documents, list(numbers)))


def keep_frequent(corpus: Corpus, least: int, most: int) -> Corpus:
    """Without the words that occur less than `least` times, and at most `most` different ones: the
    others are removed from the text."""
    kept = min(most, int((corpus.counts >= least).sum()))
    return Corpus([ids[ids < kept] for ids in corpus.documents], corpus.words[:kept])


def words_of(pieces: Iterable[str]) -> Iterator[str]:
    """The words of a text that comes in pieces; a word on the border of two pieces is one word."""
    tail = ""
    for piece in pieces:
        text = tail + piece
        border = max(text.rfind(" "), text.rfind("\n")) + 1
        if not border and len(text) > 1 << 16:  # without any blank: cut here
            border = len(text)
        yield from WORD.findall(text[:border].lower())
        tail = text[border:]
    yield from WORD.findall(tail.lower())


def pieces_of_file(path: str | Path) -> Iterator[str]:
    """The text of a file, a piece at a time; a file that is not text is refused."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            if b"\0" in piece:
                raise ValueError(f"{path}: a binary file; UTF-8 text is needed")
            try:
                yield decoder.decode(piece)
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}: not UTF-8 text ({error.reason}); convert it first"
                ) from None


def default_pieces() -> Iterator[list[str]]:
    """The help texts that come with Python, one document each."""
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield [topics[name]]


def _by_frequency(corpus: Corpus) -> Corpus:
    order = np.argsort(-corpus.counts, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    return Corpus([place[ids] for ids in corpus.documents], [corpus.words[k] for k in order])
