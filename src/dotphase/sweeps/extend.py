"""The store a study is computed into: a new one, the one it was begun in, or that one with more values.

A study has grown if axes, seeds, starts and the like have more values than before, or if there are more computations,
and nothing else differs. Units all of whose points were finished before are taken over; rows that are followed along an
axis that grew are computed anew, since where a continuation begins is part of its result.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from .journal import FINISHED
from .plan import Plan, plans_of
from .store import Store, open_sweep
from .study import Study, differences


def prepared(study: Study, path: Path) -> Store:
    """The store at `path`, made ready for `study`, or a `ValueError` that says why it cannot be."""
    before = path.with_name(f"{path.name}.before")
    if before.exists() and not path.exists():
        os.rename(before, path)  # an extension was interrupted between its last two steps
    if not (path / ".sweep" / "study.json").exists():
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise ValueError(f"{path}: there is something else here already; choose another place")
        return Store.create(study, path)
    store = Store(path)
    if not differences(store.study.model_dump(mode="json"), study.model_dump(mode="json")):
        return store
    changed = differences(_fixed(store.study, store.study), _fixed(study, store.study))
    if changed:
        raise ValueError(f"{path} holds another study ({'; '.join(changed[:4])}): choose another place")
    return _extended(store, study, before)


def _fixed(study: Study, old: Study) -> dict[str, Any]:
    """The part of a study that must not change while it grows: all but values and computations that are new."""
    tables = study.model_dump(mode="json")
    tables["axes"] = list(study.axes)
    tables["compute"] = {label: table for label, table in tables["compute"].items() if label in old.compute}
    for label, table in tables["compute"].items():
        kind = study.compute[label]
        for name in kind.growing:
            table.pop(name, None)
        table["at"] = sorted(kind.at)
    return tables


def _extended(store: Store, study: Study, before: Path) -> Store:
    path, grown = store.path, store.path.with_name(f"{store.path.name}.grown")
    shutil.rmtree(grown, ignore_errors=True)
    shutil.rmtree(before, ignore_errors=True)
    plans = plans_of(study)
    for label, plan in store.plans.items():
        _check_grown(path, plan, plans[label])
    larger = Store.create(study, grown)
    _take_over(store, larger)
    larger.close()
    os.rename(path, before)
    os.rename(grown, path)
    shutil.rmtree(before)
    return Store(path)


def _check_grown(path: Path, old: Plan, new: Plan) -> None:
    if (old.axes, old.own) != (new.axes, new.own):
        raise ValueError(f"{path} holds another study (compute.{old.label} has other dimensions): choose another place")
    for name, were, are in zip((*old.axes, *old.own), old.coordinates, new.coordinates, strict=True):
        missing = [value for value in were.tolist() if value not in are.tolist()]
        if missing:
            gone = ", ".join(map(str, missing[:3]))
            raise ValueError(f"{path} has {name} = {gone}, which this study no longer has: choose another place")


def _take_over(store: Store, larger: Store) -> None:
    """Write the units of the larger store that are finished in the smaller one."""
    states = store.states(verify=True)
    with open_sweep(store.path) as dataset:
        for label, old in store.plans.items():
            new = larger.plans[label]
            if not all(_same_elsewhere(store.plans[name], larger.plans[name], new) for name in new.kind.needs()):
                continue
            arrays = {name: dataset[f"{label}_{name}"].values for name in old.variables}
            finished, places = _finished(old, states[label]), _places(old, new)
            for unit in range(len(new)):
                at = [where[box] for where, box in zip(places, new.box(unit), strict=True)]
                if all((where >= 0).all() for where in at) and finished[np.ix_(*at)].all():
                    taken = {name: arrays[name][np.ix_(*(at[k] for k in kept))] for name, kept in old.kept.items()}
                    larger.write(label, unit, taken, False, 0.0)


def _same_elsewhere(old: Plan, new: Plan, reader: Plan) -> bool:
    """Whether what `reader` sees of a computation at one of its points is unchanged."""
    seen = zip((*old.axes, *old.own), old.coordinates, new.coordinates, strict=True)
    return all(np.array_equal(were, are) for name, were, are in seen if name not in reader.axes)


def _finished(plan: Plan, states: np.ndarray) -> np.ndarray:
    """Whether each entry of a computation's box is finished."""
    entries = (states == FINISHED).reshape(plan.tiles)
    for axis, reach in enumerate(plan.reach):
        entries = np.repeat(entries, reach, axis)
    return entries[tuple(slice(size) for size in plan.shape)]


def _places(old: Plan, new: Plan) -> list[np.ndarray]:
    """Per dimension, where each of the new values was before, −1 if nowhere."""
    found = []
    for were, are in zip(old.coordinates, new.coordinates, strict=True):
        index = {value: at for at, value in enumerate(were.tolist())}
        found.append(np.array([index.get(value, -1) for value in are.tolist()], int))
    return found
