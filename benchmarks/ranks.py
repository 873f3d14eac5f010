"""Students of several columns: does training ever end below the minimum that wins?

    python -m benchmarks.ranks        writes the table of docs/transitions.md (about ten minutes)
    python -m benchmarks.ranks 1000 ["rank two" …]      the same at another d, for some students

For rank two, rank three and two heads, at nine points (ω, α): the winner of `dotphase.phase`, and
training by L-BFGS from random weights at d = 500 or as given: the lowest of twelve starts on each of eight data
sets, then the mean. z is (training − theory at that d) in standard errors.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np

from benchmarks.stored import keep_table

DATA_SETS, STARTS = 8, 12


def run(d: int = 500, *names: str) -> None:
    import dotphase
    from dotphase import attentions

    students = {
        "rank two": attentions.softmax(rank=2),
        "rank three": attentions.softmax(rank=3),
        "two heads": attentions.heads(heads=2, rank=1),
    }
    rows = []
    for name, omega, alpha in product(names or students, (0.1, 0.3, 0.5), (0.5, 1.0, 2.0)):
        scenario = dotphase.paper(alpha=alpha, omega=omega).vary(student=students[name])
        rows.append([name, f"{omega:g}", f"{alpha:g}", *_point(scenario, d)])
        print("  ".join(rows[-1]), flush=True)
    columns = ["student", "ω", "α", "winner", "ε_t", "stability", "ε_t at d", "training", "z"]
    note = (
        f"Winner of `dotphase.phase`; training at d = {d}, the lowest of {STARTS} random starts on "
        f"each of {DATA_SETS} data sets, then the mean; z in standard errors."
    )
    table = "training" if d == 500 else f"training, d = {d}"
    command = " ".join(["python -m benchmarks.ranks", *sys.argv[1:]])
    keep_table("ranks", table, columns, rows, command=command, note=note)


def _point(scenario: Any, d: int) -> list[str]:
    import dotphase
    from dotphase import Estimate

    found = dotphase.phase(scenario)
    winner = found.solutions[0]
    theory = dotphase.solve(scenario, winner, d=d, rtol=None, rule=winner.rule).train_loss
    losses = []
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(1000 + seed)
        starts = [0.3 * rng.standard_normal((d, scenario.student.rank)) for _ in range(STARTS)]
        runs = [
            dotphase.train(scenario, d=d, start=start, seeds=[seed]).runs[0] for start in starts
        ]
        losses.append(min(run.train_loss for run in runs))
    trained = Estimate(np.mean(losses), np.std(losses, ddof=1) / np.sqrt(DATA_SETS))
    z = float(trained.deviation(theory))
    stable = winner.stability.branch
    values = [f"{each:()}" for each in (winner.train_loss, theory, trained)]
    return [found.winner, values[0], stable, *values[1:], f"{z:+.1f}"]


if __name__ == "__main__":
    run(*map(int, sys.argv[1:2]), *sys.argv[2:])
