"""Progress of every long call: a bar where someone is watching, a line now and then where nobody
is, or a callback.

    progress=True                   a bar in a terminal or a notebook; lines with times in a file
    progress=lambda done, total: …  called after every step; `total` is None where it is not known
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

Progress = bool | Callable[[int, int | None], Any] | None
Report = Callable[..., None]
Item = TypeVar("Item")
# seconds before the first line in a file; later lines come a fifth of the elapsed time apart
SILENT = 5.0


@contextmanager
def reporting(progress: Progress, what: str, total: int | None) -> Iterator[Report]:
    """Show how far a call is while the block runs; yields `report(done, note="")`.

    **Arguments**: `progress`, as above; `what` is being done; `total`, the number of steps, None if
    it is not known.
    """
    if callable(progress):
        yield lambda done, note="": progress(done, total)
    elif not progress:
        yield lambda done, note="": None
    elif _watched():
        with _bar(what, total) as report:
            yield report
    else:
        yield _Lines(what, total)


def track(items: Sequence[Item], what: str, progress: Progress) -> Iterator[Item]:
    """The items one by one, each reported when it is done with."""
    with reporting(progress, what, len(items)) as report:
        for done, item in enumerate(items, start=1):
            yield item
            report(done)


@contextmanager
def counting(progress: Progress, what: str) -> Iterator[Callable[[], None]]:
    """As `reporting`, for a call whose number of steps is not known; yields a function that counts
    one more."""
    with reporting(progress, what, None) as report:
        number = count(1)
        yield lambda: report(next(number))


def _watched() -> bool:
    """Whether a bar can be drawn: in a terminal, or in a notebook that has the widgets for it."""
    from importlib.util import find_spec

    from rich.console import Console

    console = Console(stderr=True)
    return find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Report]:
    """A bar on the error stream that goes away at the end. It appears at the first report, so that
    a call that is refused prints its refusal only."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    steps = (
        [MofNCompleteColumn(), TimeRemainingColumn()]
        if total is not None
        else [TextColumn("{task.completed}")]
    )
    note = TextColumn("{task.fields[note]}")
    columns = (TextColumn(what), BarColumn(bar_width=30), *steps, note, TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=total, note="")

    def report(done: int, note: str = "") -> None:
        bar.start()
        bar.update(task, completed=done, note=note)

    try:
        yield report
    finally:
        bar.stop()


class _Lines:
    """Lines on the error stream, for a file: `training, d = 1000: 3 of 8, 12 s`."""

    def __init__(self, what: str, total: int | None) -> None:
        self.what, self.total = what, total
        self.began = time.monotonic()
        self.due = self.began + SILENT

    def __call__(self, done: int, note: str = "") -> None:
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + max(SILENT, 0.2 * (now - self.began))
        of = "" if self.total is None else f" of {self.total}"
        words = [f"{self.what}: {done}{of}", f"{now - self.began:.0f} s", *([note] if note else [])]
        print(", ".join(words), file=sys.stderr, flush=True)
