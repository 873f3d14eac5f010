"""The reached theory against training, on lines through the phase diagram.

python -m benchmarks.comparisons

Half an hour on one core; every point is kept in out/comparisons.jsonl as soon as it is there, and
the table goes to docs/results/comparisons.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dotphase as dp

from .stored import keep_table

POINTS = Path("out") / "comparisons.jsonl"
COLUMNS = ("line", "α", "start", "ε_g", "ε_t", "q", "m or θ", "why beyond 3")


def lines() -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines: one number other than in the paper's figure."""
    for sigma in (0.3, 0.7, 1.0):
        yield f"σ = {sigma}", {"omega": 0.3, "sigma": sigma}
    for ridge in (0.001, 0.1):
        yield f"λ = {ridge}", {"omega": 0.3, "ridge": ridge}
    for omega in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5):
        yield f"ω = {omega}", {"omega": omega}
    for omega in (0.1, 0.2, 0.3, 0.4):
        yield f"alternative A, ω = {omega}", {"omega": omega, "positional": "alternative"}


def compared(scenario: dp.Scenario, start: str, d: int) -> dict[str, Any]:
    """Training less theory at this d, in standard errors, and where training ended."""
    theory = dp.solve(scenario, start, minimum="reached", d=d)
    if theory.outcome not in ("converged", "imprecise"):
        return {"theory": theory.outcome}
    trained = dp.train(scenario, d, start, seeds=8)
    order = "theta" if start == "semantic" else "m"
    found = {"theory": theory.outcome, "ended": dict(Counter(trained.mechanisms)), "d": d}
    for name in ("test_error", "train_loss", "q", order):
        gap = getattr(trained, name) - getattr(theory, name)
        found[name] = round(float(gap.deviation()), 2)
    return found


def in_time(scenario: dp.Scenario, start: str, d: int) -> dict[str, Any]:
    """Training less the learning curve at time 10/λ, in standard errors."""
    size = 0.2 / float(scenario.distribution.mean_gamma.max())
    steps = int(10 / scenario.ridge / size)
    curve = dp.learning_curve(scenario, start, steps=steps, step_size=size, d=d, paths=2048)
    trained = dp.train(scenario, d, start, seeds=8)
    order = "theta" if start == "semantic" else "m"
    gap = lambda name: getattr(trained, name) - getattr(curve, name)[-1]
    names = ("test_error", "train_loss", "q", order)
    return {name: round(float(gap(name).deviation()), 2) for name in names}


def reason(start: str, first: dict[str, Any], larger: dict[str, Any] | None) -> str:
    """Why a row has a number beyond three: what training did, or what a larger d gives."""
    if "ended" not in first:
        return f"theory {first['theory']}"
    left = {name: count for name, count in first["ended"].items() if name != start}
    why = "; ".join(f"{count} of 8 ended {name}" for name, count in left.items())
    if larger and "curve" in larger:
        at = ", ".join(f"{value:+.1f}" for value in larger["curve"].values())
        return f"reached theory approximate; from its learning curve {at}"
    if larger:
        at = ", ".join(f"{larger[name]:+.1f}" for name in numbers(larger))
        why += f"{'; ' if why else ''}d = 2000: {at}"
    return why


def numbers(found: dict[str, Any]) -> list[str]:
    return [name for name in ("test_error", "train_loss", "q", "m", "theta") if name in found]


def main() -> None:
    POINTS.parent.mkdir(exist_ok=True)
    known = {}
    if POINTS.exists():
        for line in POINTS.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            known[entry["line"], entry["alpha"], entry["start"]] = entry
    rows = []
    for line, numbers_of in lines():
        for alpha in (0.4, 0.7, 1.0, 1.4, 2.0):
            for start in ("semantic", "positional"):
                entry = known.get((line, alpha, start))
                if entry is None:
                    entry = _computed(line, dp.paper(alpha=alpha, **numbers_of), alpha, start)
                rows.append(_row(start, entry))
                print(*rows[-1], flush=True)
    note = "d = 1000, 8 seeds; training less theory in standard errors"
    command = "python -m benchmarks.comparisons"
    keep_table("comparisons", "reached theory", COLUMNS, rows, command=command, note=note)
    beyond = [row for row in rows if row[-1] and row[3] != "–"]
    keep_table("comparisons", "beyond three", COLUMNS, beyond, command=command, note=note)


def _computed(line: str, scenario: dp.Scenario, alpha: float, start: str) -> dict[str, Any]:
    first = compared(scenario, start, 1000)
    beyond = any(abs(first[name]) > 3 for name in numbers(first))
    larger = compared(scenario, start, 2000) if beyond else None
    if larger and set(first["ended"]) == {start} and max(map(abs, _values(larger))) > 3:
        larger["curve"] = in_time(scenario, start, 1000)
    entry = {"line": line, "alpha": alpha, "start": start, "first": first, "larger": larger}
    with POINTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    return entry


def _values(found: dict[str, Any]) -> list[float]:
    return [found[name] for name in numbers(found)]


def _row(start: str, entry: dict[str, Any]) -> list[str]:
    first, larger = entry["first"], entry["larger"]
    values = [f"{first[name]:+.1f}" for name in numbers(first)] or ["–"] * 4
    told = larger is not None or not numbers(first)
    why = reason(start, first, larger) if told else ""
    return [entry["line"], str(entry["alpha"]), start, *values, why]


if __name__ == "__main__":
    main()
