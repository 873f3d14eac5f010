"""The command line: parses, calls, prints."""

from __future__ import annotations


def main() -> None:
    """Entry point of `dotphase` and `python -m dotphase`."""
    from .app import app
    from .cache import keep_compilations
    from .errors import INTERRUPTED, end_at_once, spell_out

    keep_compilations()
    spell_out()
    try:
        app(prog_name="dotphase")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            end_at_once(INTERRUPTED)
        raise
