"""`run_study`: compute the unfinished units of a study and write their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scenario.arguments import checked
from ..store.code import describe_code
from ..store.lock import Lock, LockedError, locked
from ..store.store import FINISHED, Contents, Key, WritableStore
from ..store.view import open_study, write_view
from ..study.plan import Plan
from ..study.study import Study, study_from
from .work import DONE, KILLED, Result
from .workers import Job, Threads, Workers, hand_out

if TYPE_CHECKING:
    import xarray
    from distributed import Security

Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Resources:
    """The workers of a run; see `run_study`."""

    workers: int = 1
    scheduler: str | None = None
    security: Security | None = None
    patience: float | None = None


@checked
def run_study(
    study: Study | dict[str, Any],
    path: str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    security: Security | None = None,
    patience: float | None = None,
    progress: Progress | None = None,
    trust_code: bool = False,
    mix_versions: bool = False,
) -> xarray.Dataset:
    """Compute a study into the store at `path`, or continue it; returns the dataset.

    Finished units are not computed again; failed units are tried again. The result
    does not depend on how many workers there are or on how often it was interrupted, except for the
    seconds.

    **Arguments**

    - `study`: a `Study`, or its tables.
    - `path`: the store. One of another study is refused, one of the same study with fewer values is
      extended.
    - `workers`: on this machine. Theory runs in threads, which share a compilation; training,
      message passing and counting run in processes, each on its share of the cores. With one
      worker, everything runs in this process.
    - `scheduler`: the address of a running dask scheduler whose workers do the work instead;
      `security`: its certificates; `patience`: seconds without a worker after which to give up.
    - `progress`: called with (done, total, failed) units at the start and after each one.
    - `trust_code`: import the modules that the study's tables name.
    - `mix_versions`: continue although another version of the code computed the existing results.

    **Returns**: the `xarray.Dataset` of all points, as `open_study` gives it.

    **Example**: `run_study(read_study("slices.toml"), "slices.zarr", workers=2)`.
    """
    from ..store.extend import prepared

    study = study if isinstance(study, Study) else study_from(study, trust_code=trust_code)
    if workers < 1:
        raise ValueError(f"workers: at least one is needed, got {workers}")
    real = Path(path).resolve()  # follow links to the store
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        with locked(real) as lock:
            store = prepared(study, real)
            resources = Resources(workers, scheduler, security, patience)
            _work(store, lock, mix_versions, resources, progress)
    except OSError as error:
        kept = "what is finished is kept, and the same command continues"
        raise ValueError(f"{path}: {error.strerror or error}; {kept}") from error
    return open_study(real)


def _work(
    store: WritableStore, lock: Lock, mix: bool, resources: Resources, progress: Progress | None
) -> None:
    contents = store.read()
    store.use_code(describe_code(store.header["trusted"]), contents, mix)
    total = sum(map(len, contents.states.values()))
    done, failed = sum(int((states == FINISHED).sum()) for states in contents.states.values()), 0
    tell = progress or (lambda done, total, failed: None)
    tell(done, total, failed)
    if done < total:
        store.begin_run()
    view = _View(store)
    try:
        with closing(_results(store, contents, resources)) as results:
            for result in results:
                lock.check()
                store.write(result)
                done, failed = done + (result.status == DONE), failed + (result.status != DONE)
                tell(done, total, failed)
                view.refresh()
    except LockedError:  # the store is another process's now: write nothing more
        with suppress(OSError):
            store.log.close()
        raise
    except BaseException:
        with suppress(OSError):  # the disk may be full, which may be the error itself
            store.close()
            view.write()
        raise
    store.close()
    view.write()


class _View:
    """The Zarr arrays, written at most every `seconds`, and for at most a `share` of the time."""

    def __init__(self, store: WritableStore, seconds: float = 60.0, share: float = 0.05) -> None:
        self.store, self.seconds, self.share = store, seconds, share
        self.next = time.monotonic() + seconds

    def refresh(self) -> None:
        if time.monotonic() >= self.next:
            self.write()

    def write(self) -> None:
        began = time.monotonic()
        write_view(self.store)
        spent = time.monotonic() - began
        self.next = time.monotonic() + max(self.seconds, spent / self.share)


def _results(store: WritableStore, contents: Contents, resources: Resources) -> Generator[Result]:
    for stage in stages(store.plans):
        pending = {label: np.flatnonzero(contents.states[label] != FINISHED) for label in stage}
        units = [(label, int(unit)) for label, found in pending.items() for unit in found]
        suspected = contents.suspects | contents.killers
        suspects = [unit for unit in units if unit in suspected]
        if resources.scheduler is None:
            units = [unit for unit in units if unit not in suspected]
        for result in _handed_out(store, units, partial(_workers, store, stage, units, resources)):
            if result.status == KILLED and resources.scheduler is None:
                suspects.append((result.label, result.unit))
            else:
                yield result
        if resources.scheduler is None:
            # A process died while it had these units, perhaps because of another unit that it had.
            # They are computed once more, one at a time in a process of their own.
            yield from _handed_out(store, suspects, partial(_processes, store, 1))


def _handed_out(
    store: WritableStore, units: list[Key], workers_of: Callable[[], Workers]
) -> Iterator[Result]:
    if units:
        workers = workers_of()
        yield from hand_out(workers, _jobs(store, units, begin=isinstance(workers, Threads)))


def stages(plans: dict[str, Plan]) -> Iterator[list[str]]:
    """Labels that are computed together: in order, all in threads or all in processes, none of them
    needing another."""
    stage: list[str] = []
    for label, plan in plans.items():
        computation = plan.computation
        if stage and (
            computation.place != plans[stage[0]].computation.place
            or set(computation.needs()) & set(stage)
        ):
            yield stage
            stage = []
        stage.append(label)
    yield stage


def _workers(
    store: WritableStore, stage: list[str], units: list[Key], resources: Resources
) -> Workers:
    count = min(resources.workers, len(units))
    if resources.scheduler is not None:
        from .dask import Cluster

        security, patience = resources.security, resources.patience
        return Cluster(store.plans, store.header, resources.scheduler, security, patience)
    if count == 1 or store.plans[stage[0]].computation.place == "threads":
        return Threads(store.plans, count)
    return _processes(store, count)


def _processes(store: WritableStore, count: int) -> Workers:
    from .dask import Processes

    return Processes(store.plans, store.header, count)


def _jobs(store: WritableStore, units: list[Key], begin: bool) -> Iterator[Job]:
    results: dict[str, xarray.Dataset] = {}
    for label, unit in units:
        plan = store.plans[label]
        known = None
        if plan.computation.needs():
            if label not in results:
                results[label] = open_study(store.path)
            known = [
                _known(store, plan, results[label], point.values) for point in plan.places(unit)
            ]
        if begin:
            store.begin(label, unit)
        yield Job(label, unit, known)


def _known(
    store: WritableStore, plan: Plan, results: xarray.Dataset, values: Any
) -> dict[str, dict[str, Any]]:
    """Results, at a point, of the computations that `plan` needs."""
    found = {}
    for label in plan.computation.needs():
        other = store.plans[label]
        shared = {
            dim: values[axis]
            for dim, axis in zip(other.dims, other.axes, strict=False)
            if axis in values
        }
        here = results[[f"{label}_{name}" for name in other.variables]].sel(shared)
        entries = {name: here[f"{label}_{name}"].values for name in other.variables}
        left = {
            axis: here[dim].values
            for dim, axis in zip(other.dims, (*other.axes, *other.own), strict=True)
        }
        found[label] = left | entries
    return found
