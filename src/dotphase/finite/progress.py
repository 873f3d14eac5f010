"""A progress bar that appears only where someone is watching."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Sequence[Item], description: str, show: bool) -> Iterator[Item]:
    """The items one by one; where the error stream is a terminal, with a bar that goes away at the end."""
    import sys

    if not show or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as bar

    yield from bar(items, description=description, console=Console(stderr=True), transient=True)
