"""Numbers and tables of pages, from `docs/results/*.json`: no page has a measured number typed into
it.

    python docs/_site/stored.py         writes the tables into the pages

A table stands in its page, between two comments, so that it can also be read where the page is not
built:

    <!-- stored transitions:replicon -->
    <!-- end of stored -->

`claims training` in place of `stored …` is a table of `benchmarks.validation`. A number in a
sentence is a role, {stored}`reached:transitions/train-loss, lowest, ω = 0.3/location`.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
RESULTS = DOCS / "results"
BLOCK = re.compile(
    r"(?P<head><!-- (?P<what>stored|claims) (?P<place>.+?) -->\n).*?(?=<!-- end of (?P=what) -->)",
    re.DOTALL,
)


@cache
def results(name: str) -> Any:
    """The stored results of a name."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def look_up(place: str) -> Any:
    """What stands at `file:key/key/…`; the first number of a list is 0."""
    name, _, path = place.partition(":")
    found = results(name)
    for key in filter(None, path.split("/")):
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


def show(value: Any) -> str:
    """A stored value as text: a pair of numbers is a value and its standard error."""
    from dotphase import Estimate

    if value is None:
        return ""
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, int | float) for part in value)
    ):
        return str(Estimate(*value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def stored_table(place: str) -> str:
    """A stored table, and the command that recomputes it."""
    from _site.sources import table

    name, _, key = place.partition(":")
    found = results(name)["tables"][key]
    text = table(found["columns"], [[show(cell) for cell in row] for row in found["rows"]])
    command = f"Recomputed by `{found['command']}`." if found.get("command") else ""
    return text + "\n" + " ".join(filter(None, [found.get("note"), command])) + "\n"


def claims_table(name: str) -> str:
    """A table of claims, and the commands that recompute it."""
    from benchmarks.validation import table

    return table(name).strip() + "\n"


def filled(text: str) -> str:
    """A page with its tables as they are stored now."""
    makers = {"stored": stored_table, "claims": claims_table}
    return BLOCK.sub(lambda match: match["head"] + makers[match["what"]](match["place"]), text)


def pages() -> list[Path]:
    """The pages that people write."""
    made = {"_build", "generated"}
    return [
        path for path in sorted(DOCS.rglob("*.md")) if not made & set(path.relative_to(DOCS).parts)
    ]


def write_tables() -> None:
    """Write every page whose tables are not those stored."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(DOCS.parent))


def setup(app) -> None:
    """The role of one number; a page with tables that are not the stored ones is an error."""
    from docutils import nodes
    from sphinx.util.docutils import SphinxRole
    from sphinx.util.logging import getLogger

    class Stored(SphinxRole):
        def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
            self.env.note_dependency(str(RESULTS / f"{self.text.partition(':')[0]}.json"))
            try:
                return [nodes.Text(show(look_up(self.text)))], []
            except (KeyError, IndexError, OSError) as error:
                message = self.inliner.reporter.error(
                    f"stored: nothing at {self.text!r} ({error!r})", line=self.lineno
                )
                return [], [message]

    def compare(app, page: str, source: list[str]) -> None:
        if filled(source[0]) != source[0]:
            getLogger(__name__).warning(
                "tables are not those stored: python docs/_site/stored.py", location=page
            )

    app.add_role("stored", Stored())
    app.connect("source-read", compare)


if __name__ == "__main__":
    sys.path[:0] = [str(DOCS), str(DOCS.parent)]
    write_tables()
