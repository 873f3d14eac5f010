"""Jobs: split a request into pieces of work, order them, and remember earlier answers."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, get_args

import numpy as np

from ..answers.task import RANGES, Along, Branches, Diagram, Minimum, Task
from .rate_limits import LIMITS
from .worker_pool import WorkerPool

FIRST, COARSE, FINE, BACKGROUND = range(4)  # priorities: the point being dragged comes first


class Memory:
    """Earlier answers as texts; the least recently used ones are forgotten when all together exceed
    `most` characters."""

    def __init__(self, most: int = LIMITS.answers) -> None:
        self.most, self.size = most, 0
        self._texts: OrderedDict[str, str] = OrderedDict()

    def get(self, key: str) -> Any:
        """The answer, or None."""
        if key not in self._texts:
            return None
        self._texts.move_to_end(key)
        return json.loads(self._texts[key])

    def keep(self, key: str, answer: Any) -> None:
        self._forget(key)
        self._texts[key] = json.dumps(answer)
        self.size += len(key) + len(self._texts[key])
        while self.size > self.most:
            self._forget(next(iter(self._texts)))

    def _forget(self, key: str) -> None:
        if key in self._texts:
            self.size -= len(key) + len(self._texts.pop(key))


_memory = Memory()


async def recalled(pool: WorkerPool, work: str, priority: int, **arguments: Any) -> Any:
    """The answer to a deterministic piece of work, from memory or computed."""
    key = json.dumps([work, arguments], sort_keys=True)
    answer = _memory.get(key)
    if answer is None:
        answer = await pool.answer(work, priority, **arguments)
        _memory.keep(key, answer)
    return answer


async def through_pool(pool: WorkerPool, work: str, **arguments: Any) -> AsyncGenerator[Any, None]:
    """The messages of one long piece of work, after the number of jobs before it."""
    yield {"event": "waiting", "before": pool.length}
    async with aclosing(pool.run(work, **arguments)) as messages:
        async for message in messages:
            yield message


async def branches(pool: WorkerPool, asked: Branches) -> AsyncGenerator[Any, None]:
    """Both branches: the point itself first, then its neighbours outwards on few nodes; then the
    point as the command line solves it, and its neighbours on many nodes."""
    values = grid(asked.along, _value(asked.task, asked.along))
    yield {"event": "grid", "values": sorted(values), "along": asked.along}

    async def one(
        stage: str, priority: int, value: float, branch: str, minimum: str = asked.minimum
    ) -> Any:
        task = asked.task.at(**{asked.along: value}).model_dump(by_alias=True)
        given = {"branch": branch, "stage": stage, "minimum": minimum}
        answer = await recalled(pool, "branch_point", priority, task=task, **given)
        return {"event": "point", "value": value, **given, **answer}

    async def linear(value: float) -> Any:
        task = asked.task.at(**{asked.along: value}).model_dump(by_alias=True)
        return {
            "event": "baseline",
            "value": value,
            **await recalled(pool, "baseline", COARSE, task=task),
        }

    names = ("semantic", "positional")
    async for answer in _in_order(
        [lambda b=branch: one("coarse", FIRST, values[0], b) for branch in names]
    ):
        yield answer
    # A user who is still dragging the point needs the next point, not the neighbours of this one.
    await asyncio.sleep(0.15)
    around = [(value, branch) for value in values[1:] for branch in names]
    pieces: list[Any] = [
        lambda v=value, b=branch: one("coarse", COARSE, v, b) for value, branch in around
    ]
    pieces += [
        lambda v=value: linear(v) for value in (values[:1] if asked.along == "alpha" else values)
    ]
    pieces += [lambda b=branch: one("exact", FINE, values[0], b) for branch in names]
    pieces += [lambda v=value, b=branch: one("fine", FINE, v, b) for value, branch in around]
    others = [minimum for minimum in get_args(Minimum) if minimum != asked.minimum]
    pieces += [
        lambda v=value, b=branch, m=minimum: one("coarse", FINE, v, b, m)
        for minimum in others
        for value in values
        for branch in names
    ]
    async for answer in _in_order(pieces):
        yield answer


async def diagram(pool: WorkerPool, asked: Diagram) -> AsyncGenerator[Any, None]:
    """A coarse phase diagram, row by row; each new row halves a gap between earlier rows."""
    alphas = [round(float(alpha), 6) for alpha in np.linspace(*RANGES["alpha"], 16)]
    omegas = [round(float(omega), 6) for omega in np.linspace(*RANGES["omega"], 11)]
    yield {"event": "grid", "alpha": alphas, "omega": omegas}

    async def one(omega: float) -> Any:
        task = asked.task.at(omega=omega).model_dump(by_alias=True)
        given = {"task": task, "alphas": alphas, "minimum": asked.minimum}
        return {"event": "row", **await recalled(pool, "diagram_row", BACKGROUND, **given)}

    async for answer in _in_order(
        [lambda o=omega: one(o) for omega in _halving(omegas)], at_once=2
    ):
        yield answer


async def _in_order(pieces: Iterable[Any], at_once: int = 4) -> AsyncGenerator[Any, None]:
    """The answers of pieces of work, with a few of them running at any time."""
    waiting, under_way = iter(pieces), []
    try:
        while True:
            while len(under_way) < at_once and (piece := next(waiting, None)) is not None:
                under_way.append(asyncio.create_task(piece()))
            if not under_way:
                return
            yield await under_way[0]
            under_way.pop(0)
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def grid(along: Along, value: float) -> list[float]:
    """Where branches are solved: the value itself, then round numbers by their distance from it."""
    low, high = RANGES[along]
    spaced = (np.geomspace if along == "lambda" else np.linspace)(low, high, 25)
    places = [float(f"{place:.4g}") for place in spaced]
    far = (
        (lambda place: abs(np.log(place / value)))
        if along == "lambda"
        else (lambda place: abs(place - value))
    )
    return [value, *sorted((place for place in places if place != value), key=far)]


def _value(task: Task, along: Along) -> float:
    return task.model_dump(by_alias=True)[along]


def _halving(values: list[float]) -> list[float]:
    """First, last, middle, and so on."""
    order, step = [], 2 ** int(np.ceil(np.log2(max(len(values), 2))))
    while step:
        order += [value for value in values[::step] if value not in order]
        step //= 2
    return order
