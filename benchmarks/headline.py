"""The headline numbers: α_c(ω) and α_l(ω) of the paper's task, with errors of about 0.001.

    python -m benchmarks.headline     writes the table of docs/transitions.md (some minutes)

Two theories: the lowest minima, and those that training reaches. What is in
docs/results/headline.json already is not computed again.
"""

from __future__ import annotations

import json
from itertools import product

from benchmarks.stored import RESULTS, keep_table

OMEGAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
NEAR = (0.63, 0.75, 0.84, 0.95, 1.08, 1.25, 1.47, 1.76, 2.2)  # where to look for α_c
COLUMNS = {
    "α_c, lowest": ("train-loss", "lowest"),
    "α_c, reached": ("train-loss", "reached"),
    "α_l, lowest": ("linear", "lowest"),
    "α_l, reached": ("linear", "reached"),
}


def run() -> None:
    import dotphase

    path = RESULTS / "headline.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows = kept.get("tables", {}).get("headline", {}).get("rows", [])
    known = {(row[0], name): row[1 + k] for row in rows for k, name in enumerate(COLUMNS)}
    for name, (omega, near) in product(COLUMNS, zip(OMEGAS, NEAR, strict=True)):
        if known.get((f"{omega:g}", name)):
            continue
        kind, minimum = COLUMNS[name]
        middle = near if kind == "train-loss" else 1.19 * near
        found = dotphase.critical(
            dotphase.paper(omega=omega),
            kind,
            between=(0.7 * middle, 1.4 * middle),
            scan=6,
            precision=1e-3,
            budget=2**21,
            minimum=minimum,
        )
        where = f"{found.location:()}" if found.outcome != "absent" else "absent"
        known[f"{omega:g}", name] = where
        print(f"ω = {omega:g}  {name}: {where}  {found.reason}", flush=True)
        rows = [[f"{w:g}", *(known.get((f"{w:g}", c), "") for c in COLUMNS)] for w in OMEGAS]
        keep_table(
            "headline",
            "headline",
            ["ω", *COLUMNS],
            rows,
            command="python -m benchmarks.headline",
            note="The digits in brackets are the standard error of the last digits.",
        )


if __name__ == "__main__":
    run()
