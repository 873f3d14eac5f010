"""Workers compute units. The same loop serves threads of this process and remote processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import NamedTuple, Protocol

from ..study.plan import Known, Plan
from .work import Result, compute_unit


class Job(NamedTuple):
    """A unit to be computed, and the results it needs at each of its points, if any."""

    label: str
    unit: int
    known: Sequence[Known] | None = None


class Workers(Protocol):
    """- `room`: how many jobs they can have at a time, at least one.
    - `submit`: hand out a job.
    - `result`: the result of a job, also if it failed.
    - `check`: called regularly; raises if waiting is useless.
    """

    def __enter__(self) -> Workers: ...
    def __exit__(self, *error: object) -> None: ...
    def room(self) -> int: ...
    def submit(self, job: Job) -> Future[Result]: ...
    def result(self, job: Job, future: Future[Result]) -> Result: ...
    def check(self) -> None: ...


def hand_out(workers: Workers, jobs: Iterator[Job]) -> Iterator[Result]:
    """Submit jobs while workers have room, and yield results as they arrive."""
    running: dict[Future[Result], Job] = {}
    with workers:
        while True:
            for job in islice(jobs, max(0, workers.room() - len(running))):
                running[workers.submit(job)] = job
            if not running:
                return
            finished, _ = wait(running, 1.0, return_when=FIRST_COMPLETED)
            for future in finished:
                yield workers.result(running.pop(future), future)
            workers.check()


class Threads:
    """This process: alone, or in several threads, since compiled functions run outside Python's
    lock."""

    def __init__(self, plans: Mapping[str, Plan], count: int) -> None:
        self.plans, self.count, self.compiled = plans, count, False

    def __enter__(self) -> Threads:
        self.pool = ThreadPoolExecutor(self.count, thread_name_prefix="sweep")
        return self

    def __exit__(self, *error: object) -> None:
        self.pool.shutdown(wait=error[0] is None, cancel_futures=True)

    def room(self) -> int:
        return self.count if self.compiled else 1  # the first compiles what the others share

    def submit(self, job: Job) -> Future[Result]:
        return self.pool.submit(
            compute_unit, self.plans[job.label], job.unit, job.known, alone=self.count == 1
        )

    def result(self, job: Job, future: Future[Result]) -> Result:
        self.compiled = True
        return future.result()

    def check(self) -> None:
        pass
