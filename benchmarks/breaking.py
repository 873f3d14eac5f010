"""How far replica symmetry holds: the tables of docs/transitions.md.

python -m benchmarks.breaking table       regular part, jumps and Δ/q at five points, on three sets
of nodes python -m benchmarks.breaking equation    Δ/q from the one-step equation itself, at small y
python -m benchmarks.breaking scan        f, Σ, e, q_1, q_0 over y
"""

from __future__ import annotations

import sys

POINTS = (
    ("positional", 2.0),
    ("positional", 1.25),
    ("semantic", 2.0),
    ("semantic", 1.0),
    ("semantic", 0.8),
)
NODES, OUTER, INNER, SEEDS = 2**17, 2**15, 64, 3
SCANS = {
    ("positional", 2.0): (0, 100, 300, 600, 1000, 2000, 4000),
    ("semantic", 1.0): (0, 300, 1000, 3000, 10000),
}


def symmetric(branch: str, alpha: float, seed: int = 0):
    """The replica-symmetric solution."""
    import dotphase as dp

    return dp.solve(
        dp.paper(alpha=alpha, omega=0.3), branch, rule=dp.Sobol(NODES, seed=seed), rtol=None
    )


def table() -> None:
    for branch, alpha in POINTS:
        for seed in range(SEEDS):
            at = symmetric(branch, alpha, seed).stability
            of = at.breaking
            jumps = f"density {of.density}, squared jump {of.squared_jump}, Δ/q {of.ratio}"
            print(f"{branch} {alpha:g}: regular {of.regular}, {jumps}: {at.verdict}", flush=True)


def equation() -> None:
    import dotphase as dp

    for branch, alpha in POINTS:
        found = symmetric(branch, alpha)
        at = dp.theory.one_step(found.scenario, found, 0.0, rule=dp.Sobol(OUTER), inner=INNER)
        print(f"{at.headline}; {at.evaluations} evaluations, {at.seconds:.0f} s", flush=True)


def scan() -> None:
    import dotphase as dp

    for (branch, alpha), ys in SCANS.items():
        found = symmetric(branch, alpha)
        over = dp.theory.one_step_scan(
            found.scenario, found, ys, rule=dp.Sobol(OUTER), inner=INNER, progress=True
        )
        print(over.headline)
        for point, rise in zip(over.points, over.rises, strict=True):
            print(
                f"  {point.headline}  f − f(0) = {rise}, q_1 {point.q_1}, q_0 {point.q_0}; {point.seconds:.0f} s"
            )


if __name__ == "__main__":
    known = {"table": table, "equation": equation, "scan": scan}
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        sys.exit(__doc__)
    known[sys.argv[1]]()
