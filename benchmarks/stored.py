"""What benchmarks have measured, as tables in `docs/results`, from which the documentation takes
its numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "docs" / "results"


def keep_table(
    file: str, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], **about: str
) -> None:
    """Put a table into `docs/results/FILE.json`; `about`: the `command` that makes it, and a
    `note`."""
    path = RESULTS / f"{file}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entry = {
        "columns": list(columns),
        "rows": [[str(cell) for cell in row] for row in rows],
        **about,
    }
    kept.setdefault("tables", {})[name] = entry
    path.write_text(_written(kept), encoding="utf-8")


def _written(kept: dict[str, Any]) -> str:
    """JSON with a line for each row."""
    lines = json.dumps(kept, indent=1, ensure_ascii=False)
    for table in kept["tables"].values():
        for cells in (table["columns"], *table["rows"]):
            spread = ",\n".join(" " * 5 + json.dumps(cell, ensure_ascii=False) for cell in cells)
            lines = lines.replace(f"[\n{spread}\n    ]", json.dumps(cells, ensure_ascii=False))
            lines = lines.replace(
                f"[\n{spread.replace(' ' * 5, ' ' * 4)}\n   ]",
                json.dumps(cells, ensure_ascii=False),
            )
    return lines + "\n"
