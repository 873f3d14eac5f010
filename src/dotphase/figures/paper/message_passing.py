"""Message passing against state evolution, iterate by iterate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, panels, points
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.reading import seed_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

NAMES = {"q": "$q$", "V": "$V$", "m": "$m$", "theta": r"$\theta$"}


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    passing: dict[str, Any] = {
        "kind": "trajectories",
        "steps": 3,
        "seeds": 24 if full else 8,
        "nodes": 2**16 if full else 2**14,
    }
    axes = {"d": [500, 2000, 4000] if full else [500, 2000]}
    return {
        "message-passing": make_study(
            "message passing", {"alpha": 2.0, "omega": 0.3}, axes, passing=passing
        )
    }


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["message-passing"]
    figure, axes = panels(2, 4, 3.9, sharex=True)
    steps, sizes = dataset["iterate"].values, dataset["d"].values
    for column, (name, label) in enumerate(NAMES.items()):
        above, below = axes[:, column]
        for k, d in enumerate(sizes):
            at = dataset.sel(d=d)
            limit = at[f"passing_{name}_limit"].values
            mean, error = seed_mean(at[f"passing_{name}"].transpose("iterate", "seed").values)
            colour = ("#56B4E9", "#0072B2", "#004166")[k + 3 - len(sizes)]
            if k == 0:
                above.plot(steps, limit, color=COLOURS["neutral"], label="state evolution")
            shift = 0.12 * (k - (len(sizes) - 1) / 2)
            points(above, steps + shift, mean, error, colour, f"$d = {d}$", ms=3)
            deviation = np.divide(mean - limit, error, out=np.zeros_like(mean), where=error > 1e-12)
            below.plot(steps + shift, deviation, "o", ms=3.5, color=colour)
        above.set_title(label)
        below.axhspan(-2, 2, color="#DDDDDD", alpha=0.6, lw=0, zorder=0)
        below.axhline(0, color="#999999", lw=0.7, zorder=0)
        below.set(xlabel="iteration", xticks=steps)
        below.set_ylim(-max(4.5, *np.abs(below.get_ylim())), max(4.5, *np.abs(below.get_ylim())))
    axes[0, 0].set_ylabel("overlap of the first token")
    axes[1, 0].set_ylabel("deviation, standard errors")
    axes[0, 0].legend(labelspacing=0.25, handlelength=1.3)
    return figure


FIGURE = PaperFigure(
    name="message-passing",
    title="Message passing against state evolution",
    caption=(
        "Undamped message passing and state evolution from one noisy start (0.6 of the teacher, 0.05 of the "
        "positions, noise 0.4) at α = 2, ω = 0.3. Upper row: the overlaps at every iteration, means over seeds with "
        "one standard error. Lower row: their deviation from state evolution in standard errors; grey: two of them. "
        "Along m the iteration is unstable, which multiplies whatever a seed has of it at the start; at small d "
        "finite-size corrections show."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 37, "full": 450},
    new=True,
)
