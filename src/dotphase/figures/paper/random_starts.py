"""Random starts: where Adam ends from small random weights, compared with training from the two
informed starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, panels
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import VARIANCE, letter
from .sizes import draw_cloud, draw_theory
from .three_panels import BRANCHES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    informed: dict[str, Any] = {
        "kind": "training",
        "starts": BRANCHES,
        "d": 1000,
        "seeds": 24 if full else 8,
    }
    adam = {
        "kind": "training",
        "starts": ["random"],
        "d": 100,
        "seeds": 140 if full else 40,
        "optimiser": "adam",
    }
    theory = {"kind": "theory", "branches": BRANCHES, "nodes": 2**15}
    study = make_study(
        "random starts",
        {"alpha": 2.0, "omega": 0.3},
        {},
        theory=theory,
        random=adam,
        informed=informed,
    )
    return {"random-starts": study}


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["random-starts"]
    figure, axes = panels(1, 2, 2.9, sharex=True, sharey=True)
    left, right = axes[0]
    _draw_random(left, dataset)
    draw_cloud(right, dataset, "informed")
    right.set_title("two informed starts, L-BFGS, $d = 1000$")
    for axis in axes[0]:
        draw_theory(axis, dataset)
        axis.set_xlabel(r"$|m|$, overlap with the positions")
        axis.legend(loc="upper right", handletextpad=0.2)
    left.set_ylabel(r"$|\theta|/\sigma^2$, overlap with the teacher")
    left.set_ylim(top=1.3 * left.get_ylim()[1])
    letter(axes)
    return figure


def _draw_random(axis: Axes, dataset: xarray.Dataset) -> None:
    m, theta = (np.ravel(dataset[f"random_{name}"].values) for name in ("m", "theta"))
    semantic = theta > m
    for name, chosen in (("semantic", semantic), ("positional", ~semantic)):
        label = rf"$|\theta| {'>' if name == 'semantic' else '<'} |m|$: {chosen.sum()} of {np.isfinite(m).sum()}"
        look: dict[str, Any] = {"s": 14, "marker": MARKERS[name], "alpha": 0.6, "lw": 0}
        axis.scatter(m[chosen], theta[chosen] / VARIANCE, color=COLOURS[name], label=label, **look)
    axis.set_title("random starts, Adam, $d = 100$")


FIGURE = PaperFigure(
    name="random-starts",
    title="Random starts",
    caption=(
        "Left: Adam from weights 0.1·N(0, 1) at d = 100, one point per seed, coloured by its larger overlap; "
        "most end positional although the semantic minimum is lower at α = 2, ω = 0.3. Right: training from the two "
        "informed starts at d = 1000. Crosses: theory."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 16, "full": 90},
)
