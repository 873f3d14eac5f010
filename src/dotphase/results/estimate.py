"""`Estimate`: a number (or an array of them) with its standard error.

Written here and not taken from `uncertainties`, whose numbers refuse `float()`, so that numpy and
matplotlib do not take them, hold no arrays, and carry the history of every operation along.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..scenario.validation import shown, whole_number

_SLOPES: dict[
    Any, Callable[[Any], Any]
] = {  # f′ of the functions of one variable that numpy may be asked for
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.exp: np.exp,
    np.log: lambda x: 1 / x,
    np.log10: lambda x: 1 / (x * np.log(10)),
    np.square: lambda x: 2 * x,
    np.absolute: np.sign,
    np.negative: lambda x: -1.0,
    np.positive: lambda x: 1.0,
}
_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.power: operator.pow,
}


def _floats(name: str, value: Any) -> Any:
    """A float, or an array of them; not a number where nothing is known."""
    if type(value) is float:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" and (array.dtype.kind != "O" or None in array):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {shown(value)}") from None
    return array if array.ndim else float(array)


class Estimate:
    """A value with its standard error.

    It is a number: it can be added, multiplied, compared, rounded, formatted, and handed to numpy
    and matplotlib, which see the value. Errors of two estimates add up in squares, as if they were
    independent; where they are not (two branches on the same nodes), use a result that knows, such
    as `Phase.margin`.

    **Arguments**

    - `value`: a number or an array.
    - `error`: its standard error, of the same shape; infinite where nothing is known about it.
    - `count`: over how many independent answers (seeds) it is an average, where that makes sense.

    **Example**

        e = Estimate(0.00339123, 0.0000123)
        print(e)                     # 0.003391 ± 0.000012
        f"{e:.3g}", f"{e:()}"        # '0.00339', '0.003391(12)'
        2 * e, e < 0.004, float(e)   # Estimate(0.006782 ± 0.000025), True, 0.00339123
    """

    __slots__ = ("count", "error", "value")
    value: Any
    error: Any
    count: int | None

    def __init__(self, value: Any, error: Any = 0.0, count: int | None = None) -> None:
        value, error = (getattr(part, "value", part) for part in (value, error))
        value = _floats("value", value)
        error = _floats("error", error)
        if np.shape(error) != np.shape(value):
            try:
                error = np.array(np.broadcast_to(error, np.shape(value)))
            except ValueError:
                shapes = f"shape {np.shape(error)}, that of the value is {np.shape(value)}"
                raise ValueError(f"error: of {shapes}") from None
        if count is not None:
            whole_number("count", count, 0)
        for name, part in (("value", value), ("error", error), ("count", count)):
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: an estimate does not change; make another one")

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (self.value, self.error, self.count)

    # ---------------------------------------------------------------------------------- as a number

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype=dtype)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Estimate:
        if np.ndim(self.value) == 0:
            raise TypeError("a single estimate has no entries; `.value` and `.error` are its parts")
        return Estimate(self.value[index], self.error[index], self.count)

    def __bool__(self) -> bool:
        return bool(self.value)

    def deviation(self, other: Any = 0.0) -> Any:
        """(this − other) in units of the standard error, that of `other` added in squares; not a
        number where no finite error is known."""
        gap = self - other
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isfinite(gap.error), gap.value / np.asarray(gap.error), np.nan)[()]

    def _of_two(
        self, other: Any, function: Callable[[Any, Any], Any], slopes: Callable[[Any, Any], Any]
    ) -> Any:
        value, error = _parts(other)
        if value is None:
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            left, right = slopes(self.value, value)
            spread = np.hypot(_scaled(left, self.error), _scaled(right, error))
            return Estimate(function(np.asarray(self.value), value), spread)

    def __add__(self, other: Any) -> Estimate:
        return self._of_two(other, operator.add, lambda x, y: (1.0, 1.0))

    def __sub__(self, other: Any) -> Estimate:
        return self._of_two(other, operator.sub, lambda x, y: (1.0, 1.0))

    def __mul__(self, other: Any) -> Estimate:
        return self._of_two(other, operator.mul, lambda x, y: (y, x))

    def __truediv__(self, other: Any) -> Estimate:
        return self._of_two(other, operator.truediv, lambda x, y: (1 / y, x / y**2))

    def __pow__(self, other: Any) -> Estimate:
        # log x only where the exponent has an error: a negative number may be squared.
        along = lambda x, y: x**y * np.log(x) if np.any(_parts(other)[1] != 0) else 0.0
        return self._of_two(other, operator.pow, lambda x, y: (y * x ** (y - 1), along(x, y)))

    def __radd__(self, other: Any) -> Estimate:
        return self + other

    def __rmul__(self, other: Any) -> Estimate:
        return self * other

    def __rsub__(self, other: Any) -> Estimate:
        return -self + other

    def __rtruediv__(self, other: Any) -> Estimate:
        return Estimate(other) / self

    def __rpow__(self, other: Any) -> Estimate:
        return Estimate(other) ** self

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.error, self.count)

    def __pos__(self) -> Estimate:
        return self

    def __abs__(self) -> Estimate:
        return Estimate(abs(self.value), self.error, self.count)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options:
            if ufunc in _OPERATORS:
                left, right = (
                    part if isinstance(part, Estimate) else Estimate(part) for part in inputs
                )
                return _OPERATORS[ufunc](left, right)
            if ufunc in _SLOPES:
                slope = np.abs(_SLOPES[ufunc](self.value))
                return Estimate(ufunc(self.value), _scaled(slope, self.error), self.count)
            if ufunc.signature is None and ufunc.types[0].endswith(
                "?"
            ):  # comparisons, isfinite and the like
                return ufunc(*(getattr(part, "value", part) for part in inputs))
        raise TypeError(
            f"{ufunc.__name__}: not known for estimates; apply it to `.value` (no error then)"
        )

    # ------------------------------------------------------------------------------ compared, shown

    def __eq__(self, other: object) -> bool:
        """Equal to another estimate if value and error are; to a plain number if the value is."""
        if isinstance(other, Estimate):
            return _same(self.value, other.value) and _same(self.error, other.error)
        return _same(self.value, other)

    def __hash__(self) -> int:
        return hash(np.asarray(self.value).tobytes() if np.ndim(self.value) else self.value)

    def __lt__(self, other: Any) -> Any:
        return self.value < _parts(other)[0]

    def __le__(self, other: Any) -> Any:
        return self.value <= _parts(other)[0]

    def __gt__(self, other: Any) -> Any:
        return self.value > _parts(other)[0]

    def __ge__(self, other: Any) -> Any:
        return self.value >= _parts(other)[0]

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    def __format__(self, spec: str) -> str:
        """`±` (or nothing): both, rounded by the error; `()`: the same, short; anything else
        formats the value."""
        if spec in ("", "±"):
            return str(self)
        if spec == "()":
            return in_brackets(float(self.value), float(self.error))
        return format(float(self), spec)

    def __str__(self) -> str:
        if np.ndim(self.value):
            each = [
                plus_minus(float(v), float(e))
                for v, e in zip(np.ravel(self.value), np.ravel(self.error), strict=True)
            ]
            shown = each if len(each) <= 6 else [*each[:3], "…", each[-1]]
            return f"[{', '.join(shown)}]"
        return plus_minus(self.value, self.error)

    def __repr__(self) -> str:
        return f"Estimate({self})"

    def _repr_html_(self) -> str:
        of = f" <small>(mean of {self.count})</small>" if self.count else ""
        return f"<span>{self}{of}</span>"

    def to_dict(self) -> dict[str, Any]:
        """`value` and `error` as plain numbers or lists; null where not finite."""
        from .json import plain

        return {"value": plain(self.value), "error": plain(self.error)}


def plus_minus(value: float, error: float) -> str:
    """`value ± error`, the error with two digits and the value cut to match: 0.003391 ± 0.000012."""
    value, error = _floats("value", value), _floats("error", error)
    if np.isnan(value):
        return "no value"
    if not np.isfinite(value) or not np.isfinite(error):
        return f"{value:.7g} ± ?"
    if error <= 0:
        return f"{value:.7g}"
    digits = _digits(error)
    if digits > 12:
        return f"{value:.9g} ± {error:.1e}"
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def in_brackets(value: float, error: float) -> str:
    """`value(error)`, the error in units of the last digit: 0.003391(12)."""
    digits = _digits(error) if np.isfinite(value) and np.isfinite(error) and error > 0 else 13
    if digits > 12:
        return plus_minus(value, error)
    in_last = round(error * 10**digits)
    return f"{value:.{digits}f}({in_last if digits else f'{error:.0f}'})"


def _digits(error: float) -> int:
    return max(0, 1 - int(np.floor(np.log10(error))))


def _parts(other: Any) -> tuple[Any, Any]:
    """Value and error of an estimate or of a plain number or array; (None, None) of anything else."""
    if isinstance(other, Estimate):
        return other.value, other.error
    try:
        value = np.asarray(other, dtype=np.float64)
    except (TypeError, ValueError):
        return None, None
    return value[()], 0.0


def _scaled(slope: Any, error: Any) -> Any:
    """|slope| · error, zero where the error is: 0 · ∞ is no error."""
    return np.where(np.asarray(error) == 0, 0.0, np.abs(slope) * error)


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(np.array_equal(one, other, equal_nan=True))
    except TypeError:
        return False
