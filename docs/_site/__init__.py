"""What the site makes by itself: reference pages from the package, tables from stored results,
pages from examples."""

from __future__ import annotations

import hashlib
from pathlib import Path


def setup(app) -> dict:
    """Called by Sphinx. Parts that need Sphinx are imported here: the tests read the others without
    it."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    app.add_config_value("site_code", code, "env", str)  # if it changes, all pages are read anew
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

    generators = (public.pages, commands.pages, tables.pages, examples.pages)
    app.connect(
        "config-inited",
        lambda app, config: write_pages(page for make in generators for page in make()),
    )
    for part in (mathematics, explorer, stored, links, examples, figures, notebooks):
        part.setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
