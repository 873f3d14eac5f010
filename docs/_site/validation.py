"""The page of claims, made by `python -m benchmarks.validation` from stored results."""

from __future__ import annotations

from collections.abc import Iterator

from .sources import Page


def pages() -> Iterator[Page]:
    """The one page."""
    from benchmarks.validation import page

    yield "validation", page()
