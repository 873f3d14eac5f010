"""The counting tab: ten letters of any alphabet, counted by the two transformers that ship with the
package."""

from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from typing import Any

import numpy as np

from ...counting import Weights, attention, logits
from ...counting.training import single_precision
from .shipped import COUNTERS, MECHANISMS

LENGTH = 10  # letters that the transformers were trained to look at


def read_letters(text: str) -> tuple[list[str], list[str]]:
    """The letters of a typed text, in upper case, and its other characters.

    Accents on Latin letters are removed: é becomes E. Letters of other alphabets stay as they are.
    """
    letters, others = [], []
    for sign in unicodedata.normalize("NFC", text):
        if sign.isspace():
            continue
        plain = [part for part in unicodedata.normalize("NFKD", sign.upper()) if "A" <= part <= "Z"]
        if sign.isalpha():
            letters += plain or [sign.upper()]
        elif not unicodedata.combining(sign):
            others.append(sign)
    return letters, list(dict.fromkeys(others))


def tokens_of(letters: list[str]) -> list[int]:
    """A to Z are 0 to 25; letters of other alphabets take unused numbers. Ten letters always
    fit."""
    latin = {letter: ord(letter) - ord("A") for letter in letters if "A" <= letter <= "Z"}
    free = (number for number in range(26) if number not in latin.values())
    for letter in letters:
        if letter not in latin:
            latin[letter] = next(free)
    return [latin[letter] for letter in letters]


def count_letters(text: str) -> dict[str, Any]:
    """Attention and answers of both transformers, if ten letters were typed; otherwise, what is
    missing."""
    letters, others = read_letters(text)
    kept = letters[:LENGTH]
    answer: dict[str, Any] = {"letters": kept, "note": _note(len(letters), others)}
    if len(kept) < LENGTH:
        return answer
    tokens = np.array(tokens_of(kept), np.int32)
    truth = (tokens[:, None] == tokens).sum(1)
    return answer | {
        "truth": truth.tolist(),
        "models": {name: _counted(name, tokens) for name in MECHANISMS},
    }


@single_precision
def _counted(mechanism: Any, tokens: np.ndarray) -> dict[str, Any]:
    weights = counters()[mechanism]
    looks = np.asarray(attention(weights, tokens, mechanism))
    return {
        "attention": [[round(float(x), 4) for x in row] for row in looks],
        "counts": np.asarray(logits(weights, tokens, mechanism)).argmax(-1).tolist(),
    }


@lru_cache(maxsize=1)
def counters() -> dict[str, Weights]:
    """The trained weights, by mechanism."""
    with np.load(COUNTERS, allow_pickle=False) as stored:
        part = lambda mechanism, name: stored[f"{mechanism}.{name}"].astype(np.float32)
        return {
            name: Weights(*(part(name, field) for field in Weights._fields)) for name in MECHANISMS
        }


def provenance() -> dict[str, Any]:
    """The experiment that produced the weights."""
    with np.load(COUNTERS, allow_pickle=False) as stored:
        return json.loads(str(stored["provenance"]))


def _note(count: int, others: list[str]) -> str:
    notes = []
    if others:
        notes.append(f"Left out, since only letters are counted: {' '.join(others[:10])}")
    if count < LENGTH:
        notes.append(
            f"{LENGTH - count} more letter{'s' * (LENGTH - count > 1)}, please: the models look at ten."
        )
    if count > LENGTH:
        notes.append(
            f"The models look at ten letters: the first {LENGTH} of your {count} are used."
        )
    return " ".join(notes)
