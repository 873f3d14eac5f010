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
    from matplotlib.axes import Axes
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
    figure, axes = panels(2, 2, 5.2, sharex=True)
    replicon, slopes, several, broken = axes.flat
    for branch in BRANCHES:
        read = lambda name, branch=branch: reading.theory(dataset, name, branch, label="along")
        look: dict[str, Any] = {"fmt": MARKERS[branch]}
        points(replicon, *read("replicon"), COLOURS[branch], f"{branch} branch", **look)
        line = read("eigenvalue_m")
        curve(slopes, *line, COLOURS[branch])
        _name(slopes, line, f"{branch}, along $m$", COLOURS[branch])
        line = read("several_minima")
        several.plot(
            *reading.only(line, line.value > 0)[:2], MARKERS[branch], color=COLOURS[branch],
            ms=3.6, mfc="white", mew=0.9,
        )  # fmt: skip
        points(broken, *_above_zero(read("breaking")), COLOURS[branch], **look)
    # Along θ at the semantic point directions mix with those of q and V, and have no name of their
    # own.
    line = reading.theory(dataset, "eigenvalue_theta", "positional", label="along")
    curve(slopes, *line, COLOURS["positional"], ls=":")
    _name(slopes, line, r"positional, along $\theta$", COLOURS["positional"])
    _limit(replicon, 1, "stable below one")
    _limit(broken, COMPARABLE, "broken above")
    slopes.axhspan(
        -1, 1, color="#DDDDDD", alpha=0.6, lw=0, zorder=0, label="plain iteration is stable (b)"
    )
    replicon.set(ylabel="replicon", ylim=(0, None))
    slopes.set_ylabel("eigenvalue of the map")
    several.set(ylabel="share of samples", yscale="log")
    broken.set(ylabel=r"$\Delta/q$", yscale="log", ylim=(1e-3, 10))
    for axis in axes[-1]:
        axis.set_xlabel(SYMBOLS["alpha"])
    letter(axes)
    titles = (
        "local stability of replica symmetry",
        "stability of plain iteration",
        "samples with several inner minima",
        "effect of their jumps",
    )
    for axis, title in zip(axes.flat, titles, strict=True):
        axis.set_title(title)
    legend_below(figure, axes)
    return figure


def _name(axis: Axes, line: reading.Line, text: str, colour: str) -> None:
    """The name of a curve, above its middle."""
    known = np.flatnonzero(np.isfinite(line.value))
    if known.size:
        at = known[known.size // 2]
        axis.annotate(
            text, (line.x[at], line.value[at]), (3, 4), textcoords="offset points",
            color=colour, fontsize=7,
        )  # fmt: skip


def _limit(axis: Axes, value: float, text: str) -> None:
    """A dotted line and its meaning, at its right end."""
    axis.axhline(value, color="#111111", lw=0.8, ls=":")
    axis.annotate(
        text, (1, value), (0, 3), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", fontsize=7,
    )  # fmt: skip


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
