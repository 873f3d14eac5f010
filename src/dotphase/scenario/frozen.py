"""Arrays as values: nested tuples of floats, so that what holds them can be frozen, compared, hashed and printed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

Numbers = float | tuple["Numbers", ...]


def freeze(name: str, values: ArrayLike, ndim: int | None = None) -> Numbers:
    """Nested tuples of finite floats with the shape of `values`; `name` is the field an error speaks of."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers in a rectangular array, got {values!r}") from None
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name}: expected {ndim} dimensions, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: every entry must be finite")
    return _nested(array.tolist())


def thaw(numbers: Numbers) -> np.ndarray:
    """The array behind frozen numbers."""
    return np.array(numbers, dtype=np.float64)


def _nested(value) -> Numbers:
    return tuple(_nested(entry) for entry in value) if isinstance(value, list) else float(value)
