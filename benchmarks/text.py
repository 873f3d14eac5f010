"""Does the theory hold for real words? Training on them, on Gaussian surrogates, and the theory, one thing changed at a time.

    python -m benchmarks.text table            every variant, both starts, L = 2 and 3; kept as soon as it is there
    python -m benchmarks.text sizes            the same for the sentences as they are, at several d
    python -m benchmarks.text page             writes the tables of docs/text.md from what is there

Results are read from and written to docs/results/text.json; what is there is not computed again.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "docs" / "results" / "text.json", ROOT / "docs" / "text.md"
TASKS = {2: {"alpha": 2.0, "omega": 0.3}, 3: {"alpha": 1.25, "omega": 0.5}}
DIMENSION, SEEDS = 200, 24
SIZES = (50, 100, 200, 400)
STARTS = ("semantic", "positional")


def known() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def keep(name: str, entry: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(known() | {name: entry}, indent=1, ensure_ascii=False), encoding="utf-8")


def measure(name: str, length: int, dimension: int, change: str, start: str) -> None:
    """One entry: sentences of the default corpus, with one thing changed, from one start."""
    from dotphase.text import read_text, universality, variant

    if name in known():
        return
    begin = time.process_time()
    raw = read_text(dimension=dimension, length=length, centre=False, whiten=False)
    found = universality(variant(raw, change), start, SEEDS, **TASKS[length])
    keep(name, found.to_dict() | TASKS[length] | {"process_seconds": time.process_time() - begin})
    print(found, flush=True)


def table() -> None:
    from dotphase.text.universality import VARIANTS

    for length in TASKS:
        for change in VARIANTS:
            for start in STARTS:
                measure(f"L = {length}, {change}, {start}", length, DIMENSION, change, start)


def sizes() -> None:
    for d in SIZES:
        for start in STARTS:
            measure(f"L = 2, d = {d}, {start}", 2, d, "as they are", start)


def run() -> None:
    table()
    sizes()
    page()


def page() -> None:
    """Put the tables between the marks of the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in {"deviations": _deviations(), "sizes": _sizes()}.items():
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(first)
        _, _, after = rest.partition(last)
        text = before + first + "\n".join(lines) + "\n" + last + after
    PAGE.write_text(text, encoding="utf-8")


def _deviations() -> list[str]:
    """ε_g and ε_t of every variant, and how far surrogates and theory are from it, in standard errors."""
    from dotphase.text.universality import VARIANTS

    lines = []
    for length, task in TASKS.items():
        lines += [
            "",
            f"L = {length}, α = {task['alpha']:g}, ω = {task['omega']:g}, d = {DIMENSION}, {SEEDS} seeds:",
            "",
        ]
        lines += [_HEAD, "|---|---|---|---|---|---|---|---|"]
        for change in VARIANTS:
            for start in STARTS:
                entry = known().get(f"L = {length}, {change}, {start}")
                if entry is not None:
                    lines += [_line(f"{change}, {start}", entry, name) for name in ("test_error", "train_loss")]
    return lines


_HEAD = "| sentences | | trained on them | Gaussian | s.e. | with lengths | s.e. | theory with lengths |"


def _line(what: str, entry: dict[str, Any], name: str) -> str:
    symbol = {"test_error": "ε_g", "train_loss": "ε_t"}[name]
    cells = [what if name == "test_error" else "", symbol, _shown(entry["sentences"][name])]
    for each in ("gaussian", "scaled"):
        difference = entry[f"sentences less {each}"][name]
        cells += [_shown(entry[each][name]), f"{difference['value'] / difference['error']:+.1f}"]
    return "| " + " | ".join([*cells, _shown(entry["theory scaled"][name])]) + " |"


def _sizes() -> list[str]:
    lines = ["", "| d | start | trained on them | Gaussian | with lengths | theory, Gaussian | theory, with lengths |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for d in SIZES:
        for start in STARTS:
            entry = known().get(f"L = 2, d = {d}, {start}")
            if entry is not None:
                sources = ("sentences", "gaussian", "scaled", "theory gaussian", "theory scaled")
                cells = [_shown(entry[source]["test_error"]) for source in sources]
                lines.append(f"| {d} | {start} | " + " | ".join(cells) + " |")
    return lines


def _shown(number: dict[str, Any]) -> str:
    from dotphase import Estimate

    return "–" if number["value"] is None else format(Estimate(1e3 * number["value"], 1e3 * number["error"]), "()")


if __name__ == "__main__":
    {"table": table, "sizes": sizes, "page": page}[sys.argv[1] if len(sys.argv) > 1 else "table"]()
