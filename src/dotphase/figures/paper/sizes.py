"""How large d has to be: where training ends in the plane of (m, θ), from d = 10 up, at α = 1.5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, WIDTH, points
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import VARIANCE, letter
from .three_panels import BRANCHES, OVERLAPS

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

SHOWN = (10, 50, 200, 500)


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    sizes = [10, 20, 50, 100, 200, 500, 1000, 2000] if full else [10, 20, 50, 100, 200, 500]
    compute: dict[str, Any] = {
        "theory": {"kind": "theory", "branches": BRANCHES, "nodes": 2**17 if full else 2**15},
        "experiment": {"kind": "training", "starts": BRANCHES, "seeds": 48 if full else 24},
    }
    return {
        "sizes": make_study("scaling in d", {"alpha": 1.5, "omega": 0.3}, {"d": sizes}, **compute)
    }


def draw(datasets: Datasets) -> Figure:
    from matplotlib.figure import Figure

    dataset = datasets["sizes"]
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=(1.0, 1.15))
    upper, lower = halves
    scatters = upper.subplots(1, len(SHOWN), sharex=True, sharey=True)
    for axis, d in zip(scatters, SHOWN, strict=True):
        draw_cloud(axis, dataset.sel(d=d))
        draw_theory(axis, dataset)
        axis.set_xlabel(r"$|m|$")
    scatters[0].set_ylabel(r"$|\theta|/\sigma^2$")
    trends = lower.subplots(1, 2)
    for axis, branch in zip(trends, BRANCHES, strict=True):
        _draw_trend(axis, dataset, branch)
    scatters[-1].legend(handletextpad=0.1, labelspacing=0.2, loc="upper right")
    letter([*scatters, *trends])
    for axis, d in zip(scatters, SHOWN, strict=True):
        axis.set_title(f"$d = {d}$")
    return figure


def draw_cloud(axis: Axes, at: xarray.Dataset, label: str = "experiment") -> None:
    """Every seed by where it ended, coloured by its start."""
    for start in BRANCHES:
        chosen = {reading.dim(at[f"{label}_m"], "start"): start}
        m, theta = (np.ravel(at[f"{label}_{name}"].sel(chosen).values) for name in ("m", "theta"))
        look: dict[str, Any] = {"s": 11, "marker": MARKERS[start], "alpha": 0.55, "lw": 0}
        axis.scatter(m, theta / VARIANCE, color=COLOURS[start], label=f"{start} start", **look)


def draw_theory(axis: Axes, dataset: xarray.Dataset) -> None:
    """The two fixed points of the theory, as crosses."""
    for k, branch in enumerate(BRANCHES):
        at = dataset.sel(branch=branch)
        place = float(at["theory_m"]), float(at["theory_theta"]) / VARIANCE
        axis.plot(
            *place,
            "+",
            color="#111111",
            ms=10,
            mew=1.4,
            label="theory" if k == 0 else None,
            ls="none",
        )


def _draw_trend(axis: Axes, dataset: xarray.Dataset, branch: str) -> None:
    """Overlaps of one start against d, with the theory's values as lines."""
    for name in ("theta", "m"):
        unit = 1 / VARIANCE if name == "theta" else 1.0
        own = OVERLAPS[name] == branch
        colour = COLOURS[branch] if own else COLOURS["uninformed"]
        label = r"$|\theta|/\sigma^2$" if name == "theta" else r"$|m|$"
        line = reading.scaled(reading.experiment(dataset, name, branch, along="d"), unit)
        points(
            axis, *line, colour, label, fmt=MARKERS["semantic" if name == "theta" else "positional"]
        )
        axis.axhline(
            unit * float(dataset[f"theory_{name}"].sel(branch=branch)), color=colour, lw=1.0
        )
    axis.set(xscale="log", xlabel="dimension $d$", ylabel=f"overlaps, {branch} start")
    axis.set_ylim(bottom=-0.02)
    axis.legend()


FIGURE = PaperFigure(
    name="sizes",
    title="Scaling in d",
    caption=(
        "Training from both starts at α = 1.5, ω = 0.3. (a–d) Where every seed ends, in the plane of its overlap "
        "with the positions and with the teacher; crosses: the two fixed points of the theory. (e, f) Means over "
        "seeds with one standard error against d; lines: theory. Sizes that vanish as d → ∞ (grey) are of order "
        "1/√d."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 23, "full": 350},
)
