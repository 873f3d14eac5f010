"""A student of rank two and a teacher of rank one: it can learn position and meaning at once, one
per column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, curve, panels, points
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure
from ..frame.reading import Line
from ..frame.style import SYMBOLS, in_thousandths, legend_below, letter, name_overlaps
from .three_panels import (
    BRANCHES,
    OVERLAPS,
    draw_baseline,
    experiment_winner,
    overlap_lines,
    sigma,
    three_panel_study,
)

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study


def studies(quality: str) -> dict[str, Study]:
    mixed = {"kind": "mixed", "nodes": 2**16 if quality == "full" else 2**13}
    scenario = {"omega": 0.3, "student_rank": 2}
    return {
        "rank-two": three_panel_study(
            "rank-two student", quality, scenario, reached=False, mixed=mixed
        )
    }


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["rank-two"]
    figure, axes = panels(1, 3, 2.9)
    loss, overlaps, error = axes[0]
    for axis, name in ((loss, "train_loss"), (error, "test_error")):
        _draw_branches(axis, dataset, name)
        in_thousandths(axis.yaxis)
    loss.set_ylabel(r"training loss $\epsilon_t$ ($10^{-3}$)")
    error.set_ylabel(SYMBOLS["test_error"] + r" ($10^{-3}$)")
    draw_baseline(error, dataset)
    _draw_overlaps(overlaps, dataset)
    for axis in axes[0]:
        axis.set_xlabel(SYMBOLS["alpha"])
    letter(axes)
    legend_below(figure, axes)
    return figure


def _mixed(dataset: xarray.Dataset, name: str) -> Line:
    exists = dataset["mixed_outcome"].isin(reading.USABLE).values
    value = np.where(exists, dataset[f"mixed_{name}"].values, np.nan)
    return Line(dataset["alpha"].values, value, dataset[f"mixed_{name}_error"].values)


def _draw_branches(axis: Axes, dataset: xarray.Dataset, name: str) -> None:
    """The fixed points with one mechanism as dashed lines, the one with both as a full one."""
    for branch in BRANCHES:
        look: dict[str, Any] = {"ls": "--", "lw": 1.0}
        curve(
            axis, *reading.theory(dataset, name, branch), COLOURS[branch], f"{branch} only", **look
        )
        measured = reading.experiment(dataset, name, branch)
        points(axis, *measured, COLOURS[branch], f"training, {branch} start", fmt=MARKERS[branch])
    curve(axis, *_mixed(dataset, name), COLOURS["mixed"], "both, one per column")


def _draw_overlaps(axis: Axes, dataset: xarray.Dataset) -> None:
    """θ/σ² and m of the fixed point with both, and of the lower of the two minima that training
    finds."""
    found = experiment_winner(dataset)
    for name, owner in OVERLAPS.items():
        unit = 1 / sigma(dataset) ** 2 if name == "theta" else 1.0
        curve(axis, *reading.scaled(_mixed(dataset, name), unit), COLOURS[owner])
        points(
            axis,
            *found.of(overlap_lines(dataset, name, reading.experiment)),
            COLOURS[owner],
            fmt=MARKERS[owner],
        )
    name_overlaps(axis)


FIGURE = PaperFigure(
    name="rank-two",
    title="A student of rank two",
    caption=(
        "A student with two columns of weights and a teacher with one, ω = 0.3. The paper has the experiment; the "
        "theory is new here. Besides the fixed points that have one mechanism (dashed) there is one that has both, "
        "meaning in one column and position in the other (full line). It has the lowest training loss (a); below α "
        "≈ 0.55 its θ vanishes and it is the positional one, above, θ grows continuously (b): no jump as at rank "
        "one. Training (d = 1000) ends there from both starts once α is large enough. (c) Test errors."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 95, "full": 1200},
)
