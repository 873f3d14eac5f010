"""The page without a server, beside the site: `explorer/index.html`, shown on the front page."""

from __future__ import annotations

from pathlib import Path


def setup(app) -> None:
    app.connect("build-finished", _write)


def _write(app, failure) -> None:
    if failure is None and app.builder.format == "html":
        from dotphase.explorer.site import write_site

        write_site(Path(app.outdir) / "explorer")
