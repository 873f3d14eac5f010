"""A number and how sure we are of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """A value (a number or an array) with its standard error."""

    value: np.ndarray | float
    error: np.ndarray | float

    def __str__(self) -> str:
        return plus_minus(float(self.value), float(self.error)) if np.ndim(self.value) == 0 else repr(self)


def plus_minus(value: float, error: float) -> str:
    """`value ± error`, the error with two digits and the value cut to match: 0.003391 ± 0.000012."""
    if not np.isfinite(value) or not np.isfinite(error) or error <= 0:
        return f"{value:.7g} ± {error:.2g}"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    if digits > 12:
        return f"{value:.9g} ± {error:.1e}"
    return f"{value:.{digits}f} ± {error:.{digits}f}"
