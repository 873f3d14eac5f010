"""Prepare the store of a study: create it, continue it, or extend it with more values.

A study has grown if axes, seeds, starts and the like have more values than before, or if there are
more computations, and nothing else differs. Units all of whose points were finished before are
copied; rows that are followed along an extended axis are computed again, since where a
continuation begins is part of its result.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..run.work import DONE, Result
from ..study.layout import Layout
from ..study.plan import Plan, plans_of
from ..study.study import Study, differences, study_from
from .store import FINISHED, WritableStore, make_header, read_header, write_header
from .view import arrays_of

FREE = ("name", "time_limit")  # parts of a study that change no result


def prepared(study: Study, path: Path) -> WritableStore:
    """The store at `path`, made ready for `study`, or a `ValueError` that says why it cannot be."""
    _clean(path)
    hidden = path / ".sweep"
    if not hidden.is_dir():
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise ValueError(f"{path}: something else is stored here; choose another path")
        return WritableStore.create(study, path)
    header = _header(study, path)
    stored, new = (_lasting(tables) for tables in (header["study"], study.model_dump(mode="json")))
    if stored == new:
        return WritableStore(path, study)
    try:
        old = study_from(header["study"], trust_code=study._trust_code)
    except ValueError as error:
        raise ValueError(
            f"{path} holds a study that cannot be read any more ({error}): choose another path"
        ) from None
    changed = differences(_fixed(old, old), _fixed(study, old))
    if changed:
        raise ValueError(
            f"{path} holds another study ({'; '.join(changed[:4])}): choose another path"
        )
    return _extended(WritableStore(path, old), study)


def _clean(path: Path) -> None:
    """Finish or undo an extension that was interrupted."""
    before = path.with_name(f"{path.name}.before")
    if (before / ".sweep").is_dir() and not before.is_symlink():
        if path.exists():
            shutil.rmtree(before)
        else:
            os.rename(before, path)  # an extension was interrupted between its last two steps
    for name in (f"{path.name}.new", f"{path.name}.grown", f"{path.name}.grown.new"):
        shutil.rmtree(
            path.with_name(name), ignore_errors=True
        )  # not finished: everything in it is also in the store
    for partial in [*path.glob("**/*.partial")] if path.is_dir() else []:
        partial.unlink(missing_ok=True)


def _header(study: Study, path: Path) -> dict[str, Any]:
    """The header of a store; if it is damaged beyond reading, the one this study would have. Units
    of another study are ignored."""
    try:
        return read_header(path)
    except ValueError as error:
        if "is damaged" not in str(error):
            raise
    header = make_header(study, plans_of(study))
    write_header(path, header, log=False)
    return header


def _lasting(tables: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in tables.items() if name not in FREE}


def _fixed(study: Study, old: Study) -> dict[str, Any]:
    """The part of a study that must not change while it grows: all but values and computations that
    are new."""
    tables = _lasting(study.model_dump(mode="json"))
    tables["axes"] = list(study.axes)
    tables["compute"] = {
        label: table for label, table in tables["compute"].items() if label in old.compute
    }
    for label, table in tables["compute"].items():
        computation = study.compute[label]
        for name in computation.growing:
            table.pop(name, None)
        table["at"] = sorted(computation.at)
    return tables


def _extended(store: WritableStore, study: Study) -> WritableStore:
    path = store.path
    grown, before = (path.with_name(f"{path.name}.{word}") for word in ("grown", "before"))
    plans = plans_of(study, store.layouts)
    for label, layout in store.layouts.items():
        _check_grown(path, layout, plans[label])
    larger = WritableStore.create(study, grown, store.layouts)
    _take_over(store, larger)
    larger.close()
    store.log.close()
    os.rename(path, before)
    os.rename(grown, path)
    shutil.rmtree(before)
    return WritableStore(path, study)


def _check_grown(path: Path, old: Layout, new: Layout) -> None:
    if (old.axes, old.own) != (new.axes, new.own):
        raise ValueError(
            f"{path} holds another study (compute.{old.label} has other dimensions): choose another path"
        )
    for name, were, are in zip((*old.axes, *old.own), old.values, new.values, strict=True):
        missing = [value for value in were if value not in set(are)]
        if missing:
            gone = ", ".join(map(str, missing[:3]))
            raise ValueError(
                f"{path} has {name} = {gone}, which this study no longer has: choose another path"
            )


def _take_over(store: WritableStore, larger: WritableStore) -> None:
    """Write the units of the larger store that are finished in the smaller one, each with the code
    it is from."""
    contents, everything = store.read(), arrays_of(store)
    codes = list(contents.codes)
    for code, parts in contents.codes.items():
        if parts is not None:
            larger.log.append({"code_of": code, "parts": parts})
    for label, old in store.plans.items():
        new = larger.plans[label]
        if not all(
            _same_elsewhere(store.plans[name], larger.plans[name], new)
            for name in new.computation.needs()
        ):
            continue
        arrays, places = everything[label], _places(old, new)
        finished = _spread(old, contents.states[label] == FINISHED)
        code_of = _spread(old, contents.code_of[label])
        for unit in range(len(new)):
            at = np.ix_(*(where[box] for where, box in zip(places, new.box(unit), strict=True)))
            if (
                all((where >= 0).all() for where in at)
                and finished[at].all()
                and np.ptp(code_of[at]) == 0
            ):
                larger.code = codes[code_of[at].flat[0]]
                taken = {
                    name: arrays[name][np.ix_(*(at[k].ravel() for k in kept))]
                    for name, kept in old.kept.items()
                }
                larger.write(Result(label, unit, taken, DONE, 0.0))


def _same_elsewhere(old: Plan, new: Plan, reader: Plan) -> bool:
    """Whether the results that `reader` uses at one of its points are unchanged."""
    seen = zip((*old.axes, *old.own), old.values, new.values, strict=True)
    return all(were == are for name, were, are in seen if name not in reader.axes)


def _spread(plan: Plan, per_unit: np.ndarray) -> np.ndarray:
    """The state of each unit, for each entry of the box."""
    entries = per_unit.reshape(plan.tiles)
    for axis, reach in enumerate(plan.reach):
        entries = np.repeat(entries, reach, axis)
    return entries[tuple(slice(size) for size in plan.shape)]


def _places(old: Plan, new: Plan) -> list[np.ndarray]:
    """Per dimension, where each of the new values was before, −1 if nowhere."""
    found = []
    for were, are in zip(old.values, new.values, strict=True):
        index = {value: at for at, value in enumerate(were)}
        found.append(np.array([index.get(value, -1) for value in are], int))
    return found
