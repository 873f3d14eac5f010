"""`run_sweep`: work on what is not finished yet, and write it down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .crews import Crew, Job, Serial, Threads
from .extend import prepared
from .journal import BROKEN, FINISHED
from .lock import locked
from .plan import Plan
from .store import Store, open_sweep
from .study import Study, study_from
from .work import Result

if TYPE_CHECKING:
    import xarray

Progress = Callable[[int, int, int], None]


def run_sweep(
    study: Study | dict[str, Any],
    path: str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> xarray.Dataset:
    """Compute a study into the store at `path`, or go on where it stopped; returns the dataset.

    Units that are finished are not computed again; units that failed are tried again. The result does not depend on how
    many workers there are or on how often it was interrupted, except for the seconds.

    **Arguments**

    - `study`: a `Study`, or its tables.
    - `path`: the store. One of another study is refused, one of the same study with fewer values is extended.
    - `workers`: on this machine. Theory is worked on by threads, which share a compilation; training, message passing
      and counting by processes, each on its share of the cores. One: everything in this process.
    - `scheduler`: the address of a running dask scheduler whose workers do the work instead.
    - `progress`: called with (done, total, failed) units at the start and after each one.

    **Example**: `run_sweep(read_study("slices.toml"), "slices.zarr", workers=2)`.
    """
    study = study if isinstance(study, Study) else study_from(study)
    path = Path(path)
    if workers < 1:
        raise ValueError(f"workers: at least one is needed, got {workers}")
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        with locked(path):
            _work(prepared(study, path), workers, scheduler, progress)
    except OSError as error:
        kept = "what is finished is kept, and the same command goes on"
        raise ValueError(f"{path}: {error.strerror or error}; {kept}") from error
    return open_sweep(path)


def _work(store: Store, workers: int, scheduler: str | None, progress: Progress | None) -> None:
    states = store.states(verify=True)
    total = sum(map(len, states.values()))
    done = sum(int((state == FINISHED).sum()) for state in states.values())
    failed = 0
    tell = progress or (lambda done, total, failed: None)
    tell(done, total, failed)
    try:
        for stage in stages(store.plans):
            pending = {label: np.flatnonzero(states[label] != FINISHED) for label in stage}
            for result in _crew(store, stage, pending, workers, scheduler).run(_jobs(store, pending)):
                _write(store, states, result)
                done, failed = done + (not result.failed), failed + result.failed
                tell(done, total, failed)
    finally:
        store.close()


def _write(store: Store, states: dict[str, np.ndarray], result: Result) -> None:
    store.write(*result)
    states[result.label][result.unit] = BROKEN if result.failed else FINISHED


def stages(plans: dict[str, Plan]) -> Iterator[list[str]]:
    """Labels that are worked on together: in order, in one kind of place, none needing another of them."""
    stage: list[str] = []
    for label, plan in plans.items():
        kind = plan.kind
        if stage and (kind.place != plans[stage[0]].kind.place or set(kind.needs()) & set(stage)):
            yield stage
            stage = []
        stage.append(label)
    yield stage


def _crew(store: Store, stage: list[str], pending: dict[str, np.ndarray], workers: int, scheduler: str | None) -> Crew:
    count = min(workers, sum(map(len, pending.values())))
    if scheduler is not None and count:
        from .cluster import Cluster

        return Cluster(store.plans, scheduler)
    if count <= 1:
        return Serial(store.plans)
    if store.plans[stage[0]].kind.place == "threads":
        return Threads(store.plans, count)
    from .processes import Processes

    return Processes(store.plans, count)


def _jobs(store: Store, pending: dict[str, np.ndarray]) -> Iterator[Job]:
    for label, units in pending.items():
        plan = store.plans[label]
        results = open_sweep(store.path) if plan.kind.needs() else None
        for unit in units:
            known = (
                None if results is None else [_known(store, plan, results, p.values) for p in plan.places(int(unit))]
            )
            yield Job(label, int(unit), known)


def _known(store: Store, plan: Plan, results: xarray.Dataset, values: Any) -> dict[str, dict[str, Any]]:
    """What the computations that `plan` needs have found at a point."""
    found = {}
    for label in plan.kind.needs():
        other = store.plans[label]
        shared = {dim: values[axis] for dim, axis in zip(other.dims, other.axes, strict=False) if axis in values}
        here = results[[f"{label}_{name}" for name in other.variables]].sel(shared)
        entries = {name: here[f"{label}_{name}"].values for name in other.variables}
        left = {axis: here[dim].values for dim, axis in zip(other.dims, (*other.axes, *other.own), strict=True)}
        found[label] = left | entries
    return found
