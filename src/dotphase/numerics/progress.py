"""Progress of every long call: a bar where someone is watching, a line now and then where nobody
is, or a callback.

    progress=True                   a bar in a terminal or a notebook; lines with times in a file
    progress=lambda done, total: …  called after every step; `total` is None where it is not known

Bar and lines come from a thread of their own, so that a long step is not silent.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, TypeVar

Progress = bool | Callable[[int, int | None], Any] | None
Report = Callable[..., None]
Item = TypeVar("Item")
# seconds before the first line in a file; later lines come a fifth of the elapsed time apart
SILENT = 5.0
UNSEEN = 1.0  # seconds before a bar appears although nothing was reported


@contextmanager
def reporting(progress: Progress, what: str, total: int | None) -> Iterator[Report]:
    """Show how far a call is while the block runs; yields `report(done, note="", total=None)`, where
    `note` may change within a step, and a `total` replaces the one that was known before.

    **Arguments**: `progress`, as above; `what` is being done; `total`, the number of steps, None if
    it is not known.
    """
    if callable(progress):
        yield _Called(progress, total)
    elif not progress:
        yield lambda done, note="", total=None: None
    else:
        with (_bar if _watched() else _lines)(what, total) as report:
            yield report


def track(items: Sequence[Item], what: str, progress: Progress) -> Generator[Item]:
    """The items one by one, each reported when it is done with. In a comprehension, close it:
    until Python 3.11 an error there keeps the generator, and its display, alive."""
    for item, _ in track_with_notes(items, what, progress):
        yield item


def track_with_notes(
    items: Sequence[Item], what: str, progress: Progress
) -> Generator[tuple[Item, Callable[[str], None]]]:
    """As `track`; with each item comes a function that shows a note while it is worked on."""
    with reporting(progress, what, len(items)) as report:
        for done, item in enumerate(items):
            yield item, lambda note, done=done: report(done, note)
            report(done + 1)


@contextmanager
def counting(progress: Progress, what: str) -> Iterator[Callable[[], None]]:
    """As `reporting`, for a call whose number of steps is not known; yields a function that counts
    one more."""
    with reporting(progress, what, None) as report:
        number = count(1)
        yield lambda: report(next(number))


class _Called:
    """A user's callback, called when a step is done, and not for notes."""

    def __init__(self, progress: Callable[[int, int | None], Any], total: int | None) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, done: int, note: str = "", total: int | None = None) -> None:
        self.total = self.total if total is None else total
        if done != self.done:
            self.done = done
            self.progress(done, self.total)


def _watched() -> bool:
    """Whether a bar can be drawn: in a terminal, or in a notebook that has the widgets for it."""
    from importlib.util import find_spec

    from rich.console import Console

    console = Console(stderr=True)
    return find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal


@contextmanager
def _meanwhile(show: Callable[[], Any], pauses: Iterable[float]) -> Iterator[None]:
    """While the block runs, `show` after each of the pauses, in seconds."""
    over = threading.Event()

    def repeat() -> None:
        with suppress(Exception):  # nobody reads the error stream any more, for example
            for pause in pauses:
                if over.wait(pause):
                    return
                show()

    thread = threading.Thread(target=repeat, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(1)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Report]:
    """A bar on the error stream that goes away at the end. It appears at the first report or after
    a second, so that a call that is refused prints its refusal only."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Count(MofNCompleteColumn):
        def render(self, task):
            return super().render(task) if task.total is not None else Text("")

    class Left(TimeRemainingColumn):
        def render(self, task):
            return super().render(task) if task.total is not None else Text("")

    note = TextColumn("{task.fields[note]}", markup=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30))
    console = Console(stderr=True)
    steps = (Count(), Left(), note, TimeElapsedColumn())
    bar = Bar(*columns, *steps, console=console, transient=True)
    task = bar.add_task(what, total=total, note="")

    def report(done: int, note: str = "", total: int | None = None) -> None:
        bar.start()
        if bar.tasks[0].total is None and total is None:
            note = ", ".join(filter(None, [str(done), note]))
        bar.update(task, completed=done, note=note, total=total)  # None: as it was

    try:
        # A notebook shows a bar that is begun by the thread of its cell only.
        with _meanwhile(bar.start, [] if console.is_jupyter else [UNSEEN]):
            yield report
    finally:
        bar.stop()


@contextmanager
def _lines(what: str, total: int | None) -> Iterator[Report]:
    """Lines on the error stream, for a file."""
    lines = _Lines(what, total)
    with _meanwhile(lines.show, lines.pauses()):
        yield lines


class _Lines:
    """`training, d = 1000: 3 of 8, 12 s, about 20 s left, step 40`."""

    def __init__(self, what: str, total: int | None) -> None:
        self.what, self.total, self.done, self.note = what, total, 0, ""
        self.began = time.monotonic()
        # When something was done for the first time, and how much: it may be of an earlier run.
        self.first: tuple[float, int] | None = None

    def __call__(self, done: int, note: str = "", total: int | None = None) -> None:
        if self.first is None and done:
            self.first = time.monotonic(), done
        self.done, self.note = done, note
        self.total = self.total if total is None else total

    def pauses(self) -> Iterator[float]:
        while True:
            yield max(SILENT, 0.2 * (time.monotonic() - self.began))

    def show(self) -> None:
        spent = time.monotonic() - self.began
        words = [f"{spent:.0f} s"]
        if self.done or self.total is not None:
            words.insert(0, f"{self.done}" + ("" if self.total is None else f" of {self.total}"))
        if self.total is not None and self.first is not None and self.done > self.first[1]:
            rate = (self.done - self.first[1]) / (time.monotonic() - self.first[0])
            words.append(f"about {(self.total - self.done) / rate:.0f} s left")
        shown = ", ".join([*words, *filter(None, [self.note])])
        sys.stderr.write(f"{self.what}: {shown}\n")  # at once, so that no other line gets between
        sys.stderr.flush()
