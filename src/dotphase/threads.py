"""Threads: compiled functions run outside Python's lock, so threads use all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from .precision import in_double

T = TypeVar("T")
R = TypeVar("R")
_here = threading.local()


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(work: Callable[[T], R], jobs: Iterable[T], workers: int | None = None) -> Iterator[R]:
    """`work` on each job, in double precision, results in order; one after the other inside another such call."""
    jobs = list(jobs)
    if getattr(_here, "working", False) or len(jobs) < 2 or (workers or available_cores()) < 2:
        yield from map(work, jobs)
        return

    def alone(job: T) -> R:
        _here.working = True
        return in_double(work)(job)

    if workers is None:
        yield from _pool().map(alone, jobs)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(alone, jobs)


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="dotphase")
