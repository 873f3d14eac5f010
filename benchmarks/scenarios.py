"""Arbitrary scenarios, one after the other: what the solver makes of each, how long it takes, what it needs.

    python -m benchmarks.scenarios [how many] [the first seed]
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter

import numpy as np


def run(count: int = 200, first: int = 0) -> list[dict]:
    """Solve `count` scenarios from both informed starts; one row each, then a summary."""
    rows = [_row(seed, start) for seed in range(first, first + count) for start in ("semantic", "positional")[seed % 2 :][:1]]
    outcomes = Counter(row["outcome"] for row in rows)
    seconds = [row["seconds"] for row in rows]
    print(f"outcomes {dict(outcomes)}; seconds median {np.median(seconds):.1f}, worst {max(seconds):.1f}")
    print(f"peak memory {max(row['peak MB'] for row in rows):.0f} MB; crashed {outcomes['crashed']}")
    return rows


def _row(seed: int, start: str) -> dict:
    import jax

    import dotphase
    from dotphase.scenario.arbitrary import arbitrary_scenario

    scenario = arbitrary_scenario(seed)
    began, spent = time.perf_counter(), time.process_time()
    try:
        solution = dotphase.solve(scenario, start, rtol=None)
        outcome, reason, residual = solution.outcome, solution.reason, solution.residual
    except Exception as error:  # a crash is what is looked for
        outcome, reason, residual = "crashed", f"{type(error).__name__}: {error}", np.nan
    row = {
        "seed": seed,
        "tokens": scenario.length,
        "student": str(scenario.student.kind),
        "ranks": scenario.ranks,
        "kinds": scenario.structure.kinds,
        "alpha": f"{scenario.sample_ratio:.2g}",
        "lambda": f"{scenario.ridge:.2g}",
        "sigma": f"{scenario.tokens.deviation:.2g}",
        "start": start,
        "outcome": outcome,
        "residual": f"{residual:.1e}",
        "seconds": round(time.perf_counter() - began, 1),
        "cpu": round(time.process_time() - spent, 1),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print("  ".join(f"{value:.0f}" if name == "peak MB" else f"{value}" for name, value in row.items()), reason, flush=True)
    if seed % 20 == 19:
        jax.clear_caches()  # a program per structure is kept; two hundred structures are many
    return row


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
