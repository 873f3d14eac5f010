"""The claims of `benchmarks.validation`, as tables of pages."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .sources import RESULTS


class Claims(SphinxDirective):
    """One table of claims."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        from benchmarks.validation import table

        for path in RESULTS.glob("*.json"):
            self.env.note_dependency(str(path))
        return self.parse_text_to_nodes(table(self.arguments[0]))


def setup(app) -> None:
    """The directive."""
    app.add_directive("claims", Claims)
