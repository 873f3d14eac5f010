"""Numbers and tables of pages, from `docs/results/*.json`: no page has a measured number typed into
it.

{stored}`reached:transitions/train-loss, lowest, ω = 0.3/location`    a number, or value ± error

```{stored-table} transitions:replicon
```
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from .sources import RESULTS, table


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


class Stored(SphinxRole):
    """One number."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        self.env.note_dependency(str(RESULTS / f"{self.text.partition(':')[0]}.json"))
        try:
            return [nodes.Text(show(look_up(self.text)))], []
        except (KeyError, IndexError, OSError) as error:
            message = self.inliner.reporter.error(
                f"stored: nothing at {self.text!r} ({error!r})", line=self.lineno
            )
            return [], [message]


class StoredTable(SphinxDirective):
    """A table, with the command that recomputes it."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        name, _, key = self.arguments[0].partition(":")
        self.env.note_dependency(str(RESULTS / f"{name}.json"))
        found = results(name)["tables"][key]
        text = table(found["columns"], [[show(cell) for cell in row] for row in found["rows"]])
        text += "\n" + " ".join(
            filter(
                None,
                [
                    found.get("note"),
                    f"Recomputed by `{found['command']}`." if found.get("command") else "",
                ],
            )
        )
        return self.parse_text_to_nodes(text)


def setup(app) -> None:
    """The role and the directive."""
    app.add_role("stored", Stored())
    app.add_directive("stored-table", StoredTable)
