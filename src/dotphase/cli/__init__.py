"""The command line: parses, calls, prints."""

from __future__ import annotations

import os


def main() -> None:
    """Entry point of `dotphase` and `python -m dotphase`."""
    try:
        from .app import app
        from .cache import keep_compilations
        from .errors import INTERRUPTED, end_at_once, keep_interruptions, spell_out

        keep_compilations()
        spell_out()
        keep_interruptions()
        app(prog_name="dotphase")
    except KeyboardInterrupt:  # before there were commands to interrupt
        os._exit(130)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            end_at_once(INTERRUPTED)
        raise
