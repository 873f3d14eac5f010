"""Token ids from text, in the vocabulary of a model."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..scenario.arguments import checked
from ..text.sentences import check_token_ids, in_sentences
from ..text.words import read_words

if TYPE_CHECKING:
    from .loading import FirstLayer


@checked
def read_ids(model: FirstLayer, text: str | Path | None = None, length: int = 16) -> np.ndarray:
    """Sentences of `length` consecutive tokens, (n, L), for `measure`.

    The text is, in this order: token ids, if it is a `.npy` file or whole numbers separated by blanks;
    tokenised by the `tokenizer.json` beside the model, if the package `tokenizers` is installed; split
    into the words of the model's own vocabulary, others left out.

    **Arguments**: `model`: what `load` returned; `text`: a file, Python's own help texts by default.

    **Returns**: an array of token ids, (n, L).
    """
    if text is not None and not Path(text).is_file():
        raise ValueError(f"{text}: there is no such file")
    ids = _tokens(model, None if text is None else Path(text))
    if ids.ndim == 2:
        return ids
    if len(ids) < length:
        raise ValueError(f"{text}: {len(ids)} tokens are too few for a sentence of {length}")
    return in_sentences(ids, length)


def _tokens(model: FirstLayer, text: Path | None) -> np.ndarray:
    if text is not None and text.suffix == ".npy":
        ids = np.load(text, allow_pickle=False)
        check_token_ids(ids, str(text))
        return ids
    if text is not None and (numbers := _whole_numbers(text)) is not None:
        return numbers
    tokenizer = Path(model.origin).parent / "tokenizer.json"
    if tokenizer.is_file() and find_spec("tokenizers") is not None and text is not None:
        from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

        found = Tokenizer.from_file(str(tokenizer)).encode(text.read_text(encoding="utf-8"))
        return np.array(found.ids, dtype=np.int64)
    if not model.words:
        raise ValueError(
            f"{text or 'text'}: the model has no vocabulary of its own; give token ids (.npy, or whole "
            "numbers separated by blanks), or install `tokenizers` and put tokenizer.json beside the model"
        )
    corpus = read_words([] if text is None else [text])
    number = {word: k for k, word in enumerate(model.words)}
    known = np.array([number.get(word, -1) for word in corpus.words])
    ids = np.concatenate([known[document] for document in corpus.documents])
    return ids[ids >= 0]


def _whole_numbers(text: Path) -> np.ndarray | None:
    """The ids in a file of whole numbers; None if it begins with anything else."""
    with text.open("rb") as file:
        begin = file.read(64).split()
    if not begin or not all(part.isdigit() for part in begin[:-1] or begin):
        return None
    try:
        return np.array(text.read_text(encoding="ascii").split(), dtype=np.int64)
    except ValueError:
        raise ValueError(f"{text}: expected whole numbers only, as its beginning has") from None
