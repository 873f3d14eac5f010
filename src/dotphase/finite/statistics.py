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


def over_seeds(values: Sequence[Any], control: Sequence[float] | None = None) -> Mean:
    """Average `values`, one per seed; None, a seed without an answer, is left out (`count` tells).

    **Arguments**

    - `control`: a number per seed whose expectation is known to be zero and that the values vary with. Then
      the answer is the value at control = 0 of a straight line through the seeds: the same expectation up to
      the line's curvature, with less scatter.
    """
    kept = [k for k, value in enumerate(values) if value is not None]
    known = np.array([values[k] for k in kept])
    count = len(known)
    if control is not None and count > 3:
        return _at_zero(np.array([control[k] for k in kept]), known)
    mean = _scalar(known.mean(0)) if count else None
    sem = _scalar(known.std(0, ddof=1) / np.sqrt(count)) if count > 1 else None
    return Mean(mean, sem, count)


def _at_zero(control: np.ndarray, values: np.ndarray) -> Mean:
    design = np.stack([np.ones_like(control), control], axis=1)
    line, *_ = np.linalg.lstsq(design, values, rcond=None)
    variance = ((values - design @ line) ** 2).sum(0) / (len(values) - 2)
    return Mean(_scalar(line[0]), _scalar(np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0])), len(values))


def _scalar(value: np.ndarray) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
