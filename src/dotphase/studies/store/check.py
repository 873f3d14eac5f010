"""`dotphase sweep check`: check every byte of a store, and repair what can be repaired."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ...scenario.arguments import checked
from .lock import locked
from .log import Log, as_line
from .store import FINISHED, Store, first_header, refuse_links, write_header
from .view import differences, write_view

LEFTOVERS = ("new", "grown", "grown.new", "before")


@dataclass
class Report:
    """What was found.

    - `problems`: in words, each with the file it is about.
    - `repaired`: whether all of them were repaired.
    - `intact`: units whose lines have the right checksum.
    - `damaged`: units whose lines are damaged;  `not_computed`: units that have no line yet. Both
      are computed by `dotphase sweep`.
    """

    problems: list[str] = field(default_factory=list)
    repaired: bool = False
    intact: int = 0
    damaged: int = 0
    not_computed: int = 0

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@checked
def check_study(path: str | Path, repair: bool = False) -> Report:
    """Compare everything in a store with its checksums and with each other; `repair` restores it
    from the intact parts.

    Nothing is computed and no code of the study is run: units that cannot be repaired are counted
    and left for the next run.

    **Returns**: a `Report`, whose `problems` is empty if the store is intact.

    **Example**: `check_study("run.zarr").problems`.
    """
    path = Path(path).resolve()
    store = Store(path)
    contents = store.read()
    report = Report(_problems(store, contents.damaged))
    finished = np.concatenate([states == FINISHED for states in contents.states.values()])
    missing = int((~finished).sum())
    report.intact, report.damaged = int(finished.sum()), min(contents.damaged, missing)
    report.not_computed = missing - report.damaged
    if repair and report.problems:
        with locked(path):
            refuse_links(path)
            _repair(store, contents.damaged)
        report.repaired = not _problems(Store(path), 0)
    return report


def _problems(store: Store, damaged: int) -> list[str]:
    path, hidden = store.path, store.path / ".sweep"
    found = [f"{path / name}: {what}" for name, what in differences(store).items()]
    if damaged:
        found.append(f"{hidden / 'log'}: {damaged} damaged line{'s' * (damaged > 1)}")
    for name in ("header", "log"):
        if not first_header(Log(hidden / name)):
            found.append(f"{hidden / name}: the header is missing or damaged")
    left = [path.with_name(f"{path.name}.{word}") for word in LEFTOVERS] + sorted(
        path.rglob("*.partial")
    )
    return found + [f"{file}: left behind by an interrupted run; the next run removes it" for file in left
                    if file.exists()]  # fmt: skip


def _repair(store: Store, damaged: int) -> None:
    hidden = store.path / ".sweep"
    write_header(store.path, store.header, log=False)
    if damaged or not first_header(store.log):
        # Drop the damaged lines; copy the others, after the header.
        with open(hidden / "log.partial", "wb") as file:
            file.write(as_line(store.header))
            file.writelines(
                as_line(record) for record in store.log.records() if "format" not in record
            )
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden / "log.partial", hidden / "log")
    for partial in store.path.rglob("*.partial"):
        partial.unlink()
    write_view(store)
