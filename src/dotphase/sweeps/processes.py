"""Worker processes on this machine: started afresh, never forked, each on its share of the cores.

A worker is a Python of its own that gets jobs and sends results through a pipe. One that is killed (by hand, or for its
memory) is replaced and its unit given to another; a unit that has cost three workers their lives is written down as
failed. If this process dies, its workers notice and end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait

from ..threads import available_cores
from .crews import Job
from .plan import Plan
from .work import Result, failure

LIVES = 3  # of workers, that a unit may cost
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")  # the last is XLA's


class Processes:
    """So many worker processes."""

    def __init__(self, plans: Mapping[str, Plan], count: int) -> None:
        self.plans, self.count = plans, count
        self.study = next(iter(plans.values())).study.model_dump_json()
        self.lost: list[Job] = []
        self.deaths: Counter[tuple[str, int]] = Counter()

    def run(self, jobs: Iterator[Job]) -> Iterator[Result]:
        workers: list[_Worker] = []
        try:
            while True:
                self._hand_out(jobs, workers)
                busy = {worker.pipe: worker for worker in workers if worker.job is not None}
                if not busy:
                    return
                for pipe in wait(list(busy)):
                    worker = busy[pipe]  # type: ignore[index]
                    job, result = worker.take()
                    if result is None:
                        workers.remove(worker)
                        result = self._mourn(worker, job)
                    if result is not None:
                        yield result
        finally:
            for worker in workers:
                worker.end()

    def _hand_out(self, jobs: Iterator[Job], workers: list[_Worker]) -> None:
        """A job for every worker that has none, and a worker for every job as long as there may be more."""
        idle = [worker for worker in workers if worker.job is None]
        while idle or len(workers) < self.count:
            job = self.lost.pop() if self.lost else next(jobs, None)
            if job is None:
                return
            if not idle:
                workers.append(_Worker(self.study, max(1, available_cores() // self.count)))
                idle.append(workers[-1])
            idle.pop().give(job)

    def _mourn(self, worker: _Worker, job: Job) -> Result | None:
        """Keep the job of a worker that was killed for another one, unless it has killed too many."""
        code = worker.end()
        if code > 0:  # its own doing, not a signal: the next one would do the same
            raise ValueError(f"a worker process ended with exit code {code}; what it said is above")
        self.deaths[job.label, job.unit] += 1
        if self.deaths[job.label, job.unit] < LIVES:
            self.lost.append(job)
            return None
        reason = f"{LIVES} worker processes were killed while they worked on it (signal {-code}): out of memory?"
        return failure(self.plans[job.label], job.unit, reason, 0.0)


class _Worker:
    """A process, the pipe to it, and the job it has."""

    def __init__(self, study: str, threads: int) -> None:
        self.pipe, theirs = Pipe()
        self.job: Job | None = None
        # A session of its own, so that Ctrl-C reaches this process alone, which then ends its workers.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dotphase.sweeps.worker", str(theirs.fileno())],
            env=os.environ | dict.fromkeys(THREADS, str(threads)) | {"PYTHONPATH": os.pathsep.join(sys.path)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._send(study)

    def give(self, job: Job) -> None:
        self.job = job
        self._send(job)

    def _send(self, message: object) -> None:
        with suppress(OSError):  # it has died, which `take` will notice
            self.pipe.send(message)

    def take(self) -> tuple[Job, Result | None]:
        """The job it had and the result that has come, None if the worker has died."""
        job, self.job = self.job, None
        assert job is not None
        try:
            return job, self.pipe.recv()
        except (EOFError, OSError):
            return job, None

    def end(self) -> int:
        """End the process; its exit code, or minus the signal that ended it."""
        self.pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(0.0 if self.job is not None else 1.0)
        self.process.kill()
        return self.process.wait()
