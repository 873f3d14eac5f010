"""Correlated tokens and random scales: theory against training, the tables of docs/tokens.md.

    python -m benchmarks.tokens correlated       correlated tokens: L = 2, c = ±0.3, and L = 3
    python -m benchmarks.tokens scales           tokens of random length: three distributions, L = 2 and 3
    python -m benchmarks.tokens page             writes the tables of the documentation from what is there

Both theories (reached and lowest minima) are laid over training extrapolated in 1/d. Results are
read from and written to docs/results/tokens.json; what is there is not computed again.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reached import _keep, _put, _show, _training_lines, fill

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "tokens.json"
SEEDS = {
    "correlated": {250: 48, 500: 40, 1000: 20},
    "scales": {250: 32, 500: 24, 1000: 12},
}  # of training, by d
BRANCHES = ("semantic", "positional")
Points = dict[str, tuple[Any, str]]  # scenarios and starts, by name


def tasks(tokens: Any) -> Points:
    """Both branches with such tokens.

    Of two tokens, the paper's task at α = 2, ω = 0.3; of three, at positions 1, 0 and −1, with α =
    1: there the positional branch has a teacher of ω = 0.6, since training leaves it at 0.3.
    """
    import dotphase as dp

    if tokens.gamma.shape[1] == 2:
        return {start: (dp.paper(2.0, 0.3).vary(tokens=tokens), start) for start in BRANCHES}
    A = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    student, positions = dp.attentions.softmax(1), dp.Positions([[1.0, 0.0, -1.0]])
    three = lambda omega: dp.Scenario(
        dp.attentions.mixture(A, omega), student, tokens, positions, 1.0, 0.01
    )
    return {"semantic": (three(0.3), "semantic"), "positional": (three(0.6), "positional")}


def correlated_points() -> Points:
    """Correlated tokens."""
    import dotphase as dp

    distributions = {f"L = 2, c = {c:+g}": dp.scenario.correlated(2, 0.5, c) for c in (0.3, -0.3)}
    distributions["L = 3, neighbours c = 0.3"] = dp.scenario.correlated(
        3, 0.5, dp.scenario.exponential_correlation(3, 0.3)
    )
    return {
        f"{name}, {start}": task
        for name, tokens in distributions.items()
        for start, task in tasks(tokens).items()
    }


def distributions(length: int) -> dict[str, Any]:
    """Three distributions of scales: two lengths, each token its own; the same for a whole sentence;
    log-normal lengths."""
    import dotphase as dp

    two = np.sqrt([0.4, 1.6])
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    return {
        "s² = 1 ∓ 0.6": dp.Scales(two),
        "s² = 1 ∓ 0.6, one for the sentence": dp.Scales(np.repeat(two[:, None], length, axis=1)),
        "s log-normal": dp.Scales(np.exp(0.35 * nodes), weights),
    }


def scale_points() -> Points:
    """Tokens of random length."""
    import dotphase as dp

    points: Points = {}
    for length in (2, 3):
        for name, scales in distributions(length).items():
            tokens = replace(dp.scenario.isotropic(length, 0.5), scales=scales)
            points |= {
                f"L = {length}, {name}, {start}": task for start, task in tasks(tokens).items()
            }
    return points


def compute(results: dict, section: str, points: Points) -> None:
    rows = results.setdefault(section, {})
    for name, (scenario, start) in points.items():
        row = rows.setdefault(name, {})
        fill(row, scenario, start, SEEDS[section], lambda: _keep(results, RESULTS))
        _show(name, row)


def page(results: dict) -> None:
    """The tables of docs/tokens.md, from the results alone."""
    document = RESULTS.parent.parent / "tokens.md"
    for section in ("correlated", "scales"):
        _put(document, section, _training_lines(results[section]))


def main(chosen: list[str]) -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in chosen or ("correlated", "scales", "page"):
        if name == "page":
            page(results)
        else:
            compute(
                results, name, {"correlated": correlated_points, "scales": scale_points}[name]()
            )


if __name__ == "__main__":
    main(sys.argv[1:])
