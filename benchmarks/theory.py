"""The theory: our solver against the published method, a whole grid, a cold start, and memory.

The published method is `dotphase.comparison.published` with the authors' own minimiser: 144 nodes,
BFGS at each. They ran it anew for each of four averages, so that their code took four times as long
as is timed here.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

OMEGA = 0.3


def run() -> list[dict]:
    """Time everything; one row per comparison."""
    cases = [("semantic", 2.0), ("positional", 2.0), ("positional", 1.25)]
    rows = [*(_against_published(*case) for case in cases), _grid(), _cold(), _memory()]
    for row in rows:
        print("  ".join(f"{name}: {value}" for name, value in row.items()), flush=True)
    return rows


# ----------------------------------------------------------------------------- the published method


def _against_published(branch: str, alpha: float) -> dict:
    import dotphase
    from dotphase.comparison.published import bfgs, published

    scenario = dotphase.paper(alpha, OMEGA)
    precise = dotphase.solve(scenario, branch, rule=dotphase.Sobol(2**17), rtol=None)
    flat = lambda o: np.array([o.q[0, 0, 0], o.m[0, 0], o.V[0, 0, 0], o.theta[0, 0, 0]])
    ours = [
        dotphase.solve(scenario, branch, rule=dotphase.Sobol(2**13, seed=seed), rtol=None)
        for seed in range(1, 22)
    ]
    began = time.perf_counter()
    theirs, _, iterations = published(scenario, branch, bfgs)
    published_seconds = time.perf_counter() - began
    seconds = float(np.median([solution.seconds for solution in ours]))
    exact = flat(precise.overlaps)
    present = exact != 0  # m or θ vanishes by symmetry
    off = lambda overlaps: np.abs(overlaps[present] / exact[present] - 1).max()
    ours_off = np.median([off(flat(solution.overlaps)) for solution in ours])
    return {
        "one fixed point": f"{branch}, α = {alpha:g}",
        "published method": f"{published_seconds:.1f} s ({iterations} iterations, off by {off(theirs):.1%})",
        "ours at 2^13 nodes": f"{seconds * 1e3:.0f} ms (off by {ours_off:.1%})",
        "ratio": f"{published_seconds / seconds:.0f}×",
    }


# ------------------------------------------------------------------------ grids, cold start, memory


def _grid() -> dict:
    import dotphase

    grid = [
        dotphase.paper(a, w) for a in np.linspace(0.1, 2, 25) for w in np.linspace(0.02, 0.5, 25)
    ]
    dotphase.solve(grid[0], "positional", rtol=None)
    began = time.perf_counter()
    found = dotphase.solve_many(grid, "positional", rtol=None)
    each = (time.perf_counter() - began) / len(grid)
    settled = sum(solution.outcome != "stalled" for solution in found)
    return {
        "grid of 625": f"{each * 1e3:.0f} ms per fixed point",
        "reached a fixed point": f"{settled} of {len(grid)}",
    }


def _cold() -> dict:
    with tempfile.TemporaryDirectory() as empty:
        environ = os.environ | {"XDG_CACHE_HOME": empty}

        def seconds(*words):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "dotphase", *words],
                capture_output=True,
                check=True,
                env=environ,
            )
            return time.perf_counter() - began

        first, second = (
            seconds("solve", "--start", "semantic", "--rtol", "0.05", "--json") for _ in range(2)
        )
        helped = min(seconds("--help") for _ in range(3))
    return {
        "first answer of a cold process": f"{first:.1f} s",
        "with its compilations kept": f"{second:.1f} s",
        "--help": f"{helped:.2f} s",
    }


_LARGE = """
import dotphase, numpy as np
A = np.full((4, 4), 0.2) + 0.2 * np.eye(4)
scenario = dotphase.Scenario(
    dotphase.attentions.mixture(A, 0.3), dotphase.attentions.softmax(2), dotphase.scenario.isotropic(4, 0.5),
    dotphase.Positions(np.random.default_rng(0).normal(size=(4, 4))), 2.0, 0.01)
found = dotphase.solve(scenario, "semantic", rule=dotphase.Sobol(2**16), rtol=None)
print(found.outcome, found.residual)
"""


def _memory() -> dict:
    done = subprocess.run(
        [sys.executable, "-c", _LARGE], capture_output=True, text=True, check=True
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {"2^16 nodes, L = 4, r = 2": done.stdout.strip(), "peak memory": f"{peak:.2f} GiB"}


if __name__ == "__main__":
    run()
