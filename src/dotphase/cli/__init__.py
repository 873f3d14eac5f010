"""The command line: parses, calls, prints."""

from __future__ import annotations


def main() -> None:
    """Entry point of `dotphase` and `python -m dotphase`."""
    from .app import app
    from .cache import keep_compilations

    keep_compilations()
    app(prog_name="dotphase")
