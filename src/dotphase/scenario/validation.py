"""Arrays as values: nested tuples of floats, so that what holds them can be frozen, compared,
hashed and printed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Numbers = float | tuple["Numbers", ...]


def shown(value: Any) -> str:
    """A value in a message: one line, and not a long one."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:59] + "…"


def finite_number(name: str, value: Any, above: bool = False, most: float = np.inf) -> float:
    """`value` as a float, finite, not negative (nor zero if it has to be `above`), at most `most`."""
    from .names import LETTERS

    called = f"{name}: {LETTERS[name]}" if name in LETTERS else f"{name}:"
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{called} must be a number, got {shown(value)}") from None
    if not np.isfinite(number) or not 0 <= number <= most or (above and number == 0):
        allowed = (
            f"lie in [0, {most:g}]"
            if np.isfinite(most)
            else "be finite"
            if np.isinf(number)
            else "be positive"
            if above
            else "be zero or positive"
        )
        raise ValueError(f"{called} must {allowed}, got {number:g}")
    return number


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """`value` as an int of at least `least`."""
    try:
        whole = not isinstance(value, bool) and value == int(value) >= least
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {shown(value)}")
    return int(value)


def freeze(name: str, values: ArrayLike, ndim: int | None = None) -> Numbers:
    """Nested tuples of finite floats with the shape of `values`; `name` is the field an error
    speaks of."""
    return _nested(real_array(name, values, ndim).tolist())


def real_array(name: str, values: ArrayLike, ndim: int | None = None) -> np.ndarray:
    """`values` as an array of finite floats."""
    try:
        given = np.asarray(values)
        array = np.asarray(np.real(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: expected numbers in a rectangular array, got {shown(values)}"
        ) from None
    if given.dtype.kind in "SU":
        raise ValueError(f"{name}: expected numbers, got {shown(values)}")
    if np.iscomplexobj(given):
        raise ValueError(f"{name}: expected real numbers, got complex ones")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name}: expected {ndim} dimensions, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: every entry must be finite")
    return array


def thaw(numbers: Numbers) -> np.ndarray:
    """The array behind frozen numbers."""
    return np.array(numbers, dtype=np.float64)


def _nested(value) -> Numbers:
    return tuple(_nested(entry) for entry in value) if isinstance(value, list) else float(value)
