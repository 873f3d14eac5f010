"""Draw the pictures of docs/finite.md again: `python docs/pictures/finite.py [clusters trajectories
sizes]`.

The first two take a minute or two each, the sizes about half an hour on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dotphase.comparison.compare import theory_value
from dotphase.comparison.plots import draw_clusters, draw_sizes, draw_trajectories
from dotphase.comparison.trajectories import NoisyStart, follow
from dotphase.finite.training.training import train
from dotphase.scenario.presets import paper
from dotphase.theory.solver.solve import solve

HERE = Path(__file__).parent
SEEDS_AT = {250: 400, 500: 200, 1000: 100, 2000: 24}
SHOWN = {
    "semantic": ("test_error", "train_loss", "q", "theta"),
    "positional": ("test_error", "train_loss", "q", "m"),
}


def clusters() -> None:
    """140 random starts, trained with Adam."""
    found = train(paper(alpha=2.0, omega=0.3), 100, "random", "adam", seeds=140, progress=True)
    m, theta, loss = (np.array(found.values(name)) for name in ("m", "theta", "train_loss"))
    title = "140 random starts, Adam, d = 100, α = 2, ω = 0.3"
    draw_clusters(m, theta, loss, HERE / "finite-clusters.png", title)


def trajectories() -> None:
    """Message passing and state evolution from one noisy start."""
    start = NoisyStart(semantic=0.6, positional=0.05, noise=0.4, response=2.0)
    followed = follow(paper(alpha=2.0, omega=0.3), 1000, 12, start, steps=4)
    title = "undamped iterations, d = 1000, 12 seeds; bars: standard deviation of one seed"
    draw_trajectories(
        followed, ["q_1", "V_1", "m_1", "θ_1"], HERE / "finite-trajectories.png", title
    )


def sizes() -> None:
    """Training at growing d, next to the theory."""
    for start, names in SHOWN.items():
        solution = solve(paper(alpha=2.0, omega=0.3), start)
        limit = {name: theory_value(solution, name) for name in names}
        measured = {}
        for d, seeds in SEEDS_AT.items():
            found = train(paper(alpha=2.0, omega=0.3), d, start, seeds=seeds, progress=True)
            means = {name: found.adjusted(name) for name in names}
            measured[d] = {name: (mean.mean, mean.sem) for name, mean in means.items()}
        title = f"{start} minimum, α = 2, ω = 0.3: from d = 250 to 2000"
        draw_sizes(measured, limit, HERE / f"finite-sizes-{start}.png", start, title)


if __name__ == "__main__":
    for name in sys.argv[1:] or ("clusters", "trajectories", "sizes"):
        {"clusters": clusters, "trajectories": trajectories, "sizes": sizes}[name]()
