"""The page of claims, made by `python -m benchmarks.validation` from stored results."""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .sources import Page


def pages() -> Iterator[Page]:
    """The one page."""
    from benchmarks.validation import page

    yield "validation", page()


class Claims(SphinxDirective):
    """The claims of one group, on another page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        from benchmarks.validation import table

        return self.parse_text_to_nodes(table(self.arguments[0]))


def setup(app) -> None:
    """The directive."""
    app.add_directive("claims", Claims)
