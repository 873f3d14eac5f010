"""Averages over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Mean:
    """The average over seeds of a number (or of an array) and its standard error.

    - `mean`: the average, or None when no seed gave a value.
    - `sem`: the standard error of the mean, s/√count; None when fewer than two seeds gave a value.
    - `count`: how many seeds gave a value.
    """

    mean: Any
    sem: Any
    count: int

    def __str__(self) -> str:
        from ..gaussian.estimate import plus_minus

        if self.mean is None:
            return "no value"
        return plus_minus(self.mean, self.sem) if self.sem is not None else f"{self.mean:.7g}"

    def as_json(self) -> dict[str, Any]:
        """`mean` and `sem` as plain numbers, lists or null."""
        return {"mean": _plain(self.mean), "sem": _plain(self.sem)}


def over_seeds(values: Sequence[Any]) -> Mean:
    """Average `values`, one per seed; None stands for a seed without an answer and is left out (`count` tells)."""
    known = np.array([value for value in values if value is not None])
    count = len(known)
    mean = _scalar(known.mean(0)) if count else None
    sem = _scalar(known.std(0, ddof=1) / np.sqrt(count)) if count > 1 else None
    return Mean(mean, sem, count)


def _scalar(value: np.ndarray) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
