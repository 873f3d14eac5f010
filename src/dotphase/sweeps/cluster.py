"""A running dask cluster: its workers compute, this process writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from ..threads import one_of_many
from .crews import Job
from .plan import Known, Plan, plans_of
from .study import Study
from .work import Result, compute_unit, failure

PATIENCE = "20s"  # for the scheduler to answer
AHEAD = 2  # units per worker thread that are handed out at a time


class Cluster:
    """The workers of the dask scheduler at `address`."""

    def __init__(self, plans: Mapping[str, Plan], address: str) -> None:
        self.plans, self.address = plans, address
        self.study = next(iter(plans.values())).study.model_dump_json()

    def run(self, jobs: Iterator[Job]) -> Iterator[Result]:
        from distributed import Client, as_completed

        with _connected(Client, self.address) as client:
            submit = lambda job: client.submit(compute_remotely, self.study, *job, pure=False, key=_key(job))
            handed_out: dict[str, Job] = {}
            coming = as_completed()
            while True:
                room = max(AHEAD * sum(client.nthreads().values()), 1) - len(handed_out)
                for job in islice(jobs, room):
                    handed_out[_key(job)] = job
                    coming.add(submit(job))
                if not handed_out:
                    return
                future: Any = next(coming)
                yield self._result(future, handed_out.pop(future.key))

    def _result(self, future: Any, job: Job) -> Result:
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            return failure(self.plans[job.label], job.unit, f"KilledWorker: {error}", 0.0)


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout=PATIENCE)
    except (OSError, TimeoutError) as error:
        raise ValueError(f"no dask scheduler answers at {address}: {error}") from None


def _key(job: Job) -> str:
    return f"{job.label}-{job.unit}"


def compute_remotely(study: str, label: str, unit: int, known: Sequence[Known] | None) -> Result:
    """A unit, on a worker that knows nothing but the study's text."""
    return one_of_many(compute_unit)(_plans(study)[label], unit, known)


@lru_cache(maxsize=4)
def _plans(study: str) -> dict[str, Plan]:
    return plans_of(Study.model_validate_json(study))
