"""Arbitrary scenarios, one after the other: what the solver makes of each, how long it takes, what
it needs.

python -m benchmarks.scenarios [how many] [the first seed]
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

from .stored import keep_table

STARTS = ("semantic", "positional")  # in turn
TRAINED = 20  # every so many-th is trained too
SIZES = (200, 400)


def run(count: int = 200, first: int = 0) -> list[dict]:
    """Solve `count` scenarios; one row each, then a summary."""
    rows = [_row(seed, STARTS[seed % 2]) for seed in range(first, first + count)]
    print(*(": ".join(line) for line in summary(rows)), sep="\n")
    if count >= 200:
        keep_table(
            "theory",
            "scenarios",
            ("", "measured"),
            summary(rows),
            command="python -m benchmarks.scenarios",
        )
    return rows


def summary(rows: list[dict]) -> list[list[str]]:
    """How they ended, how long they took and what they needed, as lines of a table."""
    outcomes, seconds = Counter(row["outcome"] for row in rows), [row["seconds"] for row in rows]
    found = [[f"ended {outcome}", str(number)] for outcome, number in sorted(outcomes.items())]
    return [
        ["scenarios", str(len(rows))],
        *found,
        ["seconds to the answer, median", f"{np.median(seconds):.1f}"],
        ["… longest", f"{max(seconds):.0f}"],
        ["peak memory of all in one process", f"{rows[-1]['peak MB'] / 1000:.1f} GB"],
    ]


def _row(seed: int, start: str) -> dict:
    import jax

    from dotphase.scenario.random_scenarios import arbitrary_scenario

    scenario = arbitrary_scenario(seed)
    began, spent = time.perf_counter(), time.process_time()
    outcome, residual, trained = _answer(seed, scenario, start)
    row = {
        "seed": seed,
        "student": f"{scenario.student.kind} {scenario.ranks}",
        "tokens": scenario.length,
        "groups": scenario.structure.direction_groups,
        "alpha": f"{scenario.sample_ratio:.2g}",
        "lambda": f"{scenario.ridge:.2g}",
        "sigma": f"{scenario.tokens.deviation:.2g}",
        "start": start,
        "outcome": outcome.split(":")[0],
        "residual": f"{residual:.1e}",
        "seconds": round(time.perf_counter() - began, 1),
        "of processor": round(time.process_time() - spent, 1),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(
        "  ".join(f"{value}" for value in row.values()),
        outcome.partition(": ")[2],
        trained,
        flush=True,
    )
    if seed % 20 == 19:
        jax.clear_caches()  # a program per structure is kept; two hundred structures are many
    return row


def _answer(seed: int, scenario: Any, start: str) -> tuple[str, float, str]:
    """The outcome and its reason, the residual, and how training at two sizes compares."""
    import dotphase

    try:
        solution = dotphase.solve(scenario, start, rtol=None)
    except Exception as error:  # a crash is what is looked for
        return f"crashed: {type(error).__name__}: {error}", np.nan, ""
    trained = ""
    if seed % TRAINED == 0 and solution.outcome == "converged":
        errors = [dotphase.train(scenario, d, start, seeds=4).test_error for d in SIZES]
        sizes = ", ".join(f"d = {d}: {error}" for d, error in zip(SIZES, errors, strict=True))
        reached = dotphase.solve(scenario, start, minimum="reached", rtol=None)
        trained = f"ε_g lowest {solution.test_error}, reached {reached.test_error}; trained {sizes}"
    return f"{solution.outcome}: {solution.reason}", solution.residual, trained


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
