"""Axes: the values of a parameter in a study, evenly spaced, logarithmically spaced, or listed."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from ...scenario.names import word_of
from ...scenario.scenario import Scenario

MOST_VALUES = 10**6

Count = Annotated[int, Field(ge=1, le=MOST_VALUES)]


class Linspace(BaseModel):
    """`{ linspace = [first, last, count] }`: evenly spaced, both ends included."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")
    linspace: tuple[FiniteFloat, FiniteFloat, Count]

    def values(self) -> np.ndarray:
        return _as_written(np.linspace(*self.linspace))


class Logspace(BaseModel):
    """`{ logspace = [first, last, count] }`: logarithmically spaced, between positive end
    values."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")
    logspace: tuple[FiniteFloat, FiniteFloat, Count]

    @model_validator(mode="after")
    def _positive(self) -> Logspace:
        if min(self.logspace[:2]) <= 0:
            raise ValueError(f"both ends must be positive, got {self.logspace[:2]}")
        return self

    def values(self) -> np.ndarray:
        return _as_written(np.geomspace(*self.logspace))


def _as_written(values: np.ndarray) -> np.ndarray:
    """0.8 in the place of 0.7999999999999999."""
    return np.array([float(f"{value:.12g}") for value in values])


Listed = Annotated[tuple[int | float | str, ...], Field(min_length=1, max_length=MOST_VALUES)]
Axis = Linspace | Logspace | Listed


def values_of(place: str, axis: Axis) -> np.ndarray:
    """The values of an axis; a `ValueError` with its `place` in the study, such as `axes.alpha`, if
    one is not finite or occurs twice."""
    values = np.array(axis) if isinstance(axis, tuple) else axis.values()
    if values.dtype.kind in "if":
        values = values if values.dtype.kind == "i" else values.astype(float)
        if not np.isfinite(values).all():
            raise ValueError(f"{place}: every value must be finite")
    elif isinstance(axis, tuple) and not all(isinstance(entry, str) for entry in axis):
        raise ValueError(f"{place}: expected numbers only or words only, got {list(axis)}")
    if len(np.unique(values)) < len(values):
        raise ValueError(f"{place}: a value occurs twice")
    return values


def snapped(values: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """`values`, where a value equal to a stored one up to rounding is replaced by it (0.3 from 19
    steps and from 22 steps)."""
    if values.dtype.kind != "f" or stored.dtype.kind != "f" or not len(stored):
        return values
    ordered = np.sort(stored)
    above = np.searchsorted(ordered, values).clip(1, max(len(ordered) - 1, 1))
    near = ordered[np.minimum(above, len(ordered) - 1)]
    below = ordered[above - 1]
    near = np.where(np.abs(values - below) < np.abs(values - near), below, near)
    rounding = 1e-9  # values this close, relative to the axis, are equal: 0.2 + 0.1 is 0.3
    scale = np.maximum(np.abs(values), rounding * np.abs(values).max())
    found = np.where(np.abs(values - near) <= rounding * scale, near, values)
    return found if len(np.unique(found)) == len(found) else values


def is_number_of(scenario: Scenario, name: str) -> bool:
    """Whether `name` is a number that `scenario.vary` can change; else it is a setting of a
    computation (`d`, say)."""
    try:
        scenario.value_of(name)
    except ValueError:
        return False
    return True


def same_axis(one: str, two: str) -> bool:
    """Whether two names stand for the same parameter, as alpha and sample_ratio do."""
    return word_of(one) == word_of(two)


def plain(value: Any) -> Any:
    """A coordinate as a plain Python number or word."""
    return value.item() if isinstance(value, np.generic) else value
