"""What the site makes by itself: reference pages from the package, tables from stored results,
pages from examples."""

from __future__ import annotations

from . import (
    commands,
    examples,
    explorer,
    figures,
    links,
    mathematics,
    notebooks,
    public,
    stored,
    tables,
)
from .sources import write_pages

GENERATORS = (public.pages, commands.pages, tables.pages, examples.pages)


def setup(app) -> dict:
    """Called by Sphinx."""
    app.connect(
        "config-inited",
        lambda app, config: write_pages(page for make in GENERATORS for page in make()),
    )
    for part in (mathematics, explorer, stored, links, examples, figures, notebooks):
        part.setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
