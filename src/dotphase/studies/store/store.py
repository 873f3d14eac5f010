"""The store: the results of a study, in a folder that is also a Zarr store.

The log (`.sweep/log`) is authoritative: it has one line for each finished unit, with its numbers.
Only the process of the run appends to it. The header (study, layouts, versions) is a line
of the log, and a file of its own (`.sweep/header`): either copy is enough. The Zarr arrays are
written from the log, for other programs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..run.work import DONE, FAILED, KILLED, Result
from ..study.layout import Layout, layout_from
from ..study.plan import Plan, plans_of
from ..study.study import Study
from .code import changes, code_id, provenance
from .log import Log, as_line

FORMAT = 2
BEGUN = "begun"  # the fourth status of a record, besides done, failed and killed
PENDING, FINISHED, BROKEN = 0, 1, 2  # states of a unit
Key = tuple[str, int]  # label and number of a unit


@dataclass
class Contents:
    """The state of all units, from the log.

    - `states`: per label a byte for each unit: PENDING, FINISHED or BROKEN (an attempt that
      failed).
    - `suspects`: units that a process had begun when it died; `killers`: units that have killed a
      process.
    - `codes`: what computed them, by id; `code_of`: per label the id of each finished unit, as a
      position in `codes`.
    - `damaged`: number of damaged lines; `times`: when the last units of the last run were
      finished.
    """

    states: dict[str, np.ndarray]
    suspects: set[Key] = field(default_factory=set)
    killers: set[Key] = field(default_factory=set)
    codes: dict[str, dict[str, str] | None] = field(default_factory=dict)
    code_of: dict[str, np.ndarray] = field(default_factory=dict)
    damaged: int = 0
    times: deque[float] = field(default_factory=lambda: deque(maxlen=100))

    @property
    def computed(self) -> dict[str, int]:
        """How many finished units each code has computed."""
        ids, found = list(self.codes), Counter()
        for label, states in self.states.items():
            for at, count in zip(
                *np.unique(self.code_of[label][states == FINISHED], return_counts=True), strict=True
            ):
                found[ids[at]] += int(count)
        return dict(found)


class Store:
    """A store on disk, for reading: nothing in it is executed, and nothing is written."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.header = read_header(self.path)
        self.layouts = {
            label: layout_from(tables) for label, tables in self.header["layouts"].items()
        }
        self.log = Log(self.path / ".sweep" / "log")

    @property
    def study(self) -> dict[str, Any]:
        """The study's tables."""
        return self.header["study"]

    @cached_property
    def identity(self) -> str:
        return identity(self.header)

    def unit_records(self) -> Iterator[dict[str, Any]]:
        """Intact records of units of this study."""
        return filter(self._is_of_unit, self.log.records())

    def read(self) -> Contents:
        """One pass over the log."""
        found = Contents(
            {label: np.zeros(len(layout), np.uint8) for label, layout in self.layouts.items()}
        )
        found.code_of = {
            label: np.zeros(len(layout), np.uint16) for label, layout in self.layouts.items()
        }
        for record in self.log.lines():
            if record is None:
                found.damaged += 1
            elif isinstance(record.get("parts"), dict):
                found.codes[str(record.get("code_of"))] = record["parts"]
            elif record.get("closed"):
                found.suspects.clear()
            elif record.get("opened"):
                found.times.clear()  # the clock of an earlier run may have been another one
            elif self._is_of_unit(record):
                self._take(found, record)
        return found

    def _take(self, found: Contents, record: dict[str, Any]) -> None:
        key, status = (record["label"], record["unit"]), record.get("status")
        if status == BEGUN:
            found.suspects.add(key)
            return
        found.suspects.discard(key)
        (found.killers.add if status == KILLED else found.killers.discard)(key)
        found.states[key[0]][key[1]] = FINISHED if status == DONE else BROKEN
        found.times.append(record["time"])
        found.codes.setdefault(record["code"], None)  # its description may be damaged
        found.code_of[key[0]][key[1]] = list(found.codes).index(record["code"])

    def _is_of_unit(self, record: dict[str, Any]) -> bool:
        """Whether a record is what it should be. Checksums find damage; this finds invalid
        stores."""
        label, unit, status = (record.get(name) for name in ("label", "unit", "status"))
        if (
            record.get("of") != self.identity
            or label not in self.layouts
            or not isinstance(unit, int)
        ):
            return False
        complete = all(isinstance(record.get(name), int | float) for name in ("time", "seconds"))
        complete &= isinstance(record.get("code"), str)
        known = status == BEGUN or (status in (DONE, FAILED, KILLED) and complete)
        return known and 0 <= unit < len(self.layouts[label])


