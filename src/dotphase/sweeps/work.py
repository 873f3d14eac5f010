"""One unit of work, from its number to arrays, wherever it is done."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .kind import Variable
from .plan import Known, Plan


class Result(NamedTuple):
    """A unit's arrays, each in the shape of its box; or, if it `failed`, arrays that say so."""

    label: str
    unit: int
    arrays: dict[str, np.ndarray]
    failed: bool
    seconds: float


def compute_unit(plan: Plan, unit: int, known: Sequence[Known] | None = None) -> Result:
    """Compute a unit. An exception is caught, and becomes the outcome "failed" with its text as the reason."""
    began = time.perf_counter()
    try:
        found = plan.kind.compute(plan.places(unit, known))
        seconds = time.perf_counter() - began
        arrays = _shaped(plan, unit, found, {"outcome": "done", "reason": "", "seconds": seconds})
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return failure(plan, unit, reason, time.perf_counter() - began)
    return Result(plan.label, unit, arrays, False, seconds)


def failure(plan: Plan, unit: int, reason: str, seconds: float) -> Result:
    """The arrays of a unit that gave no answer."""
    words = {"outcome": "failed", "reason": reason, "seconds": seconds}
    box, arrays = plan.box(unit), {}
    for name, variable in plan.variables.items():
        arrays[name] = np.full(_shape(plan, box, name), words.get(name, variable.fill), _dtype(variable))
    return Result(plan.label, unit, arrays, True, seconds)


def _shape(plan: Plan, box: tuple[slice, ...], name: str) -> tuple[int, ...]:
    return tuple(box[k].stop - box[k].start for k in plan.kept[name])


def _dtype(variable: Variable) -> Any:
    return object if variable.dtype == "str" else variable.dtype


def _shaped(plan: Plan, unit: int, found: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What a kind has found, each quantity in the shape of the unit's box."""
    box, count, arrays = plan.box(unit), len(plan.axes), {}
    for name, variable in plan.variables.items():
        shape = _shape(plan, box, name)
        if name not in found and name not in common:
            raise KeyError(f"{plan.kind.kind} did not compute {name}")
        if name not in found:
            arrays[name] = np.full(shape, common[name], _dtype(variable))
            continue
        given = np.asarray(found[name], _dtype(variable))
        expected = (prod(shape[:count]), *shape[count:])
        if given.shape != expected:
            raise ValueError(f"{plan.kind.kind}: {name} has shape {given.shape}, not {expected}")
        arrays[name] = given.reshape(shape)
    return arrays
