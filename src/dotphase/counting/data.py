"""The task: at every position of a sequence, count how often its letter occurs in the sequence."""

import string
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..scenario.arguments import checked, checked_with, whole, whole_numbers

LETTERS = string.ascii_uppercase + string.ascii_lowercase


@checked_with(length=whole(), letters=whole(), samples=whole(2))
@dataclass(frozen=True)
class CountingTask:
    """Sequences of `length` letters out of an alphabet of `letters`, all equally likely.

    `samples` different sequences are drawn; the first `train_share` of them are trained on, the
    rest validate. No sequence occurs twice, so no validation sequence has been trained on.
    """

    length: int = 10
    letters: int = 15
    samples: int = 50_000
    train_share: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.train_share < 1:
            raise ValueError(
                f"train_share: must lie strictly between 0 and 1, got {self.train_share}"
            )
        if not 2 <= self.samples <= self.letters**self.length:
            raise ValueError(
                f"samples: cannot draw {self.samples} different sequences: "
                f"{self.letters} letters at {self.length} positions make {self.letters**self.length}"
            )
        if self.train_samples in (0, self.samples):
            raise ValueError(
                f"samples: {self.samples} leave nothing to train on or to validate with"
            )

    @property
    def train_samples(self) -> int:
        return round(self.samples * self.train_share)


class Data(NamedTuple):
    """Token sequences, (samples, length) integers in 0..letters-1; the labels are `count_letters`
    of them."""

    train: np.ndarray
    validation: np.ndarray


@checked_with(tokens=whole_numbers)
def count_letters(tokens: Any) -> Any:
    """c_i = Σ_j [t_i = t_j], the occurrences of each position's letter, over any leading axes.

    `tokens` may be a NumPy or a JAX array, shape (..., length); so is the answer.

    >>> count_letters(np.array([1, 0, 0, 3, 4]))  # B A A D E
    array([1, 2, 2, 1, 1])

    **Returns**: an array of the same shape as the letters.
    """
    return (tokens[..., :, None] == tokens[..., None, :]).sum(-1)


@checked
def make_data(task: CountingTask, seed: int) -> Data:
    """Draw and split the sequences of one seed.

    **Returns**: `Data`: sequences and counts for training and for validation.
    """
    tokens = draw_sequences(task, np.random.default_rng(seed))
    return Data(tokens[: task.train_samples], tokens[task.train_samples :])


def draw_sequences(task: CountingTask, rng: np.random.Generator) -> np.ndarray:
    """Draw `task.samples` different sequences uniformly, in random order: (samples, length) int32."""
    if task.letters**task.length <= 4 * task.samples:
        return _draw_by_number(task, rng)
    return _draw_and_reject(task, rng)


def _draw_by_number(task, rng):
    """Small alphabets: number all sequences and choose numbers, since drawing again until all
    differ would take too long."""
    numbers = rng.choice(task.letters**task.length, task.samples, replace=False)
    digits = np.unravel_index(numbers, (task.letters,) * task.length)
    return np.stack(digits, axis=-1).astype(np.int32)


def _draw_and_reject(task, rng):
    """Large alphabets: draw freely and keep each sequence's first occurrence until there are
    enough."""
    drawn = np.empty((0, task.length), np.int32)
    while len(drawn) < task.samples:
        missing = task.samples - len(drawn)
        fresh = rng.integers(task.letters, size=(missing, task.length), dtype=np.int32)
        drawn = np.concatenate([drawn, fresh])
        first_occurrence = np.unique(drawn, axis=0, return_index=True)[1]
        drawn = drawn[np.sort(first_occurrence)]
    return drawn


@checked_with(tokens=whole_numbers)
def spell(tokens: ArrayLike) -> list[str]:
    """Name the letters of one sequence: A, B, … Z, a, … z, and numbers beyond the 52nd.

    **Returns**: a list of names, one for each position.
    """
    return [LETTERS[t] if t < len(LETTERS) else str(t) for t in np.asarray(tokens).tolist()]


@checked
def read_sentence(sentence: str, task: CountingTask) -> np.ndarray:
    """Turn a written sequence such as "BAADE" into tokens, or raise an error that names the
    problem.

    **Returns**: an array of letter numbers.
    """
    known = LETTERS[: task.letters]
    unknown = sorted(set(sentence) - set(known))
    if unknown:
        raise ValueError(
            f"sentence: {''.join(unknown)!r} not among the letters {known} of this run"
        )
    if len(sentence) != task.length:
        raise ValueError(
            f"sentence: it has {len(sentence)} letters, this run was trained on {task.length}"
        )
    return np.array([known.index(letter) for letter in sentence], np.int32)