class WritableStore(Store):
    """A store that the process of the run writes to: it has the study, and holds the
    lock."""

    def __init__(self, path: Path, study: Study) -> None:
        refuse_links(path)
        super().__init__(path)
        self.plans: dict[str, Plan] = plans_of(study, self.layouts)
        self.code = ""
        # The time of day when this process began to count: units are dated by counting from it, so
        # that setting the clock during a run changes no rate.
        self._epoch = time.time() - time.monotonic()
        self._mend_header()

    @classmethod
    def create(
        cls, study: Study, path: Path, stored: Mapping[str, Layout] | None = None
    ) -> WritableStore:
        """A new store in which everything is unfinished, put in place when it is complete."""
        from .view import write_view

        new = path.with_name(f"{path.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        _check_room(new)
        header = make_header(study, plans_of(study, stored))
        write_header(new, header)
        write_view(Store(new))
        if path.exists():
            path.rmdir()  # an empty folder; anything else was refused
        os.rename(new, path)
        return cls(path, study)

    def use_code(self, parts: dict[str, str], contents: Contents, mix: bool) -> None:
        """Record that this code computes the following units; raise if the store has another
        version, unless `mix`."""
        self.code = code_id(parts)
        others = [other for other in contents.computed if other != self.code]
        if others and not mix:
            what = changes(contents.codes.get(others[-1]), parts)
            ask = "choose another path, or allow both in one store: --mix-versions, or mix_versions=True"
            raise ValueError(
                f"{self.path} was computed by another version of the code ({what}); {ask}"
            )
        if contents.codes.get(self.code) is None:
            self.log.append({"code_of": self.code, "parts": parts}, sync=True)

    def begin_run(self) -> None:
        """Record that the following units are of another run than those before."""
        self.log.append({"opened": self._now()})

    def begin(self, label: str, unit: int) -> None:
        """Record that this process begins a unit, in case the unit kills it."""
        self.log.append({"of": self.identity, "label": label, "unit": unit, "status": BEGUN})

    def write(self, result: Result) -> None:
        """Write the result of a unit."""
        head = {
            "of": self.identity,
            "label": result.label,
            "unit": result.unit,
            "status": result.status,
        }
        head |= {
            "seconds": round(result.seconds, 6),
            "time": self._now(),
            "code": self.code,
        }
        self.log.append(head | self.plans[result.label].pack(result.arrays))

    def close(self) -> None:
        """Close the log: units that were begun and not finished have not killed the process."""
        try:
            self.log.append({"closed": True}, sync=True)
        finally:
            self.log.close()

    def _now(self) -> float:
        return round(self._epoch + time.monotonic(), 3)

    def _mend_header(self) -> None:
        """Write the copies of the header that are missing."""
        if not first_header(Log(self.path / ".sweep" / "header")):
            write_header(self.path, self.header, log=False)
        if not first_header(self.log):
            self.log.append(self.header, sync=True)


def read_header(path: Path) -> dict[str, Any]:
    """The header of the store at `path`, from its file or from the log; a `ValueError` says why
    there is none."""
    hidden = path / ".sweep"
    found = first_header(Log(hidden / "header")) or first_header(Log(hidden / "log"))
    if found is not None:
        if found["format"] != FORMAT:
            raise ValueError(
                f"{path}: a sweep of format {found['format']}; this version of dotphase reads {FORMAT}: update it"
            )
        return found
    if (hidden / "study.json").exists():
        raise ValueError(
            f"{path}: a sweep of an earlier dotphase: xarray.open_zarr reads it, nothing can be added to it"
        )
    if (hidden / "log").exists() or (hidden / "header").exists():
        raise ValueError(
            f"{path}/.sweep/header is damaged, in the log too: run the sweep again with its study to repair it"
        )
    raise ValueError(f"{path}: no sweep is stored here")


def first_header(log: Log) -> dict[str, Any] | None:
    try:
        return next((record for record in log.records() if _is_header(record)), None)
    except OSError:
        return None


def _is_header(record: dict[str, Any]) -> bool:
    parts = {"format": int, "study": dict, "layouts": dict, "provenance": dict, "trusted": list}
    return all(isinstance(record.get(name), kind) for name, kind in parts.items())


def make_header(study: Study, plans: Mapping[str, Plan]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "study": study.model_dump(mode="json"),
        "layouts": {label: plan.to_dict() for label, plan in plans.items()},
        "provenance": provenance(),
        "trusted": study.named_code,
    }


def write_header(path: Path, header: dict[str, Any], log: bool = True) -> None:
    """Write the header's file, and begin the log with it."""
    (path / ".sweep").mkdir(parents=True, exist_ok=True)
    for name in ("log", "header") if log else ("header",):
        partial = path / ".sweep" / f"{name}.partial"
        with open(partial, "wb") as file:
            file.write(as_line(header))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path / ".sweep" / name)


def identity(header: dict[str, Any]) -> str:
    """What the units of a store belong to: a digest of its layouts and its study, but for what
    changes no result."""
    study = {
        name: part for name, part in header["study"].items() if name not in ("name", "time_limit")
    }
    text = json.dumps([study, header["layouts"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def refuse_links(path: Path) -> None:
    """Refuse links inside a store: writing through them could change other files."""
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            if os.path.islink(os.path.join(folder, name)):
                raise ValueError(
                    f"{os.path.join(folder, name)}: a link inside a store is not followed; delete it"
                )


def _check_room(path: Path) -> None:
    """Raise before any computation if nothing can be written here."""
    try:
        path.mkdir(parents=True)
        probe = path / "probe"
        with open(probe, "wb") as file:
            file.write(bytes(1 << 20))  # a megabyte must be free before work starts
            file.flush()
            os.fsync(file.fileno())
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror or error}") from None
