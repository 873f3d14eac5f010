"""The theory: our solver against the published method, a whole grid, a cold start, and memory.

The published method, as far as its description goes: a nested rule of 144 nodes in the four dimensions (ξ_1, ξ_2, η_1,
η_2), one call of a general-purpose minimiser per node, and a damped iteration that keeps 0.8 of the old overlaps until
they move by less than 1e-4. Both are started at the same point and asked for the same fixed point.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
from scipy.optimize import minimize

SIGMA2, RIDGE, OMEGA = 0.25, 0.01, 0.3
A = np.array([[0.6, 0.4], [0.4, 0.6]])


def run() -> list[dict]:
    """Time everything; one row per comparison."""
    cases = [("semantic", 2.0), ("positional", 2.0), ("positional", 1.25)]
    rows = [*(_against_published(*case) for case in cases), _grid(), _cold(), _memory()]
    for row in rows:
        print("  ".join(f"{name}: {value}" for name, value in row.items()), flush=True)
    return rows


# -------------------------------------------------------------------------------------------- the published method


def _softmax(z):
    scores = np.exp(np.outer(z, z))
    return scores / scores.sum(1, keepdims=True)


def _published_step(alpha, q, m, V, theta, nodes, weights):
    """One iteration for two tokens and rank one; overlaps q, m = (m, −m), V, θ, the same for both tokens."""
    rest = np.sqrt(SIGMA2 - theta**2 / q)
    sums = np.zeros(4)
    for node, weight in zip(nodes, weights, strict=True):
        xi, eta = node[:2], node[2:]
        w, u = np.array([m, -m]) + np.sqrt(q) * xi, theta / np.sqrt(q) * xi + rest * eta
        T = (1 - OMEGA) * _softmax(u) + OMEGA * A
        cost = lambda z, w=w, T=T: ((z - w) ** 2).sum() / (2 * V) + 0.5 * SIGMA2 * ((T - _softmax(z)) ** 2).sum()
        g = (minimize(cost, w).x - w) / V
        sums += weight * np.array([g @ g / 2, (g[0] - g[1]) / 2, g @ xi / 2, g @ eta / 2])
    q_hat, m_hat, theta_hat = alpha * sums[0], alpha * sums[1], alpha * sums[3] / rest
    V_hat = -alpha * sums[2] / np.sqrt(q) + theta_hat * theta / q
    R = 1 / (RIDGE + 2 * SIGMA2 * V_hat)
    semantic, positional = 2 * SIGMA2 * theta_hat, 2 * m_hat
    new_q = SIGMA2 * R**2 * (2 * SIGMA2 * q_hat + semantic**2 + positional**2)
    return np.array([new_q, R * positional, SIGMA2 * R, SIGMA2 * R * semantic])


def published(alpha: float, start: np.ndarray) -> tuple[np.ndarray, int]:
    """Overlaps (q, m, V, θ) at the published method's fixed point, and how many iterations it took."""
    rules = [np.polynomial.hermite_e.hermegauss(order) for order in (4, 3, 4, 3)]
    nodes = np.stack(np.meshgrid(*[r[0] for r in rules], indexing="ij"), -1).reshape(-1, 4)
    weights = np.prod(np.meshgrid(*[r[1] / r[1].sum() for r in rules], indexing="ij"), axis=0).ravel()
    overlaps = start
    for iterations in range(1, 200):
        new = 0.8 * overlaps + 0.2 * _published_step(alpha, *overlaps, nodes, weights)
        moved, overlaps = np.abs(new - overlaps).max(), new
        if moved < 1e-4:
            return overlaps, iterations
    return overlaps, 200


def _against_published(branch: str, alpha: float) -> dict:
    import dotphase
    from dotphase.theory.starts import start

    scenario = dotphase.paper(alpha, OMEGA)
    precise = dotphase.solve(scenario, branch, rule=dotphase.Sobol(2**17), rtol=None)
    begin = start(scenario, branch)
    flat = lambda o: np.array([o.q[0, 0, 0], o.m[0, 0], o.V[0, 0, 0], o.theta[0, 0, 0]])
    ours = [dotphase.solve(scenario, branch, rule=dotphase.Sobol(2**13, seed=seed), rtol=None) for seed in range(1, 22)]
    began = time.perf_counter()
    theirs, iterations = published(alpha, flat(begin))
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


# ------------------------------------------------------------------------------------------- grids, cold start, memory


def _grid() -> dict:
    import dotphase

    grid = [dotphase.paper(a, w) for a in np.linspace(0.1, 2, 25) for w in np.linspace(0.02, 0.5, 25)]
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
            subprocess.run([sys.executable, "-m", "dotphase", *words], capture_output=True, check=True, env=environ)
            return time.perf_counter() - began

        first, second = (seconds("solve", "--branch", "semantic", "--rtol", "0.05", "--json") for _ in range(2))
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
    dotphase.mixture(A, 0.3), dotphase.softmax_attention(2), dotphase.isotropic(4, 0.5),
    dotphase.Positions(np.random.default_rng(0).normal(size=(4, 4))), 2.0, 0.01)
found = dotphase.solve(scenario, "semantic", rule=dotphase.Sobol(2**16), rtol=None)
print(found.outcome, found.residual)
"""


def _memory() -> dict:
    done = subprocess.run([sys.executable, "-c", _LARGE], capture_output=True, text=True, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {"2^16 nodes, L = 4, r = 2": done.stdout.strip(), "peak memory": f"{peak:.2f} GiB"}


if __name__ == "__main__":
    run()
