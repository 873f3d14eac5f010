"""Does the theory hold for real words? Training on them and on Gaussian surrogates, and theory, one
change at a time.

    python -m benchmarks.text table            every variant, both starts, L = 2 and 3; kept as soon as it is there
    python -m benchmarks.text sizes            the same for the sentences as they are, at several d
    python -m benchmarks.text tables           the tables of the documentation from what is there
    python -m benchmarks.text picture          the figure, likewise

Results are read from and written to docs/results/text.json; what is there is not computed again.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results" / "text.json"
TASKS = {2: {"alpha": 2.0, "omega": 0.3}, 3: {"alpha": 1.25, "omega": 0.5}}
DIMENSION, SEEDS = 200, 24
SIZES = (50, 100, 200, 400)
STARTS = ("semantic", "positional")


def known() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def keep(name: str, entry: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(
        json.dumps(known() | {name: entry}, indent=1, ensure_ascii=False), encoding="utf-8"
    )


def measure(name: str, length: int, dimension: int, change: str, start: str) -> None:
    """One entry: sentences of the default corpus, with one thing changed, from one start."""
    from dotphase.text.reading import read_text
    from dotphase.text.universality import universality, variant

    if name in known():
        return
    begin = time.process_time()
    raw = read_text(dimension=dimension, length=length, centre=False, whiten=False)
    found = universality(variant(raw, change), start, SEEDS, **TASKS[length])
    keep(name, found.to_dict() | TASKS[length] | {"process_seconds": time.process_time() - begin})
    print(found, flush=True)


def table() -> None:
    from dotphase.text.universality import VARIANTS

    for change in VARIANTS:
        for length in TASKS:
            for start in STARTS:
                measure(f"L = {length}, {change}, {start}", length, DIMENSION, change, start)


def sizes() -> None:
    for d in SIZES:
        for start in STARTS:
            measure(f"L = 2, d = {d}, {start}", 2, d, "as they are", start)


def picture() -> None:
    """The figure `text` from what is there, as docs/pictures/figure-text.png."""
    import numpy as np
    import xarray

    from dotphase.figures.frame.style import on_the_page
    from dotphase.figures.further.text import FIGURE
    from dotphase.studies.computations.text import OBSERVABLES, SOURCES
    from dotphase.text.universality import VARIANTS

    def dataset(length: int) -> xarray.Dataset:
        entries = [
            [known()[f"L = {length}, {change}, {start}"] for start in STARTS] for change in VARIANTS
        ]
        number = lambda found, part: np.nan if found is None or found[part] is None else found[part]
        read = lambda name, key, part: (
            ("variant", "start", "source"),
            [
                [[number(each.get(key(s), {}).get(name), part) for s in SOURCES] for each in row]
                for row in entries
            ],
        )
        ways = {"": lambda source: source, "off_": lambda source: f"sentences less {source}"}
        variables = {
            f"words_{prefix}{name}{ending}": read(name, key, part)
            for name in OBSERVABLES
            for prefix, key in ways.items()
            for ending, part in {"": "value", "_error": "error"}.items()
        }
        return xarray.Dataset(
            variables, {"variant": list(VARIANTS), "start": list(STARTS), "source": list(SOURCES)}
        )

    with on_the_page():
        drawn = FIGURE.draw({f"text-{length}": dataset(length) for length in TASKS})
        drawn.savefig(ROOT / "docs" / "pictures" / "figure-text.png")


def run() -> None:
    table()
    sizes()
    tables()
    picture()


def tables() -> None:
    """Keep the tables of the documentation beside what they are made from."""
    command = "python -m benchmarks.text"
    found = {f"deviations of {length}": _deviations(length) for length in TASKS} | {
        "sizes": _sizes()
    }
    found = {name: table for name, table in found.items() if table["rows"]}
    keep(
        "tables",
        {
            name: table | {"command": f"{command} {'sizes' if name == 'sizes' else 'table'}"}
            for name, table in found.items()
        },
    )


def _deviations(length: int) -> dict[str, Any]:
    """ε_g and ε_t of every variant, and how far surrogates are from it, in standard errors."""
    from dotphase.text.universality import VARIANTS

    rows = []
    for change in VARIANTS:
        for start in STARTS:
            entry = known().get(f"L = {length}, {change}, {start}")
            if entry is not None:
                rows += [_row(change, start, entry, name) for name in SYMBOLS]
    task = TASKS[length]
    note = f"α = {task['alpha']:g}, ω = {task['omega']:g}, d = {DIMENSION}, {SEEDS} seeds; in units of 10⁻³."
    return {"columns": COLUMNS, "rows": rows, "note": note}


SYMBOLS = {"test_error": "ε_g", "train_loss": "ε_t"}
COLUMNS = [
    "sentences",
    "start",
    "",
    "trained on them",
    "Gaussian",
    "s.e.",
    "with lengths",
    "s.e.",
    "theory",
    "theory with lengths",
]


def _row(change: str, start: str, entry: dict[str, Any], name: str) -> list[str]:
    cells = [change, start, SYMBOLS[name], _shown(entry["sentences"][name])]
    for each in ("gaussian", "scaled"):
        difference = entry[f"sentences less {each}"][name]
        cells += [_shown(entry[each][name]), f"{difference['value'] / difference['error']:+.1f}"]
    return [*cells, *(_shown(entry[f"theory {each}"][name]) for each in ("gaussian", "scaled"))]


def _sizes() -> dict[str, Any]:
    sources = ("sentences", "gaussian", "scaled", "theory gaussian", "theory scaled")
    rows = []
    for d in SIZES:
        for start in STARTS:
            entry = known().get(f"L = 2, d = {d}, {start}")
            if entry is not None:
                rows.append(
                    [str(d), start, *(_shown(entry[source]["test_error"]) for source in sources)]
                )
    columns = [
        "d",
        "start",
        "trained on them",
        "Gaussian",
        "with lengths",
        "theory",
        "theory with lengths",
    ]
    return {"columns": columns, "rows": rows, "note": "Test errors at L = 2, in units of 10⁻³."}


def _shown(number: dict[str, Any]) -> str:
    from dotphase import Estimate

    known = number["value"] is not None and number["error"] is not None
    return format(Estimate(1e3 * number["value"], 1e3 * number["error"]), "()") if known else "–"


if __name__ == "__main__":
    {"table": table, "sizes": sizes, "tables": tables, "picture": picture}[
        sys.argv[1] if len(sys.argv) > 1 else "table"
    ]()
