"""One row of a coarse phase diagram: the winning branch at each α, and the transitions in this row,
with errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...results.json import plain
from ...theory.baseline import linear_baseline
from ...theory.branches.phases import margin_between
from ...theory.solver.solution import USABLE, Solution, SolveError

Pair = Sequence[Solution]  # semantic, positional


def row(alphas: Sequence[float], found: Sequence[Pair]) -> dict[str, Any]:
    """Margins ε_t(semantic) − ε_t(positional) and the lines through this row.

    α_c and α_l are the first sign changes of a difference D(α) from above, by a straight line
    between neighbours; their error is that of D over its slope. A branch ends between the last
    neighbour that has it and the next: the midpoint, with half their distance as error.
    """
    differences = [_losses_apart(pair) for pair in found]
    above = [_above_the_baseline(semantic) for semantic, _ in found]
    exists = [[solution.outcome in USABLE for solution in pair] for pair in found]
    return {
        "margin": [None if d is None else d[0] for d in differences],
        "winner": [_winner(pair, d) for pair, d in zip(found, differences, strict=True)],
        "broken": [_broken(pair) for pair in found],
        "missing": {
            name: [not pair[k] for pair in exists]
            for k, name in enumerate(("semantic", "positional"))
        },
        "lines": {
            "train-loss": _crossing(alphas, differences),
            "linear": _crossing(alphas, above),
            "spinodal-semantic": _end(alphas, [pair[0] for pair in exists]),
            "spinodal-positional": _end(alphas, [pair[1] for pair in exists]),
        },
    }


def _losses_apart(pair: Pair) -> tuple[float, float] | None:
    semantic, positional = pair
    if not all(solution.outcome in USABLE for solution in pair):
        return None
    margin = margin_between(positional, semantic)
    return float(margin.value), float(margin.error)


def _above_the_baseline(semantic: Solution) -> tuple[float, float] | None:
    if semantic.outcome not in USABLE:
        return None
    best = linear_baseline(semantic.scenario).test_error.value
    return float(semantic.test_error.value - best), float(semantic.test_error.error)


def _winner(pair: Pair, difference: tuple[float, float] | None) -> str:
    if difference is None:
        there = [solution.mechanism for solution in pair if solution.outcome in USABLE]
        return there[0] if there else "unknown"
    value, error = difference
    return "undecided" if abs(value) <= 2 * error else "semantic" if value < 0 else "positional"


def _broken(pair: Pair) -> bool:
    """Whether replica symmetry is broken on the branch of lower loss: its replicon is above one by
    two errors. False where that cannot be told."""
    there = [solution for solution in pair if solution.outcome in USABLE]
    if not there:
        return False
    lower = min(there, key=lambda solution: float(solution.train_loss.value))
    try:
        replicon = lower.stability.replicon
    except SolveError:  # the fixed point is lost on the nodes of the stability
        return False
    return bool(replicon.value - 2 * replicon.error > 1)


def _crossing(alphas: Sequence[float], differences: Sequence[tuple[float, float] | None]) -> Any:
    known = [(alpha, *d) for alpha, d in zip(alphas, differences, strict=True) if d is not None]
    for (low, below, err_below), (high, above, err_above) in reversed(list(pairwise(known))):
        if below > 0 >= above:
            share = below / (below - above)
            slope = (above - below) / (high - low)
            error = float(np.hypot((1 - share) * err_below, share * err_above)) / abs(slope)
            return plain([low + share * (high - low), error])
    return None


def _end(alphas: Sequence[float], exists: Sequence[bool]) -> Any:
    for k in range(len(alphas) - 1, 0, -1):
        if exists[k] != exists[k - 1]:
            return [(alphas[k] + alphas[k - 1]) / 2, (alphas[k] - alphas[k - 1]) / 2]
    return None
