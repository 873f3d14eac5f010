"""Crews: who works on units. All take jobs one by one, as they can, and give results as they come.

`Serial` and `Threads` are here; `processes.Processes` and `cluster.Cluster` are the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import NamedTuple, Protocol

from ..threads import one_of_many
from .plan import Known, Plan
from .work import Result, compute_unit


class Job(NamedTuple):
    """A unit to be computed, and what is known at each of its points if its kind needs something."""

    label: str
    unit: int
    known: Sequence[Known] | None = None


class Crew(Protocol):
    def run(self, jobs: Iterator[Job]) -> Iterator[Result]: ...


class Serial:
    """One after the other, in this process."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self.plans = plans

    def run(self, jobs: Iterator[Job]) -> Iterator[Result]:
        for job in jobs:
            yield compute_unit(self.plans[job.label], job.unit, job.known)


class Threads:
    """Several threads of this process: compiled functions run outside Python's lock and are compiled once."""

    def __init__(self, plans: Mapping[str, Plan], count: int) -> None:
        self.plans, self.count = plans, count

    def run(self, jobs: Iterator[Job]) -> Iterator[Result]:
        yield from Serial(self.plans).run(islice(jobs, 1))  # alone, since it compiles what the others share
        with ThreadPoolExecutor(self.count, thread_name_prefix="sweep") as pool:
            running: set[Future[Result]] = set()
            try:
                while True:
                    running |= {pool.submit(self._compute, job) for job in islice(jobs, self.count - len(running))}
                    if not running:
                        return
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in finished)
            finally:
                for future in running:
                    future.cancel()

    def _compute(self, job: Job) -> Result:
        return one_of_many(compute_unit)(self.plans[job.label], job.unit, job.known)
