"""Every page that is run can be taken away as a notebook."""

from __future__ import annotations

import re
from pathlib import Path

ROLE = re.compile(
    r"\{[\w:-]+\}`([^`<]+?)(?: <[^`>]*>)?`"
)  # a role of the site, of which a notebook knows nothing
LINK = '\n\n<p class="notebook"><a href="{up}notebooks/{name}.ipynb" download>This page as a notebook</a></p>\n'


def is_notebook(text: str) -> bool:
    """Whether a page has a kernel."""
    return text.startswith("---") and "kernelspec:" in text.partition("\n---")[0]


def _offer(app, page: str, source: list[str]) -> None:
    if is_notebook(source[0]):
        source[0] += LINK.format(up="../" * page.count("/"), name=page.replace("/", "-"))


def _write(app, failure) -> None:
    if failure is not None or app.builder.format != "html":
        return
    import jupytext

    folder = Path(app.outdir) / "notebooks"
    folder.mkdir(exist_ok=True)
    for page in app.env.found_docs:
        text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        if is_notebook(text):
            notebook = jupytext.reads(text, fmt="md:myst")
            # Cells that only hand numbers to the text of the page are no use elsewhere.
            notebook.cells = [
                cell
                for cell in notebook.cells
                if "remove-cell" not in cell.metadata.get("tags", ())
            ]
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = ROLE.sub(r"\1", cell.source)
            jupytext.write(notebook, folder / f"{page.replace('/', '-')}.ipynb", fmt="ipynb")


def setup(app) -> None:
    """A link on every such page, and the files."""
    app.connect("source-read", _offer)
    app.connect("build-finished", _write)
