"""The gallery: scripts of `examples/`, run cell by cell as pages, with their first picture as a
thumbnail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes

from .sources import DOCS, ROOT, Page

SCRIPTS = ROOT / "examples"
FRONT = """---
file_format: mystnb
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---"""
HEAD = """# Gallery

Every picture with the code that draws it. The first ones are scripts in `examples/`, executed when the site is built.
The others are the [figures of the paper and further ones](../figures/index.md), one per page,
with study, code and data.

"""


def scripts() -> dict[str, str]:
    """The examples in cells, by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SCRIPTS.glob("*.py"))}
    return {name: text for name, text in texts.items() if "# %%" in text}


def pages() -> Iterator[Page]:
    """A page of every example, and the gallery of them."""
    import jupytext

    cards, listed = "", ""
    for name, text in scripts().items():
        cells = [_cell(cell) for cell in jupytext.reads(text, fmt="py:percent").cells]
        title = cells[0].splitlines()[0].removeprefix("# ")
        script = f"{{download}}`{name}.py <../../../examples/{name}.py>` is this page as a script."
        yield f"examples/{name}", "\n\n".join([FRONT, *cells, script]) + "\n"
        head = f":::{{grid-item-card}} {title}\n:link: examples/{name}\n:link-type: doc\n"
        cards += f"{head}```{{thumbnail}} {name}\n```\n:::\n"
        listed += f"examples/{name}\n"
    yield (
        "gallery",
        f"{HEAD}{_grid(cards)}\n## Figures of the paper, and further ones\n\n{_grid(_figures())}\n"
        + _toctree(listed),
    )


def _cell(cell) -> str:
    return (
        cell.source
        if cell.cell_type == "markdown"
        else f"```{{code-cell}} ipython3\n{cell.source}\n```"
    )


def _figures() -> str:
    from dotphase.figures.frame.catalogue import MODULES

    cards = ""
    for name in MODULES:
        if (DOCS / "pictures" / f"figure-{name}.png").exists():
            picture = f":img-top: ../pictures/figure-{name}.png"
            page = (DOCS / "figures" / f"{name}.md").read_text(encoding="utf-8")
            title = page.partition("\n# ")[2].partition("\n")[0]
            cards += f":::{{grid-item-card}} {title}\n{picture}\n:link: figure-{name}\n:link-type: ref\n:::\n"
    return cards


def _grid(cards: str) -> str:
    return f"::::{{grid}} 1 2 3 3\n:gutter: 3\n\n{cards}::::\n"


def _toctree(listed: str) -> str:
    return f"\n```{{toctree}}\n:hidden:\n\n{listed}../figures/index\n```\n"


def setup(app) -> None:
    """Thumbnails are known once every page is read."""
    from sphinx.util.docutils import SphinxDirective

    class Thumbnail(SphinxDirective):
        required_arguments = 1

        def run(self) -> list[nodes.Node]:
            source = f"../_static/thumbnails/{self.arguments[0]}.png"
            return [nodes.raw("", f'<img src="{source}" alt="" class="thumbnail"/>', format="html")]

    app.add_directive("thumbnail", Thumbnail)
    app.connect("build-finished", _thumbnails)


def _thumbnails(app, failure) -> None:
    if failure is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "thumbnails"
    folder.mkdir(parents=True, exist_ok=True)
    for name in scripts():
        pictures = list(app.env.get_doctree(f"generated/examples/{name}").findall(nodes.image))
        if pictures:
            shutil.copy(Path(app.srcdir) / pictures[0]["uri"].lstrip("/"), folder / f"{name}.png")
