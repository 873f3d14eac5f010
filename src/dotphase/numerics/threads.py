"""Threads: compiled functions run outside Python's lock, so threads use all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import ParamSpec, TypeVar

from .precision import in_double

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
_here = threading.local()


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    work: Callable[[T], R], jobs: Iterable[T], workers: int | None = None
) -> Iterator[R]:
    """`work` on each job, in double precision, results in order; one after the other inside another
    such call."""
    jobs = list(jobs)
    if getattr(_here, "working", False) or len(jobs) < 2 or (workers or available_cores()) < 2:
        yield from map(in_double(work), jobs)
        return

    if workers is None:
        yield from _pool().map(one_of_many(work), jobs)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(one_of_many(work), jobs)


def one_of_many(work: Callable[P, R]) -> Callable[P, R]:
    """`work` in double precision, for a thread that is one of as many as there are cores: it starts
    no others."""

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        before, _here.working = getattr(_here, "working", False), True
        try:
            return in_double(work)(*args, **kwargs)
        finally:
            _here.working = before

    return run


def at_once(work: Callable[[T], R], jobs: Sequence[T]) -> list[R]:
    """`work` on each of a few short jobs, results in order, this thread taking its share; inside
    `in_parallel`, one after the other."""
    helpers = min(len(jobs), available_cores()) - 1
    if helpers < 1 or getattr(_here, "working", False):
        return [work(job) for job in jobs]
    results: dict[int, R] = {}
    waiting = iter(enumerate(jobs))  # shared: each thread takes the next job when it is free

    def take() -> None:
        for place, job in waiting:
            results[place] = work(job)

    others = [_pool().submit(in_double(take)) for _ in range(helpers)]
    take()
    # A helper that has not begun is not waited for: there is nothing left for it to do.
    for other in others:
        if not other.cancel() and len(results) < len(jobs):
            other.result()
    return [results[place] for place in range(len(jobs))]


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="dotphase")
