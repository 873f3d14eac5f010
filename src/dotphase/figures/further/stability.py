"""How stable the two mechanisms are, along their branches at ω = 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, curve, panels, points
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import SYMBOLS, legend_below, letter
from ..paper.three_panels import BRANCHES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...studies.study.study import Study


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    along: dict[str, Any] = {
        "kind": "stability",
        "branches": BRANCHES,
        "nodes": 2**17 if full else 2**15,
    }
    axes = {"alpha": {"linspace": [0.7, 2.5, 37 if full else 13]}}
    return {
        "stability": make_study("stability along the branches", {"omega": 0.3}, axes, along=along)
    }


def draw(datasets: Datasets) -> Figure:
    from ...theory.stability.breaking import COMPARABLE

    dataset = datasets["stability"]
    figure, axes = panels(2, 2, 5.0, sharex=True)
    replicon, slopes, several, broken = axes.flat
    for branch in BRANCHES:
        read = lambda name, branch=branch: reading.theory(dataset, name, branch, label="along")
        points(replicon, *read("replicon"), COLOURS[branch], fmt=f"{MARKERS[branch]}-", lw=0.7)
        curve(slopes, *read("eigenvalue_m"), COLOURS[branch], f"{branch}, along $m$", ls="--")
        line = read("several_minima")
        several.semilogy(
            line.x,
            np.where(line.value > 0, line.value, np.nan),
            color=COLOURS[branch],
            label=branch,
        )
        points(
            broken,
            *_above_zero(read("breaking")),
            COLOURS[branch],
            fmt=f"{MARKERS[branch]}-",
            lw=0.7,
        )
    # Along θ at the semantic point directions mix with those of q and V, and have no name of their
    # own.
    theta = reading.theory(dataset, "eigenvalue_theta", "positional", label="along")
    curve(slopes, *theta, COLOURS["positional"], r"positional, along $\theta$", ls=":")
    replicon.axhline(1, color="#111111", lw=0.8, ls=":")
    replicon.set(ylabel="replicon (stable below one)")
    replicon.set_ylim(bottom=0)
    slopes.axhspan(-1, 1, color="#DDDDDD", alpha=0.6, lw=0, zorder=0)
    slopes.set_ylabel("eigenvalue of the map")
    several.set_ylabel("share of samples with several minima")
    broken.axhline(COMPARABLE, color="#111111", lw=0.8, ls=":")
    broken.set(ylabel=r"$\Delta/q$", yscale="log", ylim=(1e-3, 10))
    for axis in axes[-1]:
        axis.set_xlabel(SYMBOLS["alpha"])
    letter(axes)
    legend_below(figure, axes)
    return figure


def _above_zero(line: reading.Line) -> reading.Line:
    """What a logarithmic axis can show: no zeros, and no bar without end."""
    return reading.only(line, (line.value > 0) & np.isfinite(line.error))


FIGURE = PaperFigure(
    name="stability",
    title="Stability along the branches",
    caption=(
        "(a) The replicon of both fixed points at ω = 0.3, its regular part, with one standard error: below one "
        "replica symmetry is locally stable. Its error bar is a rough one, since few nodes dominate it. (b) "
        "Eigenvalues of the iterated map: within the grey band a small deviation dies out; below −1 the plain "
        "iteration oscillates away though a damped one does not; above +1 nothing helps. (c) How many samples have "
        "more than one minimum of their inner problem, so that the prox can jump. (d) What the jumps do to replica "
        "symmetry: Δ/q at y → 0, by how much the overlap between minima falls short of that within one; above the "
        "dotted line it is called broken, below it weakly broken; no point where there are no jumps (Δ = 0), or where "
        "Δ is not known."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 20, "full": 160},
    new=True,
)
