"""A progress bar that appears only where someone is watching."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Sequence[Item], description: str, show: bool) -> Iterator[Item]:
    """The items one by one, with a bar on the error stream that goes away at the end."""
    if not show:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as bar

    yield from bar(items, description=description, console=Console(stderr=True), transient=True)
