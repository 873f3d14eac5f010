"""Worker processes, on this machine or on a cluster: dask sends units to them, this process writes
their results.

If a worker of a cluster is lost, dask gives its units to others; a unit whose workers are lost
repeatedly is recorded as failed. For the workers of this machine see `Processes`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from ...numerics.threads import available_cores
from ..store.code import changes, describe_code
from ..study.layout import layout_from
from ..study.plan import Known, Plan, plans_of
from ..study.study import study_from
from .certificates import CERTIFICATE, KEY, make_certificates
from .work import KILLED, Result, compute_unit, failure
from .workers import Job

if TYPE_CHECKING:
    from distributed import Security

    from .sent import Task

# NPROC is XLA's.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
logger = logging.getLogger("dotphase.studies")


class Timeouts(NamedTuple):
    """Seconds to wait, in five situations.

    - `answer`: for the first answer of the scheduler.
    - `silence`: without contact before the scheduler counts as lost.
    - `start`: for the first worker process on this machine.
    - `reminder`: between two warnings that there is no worker.
    - `census`: between two questions of how many workers there are.
    """

    answer: float = 20.0
    silence: float = 20.0
    start: float = 300.0
    reminder: float = 60.0
    census: float = 0.5


TIMEOUTS = Timeouts()


class OtherCodeError(ValueError):
    """A worker has a different version of the code than the process of the run."""


class Cluster:
    """The workers of the dask scheduler at `address`.

    - `header`: of the study's store.
    - `patience`: seconds without any worker after which the run gives up; None for never.
    - `ahead`: units that are handed out per thread.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan],
        header: Mapping[str, Any],
        address: str,
        security: Security | None = None,
        patience: float | None = None,
        ahead: int = 2,
    ) -> None:
        self.plans, self.header, self.address, self.security = plans, header, address, security
        self.patience, self.ahead = patience, ahead
        self.seen = self.worked = self.reminded = time.monotonic()
        self.threads, self.counted = 0, -TIMEOUTS.census

    def __enter__(self) -> Cluster:
        from distributed import Client

        from .sent import Sent, Task

        try:
            self.client: Any = Client(
                self.address, timeout=TIMEOUTS.answer, security=self.security, set_as_default=False
            )
        except (OSError, TimeoutError) as error:
            raise ValueError(f"no dask scheduler answers at {self.address}: {error}") from None
        task = Task(json.dumps(self.header), json.dumps(describe_code(self.header["trusted"])))
        self.name = f"dotphase-{uuid4().hex}"
        try:
            self.client.register_plugin(Sent(task), self.name)
        except Exception as error:
            raise self._unable(error) from None
        return self

    def __exit__(self, *error: object) -> None:
        if self.client.status == "running":
            with suppress(Exception):  # the scheduler may go at this moment
                self.client.unregister_worker_plugin(self.name)
        self.client.close(timeout=2)

    def room(self) -> int:
        return max(1, self.ahead * self._threads())

    def submit(self, job: Job) -> Future[Result]:
        remote = self.client.submit(compute_remotely, self.name, *job, pure=False)
        answer: Future[Result] = Future()
        self.client.loop.add_callback(_pass_on, remote, answer)
        return answer

    def result(self, job: Job, future: Future[Result]) -> Result:
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            return future.result()
        except KilledWorker:
            reason = "the worker process that computed it was killed: out of memory?"
            return failure(self.plans[job.label], job.unit, reason)._replace(status=KILLED)
        except OtherCodeError as error:
            raise ValueError(f"{self.address}: {error}; what is finished is kept") from None
        except (CancelledError, CommClosedError):  # at rest, or while the result was fetched
            raise self._lost() from None
        except Exception as error:  # not of the unit: its errors are caught where it is computed
            raise self._unable(error) from None

    def check(self) -> None:
        now = time.monotonic()
        if self.client.status == "running":
            self.seen = now
        elif self.client.status == "closed" or now - self.seen > TIMEOUTS.silence:
            raise self._lost()
        if self._threads() > 0:
            self.worked = self.reminded = now
        elif self.patience is not None and now - self.worked > self.patience:
            kept = "what is finished is kept, and the same command continues"
            raise ValueError(f"{self.address}: no worker for {now - self.worked:.0f} s; {kept}")
        elif now - self.reminded > TIMEOUTS.reminder:
            self.reminded = now
            logger.warning(
                "%s: no worker for %.0f s; still waiting", self.address, now - self.worked
            )

    def _threads(self) -> int:
        if time.monotonic() >= self.counted + TIMEOUTS.census:
            workers = self.client.scheduler_info(n_workers=-1).get("workers", {})
            self.threads = sum(worker["nthreads"] for worker in workers.values())
            self.counted = time.monotonic()
        return self.threads

    def _unable(self, error: Exception) -> ValueError:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return ValueError(f"a worker of {self.address} cannot compute: {message}")

    def _lost(self) -> ValueError:
        kept = "what is finished is kept, and the same command continues with a running scheduler"
        return ValueError(f"the dask scheduler at {self.address} is gone; {kept}")


