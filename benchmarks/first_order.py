"""How much of what finite d does the theory at finite d has: training against solve(…) and solve(…,
d=d).

python -m benchmarks.first_order        writes docs/results/first_order.json
"""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "first_order.json"
POSITIONS = {"1, 0.5": (1.0, 0.5), "2, 1": (2.0, 1.0), "1, −1": (1.0, -1.0)}
SEEDS = {300: 24, 600: 24, 1200: 12}
SYMBOLS = {"test_error": "ε_g", "train_loss": "ε_t"}
COLUMNS = ("positions", "d", "", "training", "theory, d → ∞", "s.e.", "theory at d", "s.e. ")


def rows() -> list[list[str]]:
    """One per positions, size and observable: training, both theories, and its deviation from each."""
    import dotphase as dp

    found = []
    for name, tau in POSITIONS.items():
        scenario = dp.paper(alpha=2.0, omega=0.3).vary(positions=dp.Positions([tau]))
        for d, seeds in SEEDS.items():
            runs = dp.train(scenario, d, "semantic", seeds=seeds)
            theories = [
                dp.solve(scenario, "semantic", minimum="reached", rtol=2e-3, d=at)
                for at in (None, d)
            ]
            for key, symbol in SYMBOLS.items():
                trained = runs.adjusted(key)
                row = [name, str(d), symbol, f"{trained:()}"]
                for theory in theories:
                    value = getattr(theory, key)
                    row += [f"{value:()}", f"{trained.deviation(value):+.1f}"]
                found.append(row)
                print("  ".join(row), flush=True)
    return found


if __name__ == "__main__":
    command = "python -m benchmarks.first_order"
    table = {"columns": COLUMNS, "rows": rows(), "command": command}
    RESULTS.write_text(
        json.dumps({"tables": {"semantic": table}}, indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
