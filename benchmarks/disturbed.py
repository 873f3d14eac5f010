"""The command line on a disturbed system: python -m benchmarks.disturbed FAULT=VALUE… WORDS…

- `locks=ENOLCK` (or another error): `flock` fails with it; `locks=ignored`: it succeeds always.
- `clock=3600`: the time of day is that much ahead.
- `files=9`: after so many new files and folders, the disk has no room for another one.
- `begin=FILE`: make `FILE.PID`, and wait until FILE exists: several processes begin at one moment.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def locks(said: str) -> Iterator[None]:
    """`flock` with other manners, while the block runs."""
    import fcntl

    def flock(file: int, operation: int) -> None:
        if said != "ignored":
            code = getattr(errno, said)
            raise OSError(code, os.strerror(code))

    before, fcntl.flock = fcntl.flock, flock
    try:
        yield
    finally:
        fcntl.flock = before


def clock(ahead: str) -> None:
    real = time.time
    time.time = lambda: real() + float(ahead)


def files(room: str) -> None:
    """Python reports what it is about to do; an exception then prevents it."""
    left = [int(room)]

    def watch(event: str, words: tuple[Any, ...]) -> None:
        if not _makes_something(event, words):
            return
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sys.addaudithook(watch)


def _makes_something(event: str, words: tuple[Any, ...]) -> bool:
    """Whether a file or folder of a store is created, or its lock."""
    if event not in ("open", "os.mkdir") or not isinstance(words[0], str | os.PathLike):
        return False
    path = os.fspath(words[0])
    creates = event == "os.mkdir" or bool(words[2] & os.O_CREAT)
    return creates and ".zarr" in str(path) and not os.path.exists(path)


def begin(file: str) -> None:
    from dotphase.studies.run import runner  # noqa: F401  (loads for seconds)

    Path(f"{file}.{os.getpid()}").touch()
    while not os.path.exists(file):
        time.sleep(0.001)


FAULTS: dict[str, Callable[[str], Any]] = {
    "locks": lambda said: locks(said).__enter__(),
    "clock": clock,
    "files": files,
    "begin": begin,
}


def main(words: list[str]) -> None:
    from dotphase.cli import main as command

    while words and words[0].partition("=")[0] in FAULTS:
        name, _, value = words.pop(0).partition("=")
        FAULTS[name](value)
    sys.argv = ["dotphase", *words]
    command()


if __name__ == "__main__":
    main(sys.argv[1:])