class Processes(Cluster):
    """`count` new worker processes on this machine. A unit whose worker is killed is not handed out
    again: one worker that is alone with one unit tells which unit it was."""

    def __init__(self, plans: Mapping[str, Plan], header: Mapping[str, Any], count: int) -> None:
        super().__init__(plans, header, "", patience=TIMEOUTS.start, ahead=1)
        self.count, self.here = count, ExitStack()

    def __enter__(self) -> Processes:
        from . import sent  # noqa: F401 (before there are workers: an interrupted import ends this process)

        self.folder = Path(
            self.here.enter_context(
                TemporaryDirectory(prefix="dotphase-", ignore_cleanup_errors=True)
            )
        )
        self.security = make_certificates(self.folder)
        self.address = self.here.enter_context(_scheduler(self.security))
        self.processes = [self._start() for _ in range(self.count)]
        self.here.callback(self._end)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.here.close()

    def room(self) -> int:
        return self.count

    def check(self) -> None:
        """Replace workers that were killed; raise if one ended by itself, since its successor would
        too."""
        for at, process in enumerate(self.processes):
            code = process.poll()
            if code is not None and code > 0:
                raise ValueError(
                    f"a worker process ended with exit code {code}; its output is above"
                )
            if code is not None:
                self.processes[at] = self._start()
        super().check()

    def _start(self) -> subprocess.Popen:
        """A worker of one thread, with its share of the cores, started afresh as on a cluster and
        not by `multiprocessing`, which would run the user's script again."""
        threads = str(max(1, available_cores() // self.count))
        words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
        words += ["--death-timeout", "60", "--local-directory", str(self.folder)]
        for option, name in (("ca-file", CERTIFICATE), ("cert", CERTIFICATE), ("key", KEY)):
            words += [f"--tls-{option}", str(self.folder / name)]
        settings = {
            "DASK_LOGGING__DISTRIBUTED": "critical",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "dask", "worker", self.address, *words],
            env=os.environ | dict.fromkeys(THREADS, threads) | settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # so that Ctrl-C reaches this process alone, which then ends its workers
            start_new_session=True,
        )

    def _end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@contextmanager
def _scheduler(security: Security) -> Iterator[str]:
    """The address of a scheduler in this process. Connections are encrypted, so other users of
    this machine cannot use it."""
    import dask.config
    from distributed import LocalCluster

    options: dict[str, Any] = {
        "n_workers": 0,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    options["scheduler_kwargs"] = {"dashboard": False}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            **options, protocol="tls", security=security, silence_logs=logging.CRITICAL
        ) as cluster,
    ):
        yield cluster.scheduler_address  # type: ignore[attr-defined]


async def _pass_on(remote: Any, answer: Future[Result]) -> None:
    """Give the outcome of dask's future to an ordinary one.

    dask's own executor fetches a result and then looks at the state of its future. If the worker
    dies in between, it takes the result for an error.
    """
    try:
        answer.set_result(await remote)
    except asyncio.CancelledError:
        answer.set_exception(CancelledError())
    except Exception as error:
        answer.set_exception(error)


def compute_remotely(name: str, label: str, unit: int, known: Sequence[Known] | None) -> Result:
    """Compute a unit on a worker that has only the task sent under a name."""
    from .sent import task_here

    return compute_unit(_plans(task_here(name))[label], unit, known)


@lru_cache(maxsize=4)
def _plans(task: Task) -> dict[str, Plan]:
    header, code = json.loads(task.header), json.loads(task.code)
    study = study_from(header["study"], trust_code=True)  # the sender has allowed it
    here = describe_code(header["trusted"])
    if here != code:
        raise OtherCodeError(
            f"a worker has a different version of the code ({changes(code, here)})"
        )
    return plans_of(
        study, {label: layout_from(tables) for label, tables in header["layouts"].items()}
    )
