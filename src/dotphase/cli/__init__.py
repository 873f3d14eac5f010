"""The command line: parses, calls, prints."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Entry point of `dotphase` and `python -m dotphase`."""
    try:
        _listen()
        _run()
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            if _is_stuck():
                _end_at_once(end.code if isinstance(end.code, int) else 0)
            raise
        _end_at_once(INTERRUPTED)


def _run() -> None:
    from ..numerics.cache import keep_compilations
    from .app import app
    from .errors import kept_interruptions, spell_out

    keep_compilations()
    spell_out()
    with kept_interruptions():
        app(prog_name="dotphase")


def _listen() -> None:
    """Treat SIGINT, SIGTERM and SIGHUP alike: one line, exit code 130, work that can be resumed.

    A shell starts background jobs with SIGINT ignored, which is undone here: `kill -INT` ends them.
    SIGHUP stays ignored under `nohup`. A second SIGTERM or SIGHUP ends the
    process at once.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if number != signal.SIGINT:
        signal.signal(number, signal.SIG_DFL)
    if _is_loading(frame):
        with suppress(OSError):
            os.write(2, b"interrupted\n")
        _end_at_once(INTERRUPTED)
    errors = sys.modules.get(f"{__name__}.errors")
    if errors is not None:
        if errors.was_heard():
            return
        errors.repeat_until_heard()
    raise KeyboardInterrupt


def _is_loading(frame: FrameType | None) -> bool:
    """Whether a module is being imported. An exception there can leave a library written in C half
    initialised, which then crashes."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _is_stuck() -> bool:
    """Whether a unit that exceeded its time limit is still being computed: Python would wait for
    it."""
    work = sys.modules.get("dotphase.studies.run.work")
    return work is not None and work.is_stuck()


def _end_at_once(code: int) -> NoReturn:
    """End the process at once, without cleaning up: a thread that is still compiling would crash
    while Python shuts down."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h")  # the cursor, which a bar may have hidden
    os._exit(code)
