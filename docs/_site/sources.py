"""Generated pages on disk, and what the pages that are run depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
RESULTS = DOCS / "results"
Page = tuple[str, str]  # its path below docs/generated, without .md, and its text


def digest() -> str:
    """Of every source file of the package that may change a number on a page."""
    found = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.parent.name not in ("cli", "explorer"):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


def write_pages(pages: Iterable[Page]) -> None:
    """Write what has changed, so that Sphinx reads no page twice, and remove what is no longer
    made."""
    made = {GENERATED / f"{name}.md": text for name, text in pages}
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in set(GENERATED.rglob("*.md")) - set(made):
        path.unlink()


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table of Markdown."""
    cells = lambda row: (
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
    )
    return "\n".join([cells(head), "|" + "---|" * len(head), *map(cells, rows)]) + "\n"
