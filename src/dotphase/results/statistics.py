"""Averages over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .estimate import Estimate


def over_seeds(values: Sequence[Any], control: Sequence[float] | None = None) -> Estimate:
    """The average of `values`, one number or array per seed, and its standard error s/√n.

    A seed without an answer, None, is left out; `count` of the estimate tells how many gave one.
    The error is infinite where fewer than two did, and the value not a number where none did.

    **Arguments**

    - `control`: a number per seed whose expectation is known to be zero and that the values vary
      with. Then the answer is the value at control = 0 of a straight line through the seeds: the
      same expectation up to the line's curvature, with less scatter.
    """
    kept = [k for k, value in enumerate(values) if value is not None]
    known = np.array([values[k] for k in kept], dtype=np.float64)
    count = len(known)
    if not count:
        return Estimate(np.nan, np.inf, 0)
    if control is not None and count > 3:
        return _at_zero(np.array([control[k] for k in kept]), known)
    error = known.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(known.shape[1:], np.inf)
    return Estimate(known.mean(0), error, count)


def _at_zero(control: np.ndarray, values: np.ndarray) -> Estimate:
    design = np.stack([np.ones_like(control), control], axis=1)
    line, *_ = np.linalg.lstsq(design, values, rcond=None)
    variance = ((values - design @ line) ** 2).sum(0) / (len(values) - 2)
    return Estimate(
        line[0], np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0]), len(values)
    )
