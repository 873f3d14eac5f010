"""The command line: parses, calls, prints."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

INTERRUPTED = 130


def main() -> None:
    """Entry point of `dotphase` and `python -m dotphase`."""
    try:
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
    from .errors import keep_interruptions, spell_out

    keep_compilations()
    spell_out()
    keep_interruptions()
    app(prog_name="dotphase")


def _is_stuck() -> bool:
    """Whether a unit that exceeded its time limit is still being computed: Python would wait for
    it."""
    work = sys.modules.get("dotphase.studies.run.work")
    return work is not None and work.is_stuck()


def _end_at_once(code: int) -> None:
    """End the process at once, without cleaning up: a thread that is still compiling would crash
    while Python shuts down."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
