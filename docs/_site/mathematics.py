"""MathJax as one file of the site, from a package of the index: nothing is fetched when a page is
read."""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path

FILE = "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"  # draws by itself, without fonts


def setup(app) -> None:
    """Put the file beside the pages once they are built."""
    app.connect("build-finished", _copy)


def _copy(app, failure) -> None:
    if failure is None and app.builder.format == "html":
        shutil.copy(
            str(distribution("sphinx-mathjax-offline").locate_file(FILE)),
            Path(app.outdir) / "_static" / "mathjax.js",
        )
