"""Compute one unit of work: from its number to arrays, in any process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from ...numerics.threads import one_of_many
from ..study.computation import Point
from ..study.plan import Known, Plan

DONE, FAILED, KILLED = "done", "failed", "killed"
UNIT_THREAD = "sweep unit"


class Result(NamedTuple):
    """A unit's arrays, each in the shape of its box, and its status: done; failed if one of its
    points gave no answer; killed if the process that computed it died."""

    label: str
    unit: int
    arrays: dict[str, np.ndarray]
    status: str
    seconds: float


def compute_unit(
    plan: Plan, unit: int, known: Sequence[Known] | None = None, alone: bool = False
) -> Result:
    """Compute a unit. An exception is caught, and becomes the outcome "failed" of its point, its
    text the reason.

    `alone`: no other unit runs on this machine, so that all its cores may be used.
    """
    began = time.perf_counter()
    work = _computed if alone else one_of_many(_computed)
    try:
        parts = _bounded(lambda: work(plan, unit, known), plan.study.time_limit)
    except TimeoutError:
        reason = f"no answer within the time limit of {plan.study.time_limit:g} s"
        return failure(plan, unit, reason, time.perf_counter() - began)
    return _result(plan, unit, parts, time.perf_counter() - began)


def failure(plan: Plan, unit: int, reason: str, seconds: float = 0.0) -> Result:
    """A unit that gave no answer."""
    return _result(plan, unit, [(len(plan.places(unit)), reason)], seconds)


# Number of points, and their results or the reason of the failure.
Part = tuple[int, Mapping[str, Any] | str]


def _computed(plan: Plan, unit: int, known: Sequence[Known] | None) -> list[Part]:
    """All points at once; if that fails and the points are independent, one by one."""
    points, computation = plan.places(unit, known), plan.computation
    whole = _attempt(plan, unit, points)
    if isinstance(whole[1], str) and len(points) > 1 and computation.separable:
        return [_attempt(plan, unit, [point]) for point in points]
    return [whole]


def _attempt(plan: Plan, unit: int, points: Sequence[Point]) -> Part:
    try:
        return len(points), _checked(plan, unit, len(points), plan.computation.compute(points))
    except Exception as error:
        return len(points), " ".join(f"{type(error).__name__}: {error}".split())


def _checked(plan: Plan, unit: int, points: int, found: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Results of a computation as arrays over the points, with checked shapes."""
    arrays, count = {}, len(plan.axes)
    for name, shape in plan.shapes(unit).items():
        if name in found:
            arrays[name] = np.asarray(found[name], plan.variables[name].numpy)
            expected = (points, *shape[count:])
            if arrays[name].shape != expected:
                raise ValueError(
                    f"{plan.kind}: {name} has shape {arrays[name].shape}, not {expected}"
                )
        elif name not in ("outcome", "reason", "seconds"):
            raise KeyError(f"{plan.kind} did not compute {name}")
    return arrays


def _result(plan: Plan, unit: int, parts: Sequence[Part], seconds: float) -> Result:
    arrays, count = {}, len(plan.axes)
    for name, shape in plan.shapes(unit).items():
        pieces = [_piece(plan, name, part, shape[count:], seconds) for part in parts]
        arrays[name] = np.concatenate(pieces).reshape(shape)
    status = FAILED if any(isinstance(found, str) for _, found in parts) else DONE
    return Result(plan.label, unit, arrays, status, seconds)


def _piece(plan: Plan, name: str, part: Part, shape: tuple[int, ...], seconds: float) -> np.ndarray:
    points, found = part
    if not isinstance(found, str) and name in found:
        return found[name]
    said = {"seconds": seconds, "outcome": "done", "reason": ""}
    said |= {"outcome": "failed", "reason": found} if isinstance(found, str) else {}
    variable = plan.variables[name]
    return np.full((points, *shape), said.get(name, variable.fill), variable.numpy)


def _bounded(work: Callable[[], Any], seconds: float) -> Any:
    """The result of `work`, or a `TimeoutError`: then its thread continues until the process
    ends."""
    found: Future[Any] = Future()

    def run() -> None:
        try:
            answer = work()
        except BaseException as error:
            found.set_exception(error)
        else:
            found.set_result(answer)

    thread = threading.Thread(target=run, name=UNIT_THREAD, daemon=True)
    thread.start()
    thread.join(min(seconds, 1e6))  # a longer wait overflows in the operating system
    if not found.done():
        raise TimeoutError
    return found.result()


def is_stuck() -> bool:
    """Whether a unit that exceeded its time limit is still being computed in this process."""
    return any(thread.name == UNIT_THREAD for thread in threading.enumerate())
