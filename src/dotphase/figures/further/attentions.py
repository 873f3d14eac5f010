"""Three students of the catalogue with the paper's teacher: theory and training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import BASELINE, COLOURS, MARKERS, curve, panels, points
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure
from ..frame.style import SYMBOLS, in_thousandths, legend_below, letter
from ..paper.three_panels import BRANCHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

STUDENTS = {  # names in the catalogue, and titles
    "sink": ({}, "softmax with a sink"),
    "causal": ({}, "causal softmax"),
    "kernel": ({"width": 1.0}, "Gaussian kernel, $w = 1$"),
}


def studies(quality: str) -> dict[str, Study]:
    return {f"attentions-{name}": _study(name, quality) for name in STUDENTS}


def _study(name: str, quality: str) -> Study:
    from ...scenario.attentions.catalogue import CATALOGUE
    from ...scenario.files import scenario_to_tables
    from ...scenario.presets import paper
    from ...studies.study.study import study_from

    full = quality == "full"
    student = CATALOGUE[name].build(**STUDENTS[name][0])
    along = {
        "kind": "theory",
        "branches": BRANCHES,
        "nodes": 2**15 if full else 2**13,
        "follow": "alpha",
    }
    compute: dict[str, Any] = {
        "theory": along | {"minimum": "reached"},
        "baseline": {"kind": "baseline"},
        "experiment": {
            "kind": "training",
            "at": {"alpha": {"linspace": [0.5, 2.5, 9 if full else 5]}},
            "d": 1000 if full else 400,
            "starts": BRANCHES,
            "seeds": 12 if full else 4,
        },
    }
    tables = {
        "name": f"a student of the catalogue: {name}",
        "scenario": scenario_to_tables(paper(omega=0.3).vary(student=student)),
        "axes": {"alpha": {"linspace": [0.1, 2.5, 49 if full else 17]}},
        "compute": compute,
    }
    return study_from(tables)


def draw(datasets: Datasets) -> Figure:
    figure, axes = panels(2, 3, 4.2, sharex=True)
    for column, name in enumerate(STUDENTS):
        dataset = datasets[f"attentions-{name}"]
        for axis, quantity in zip(axes[:, column], ("train_loss", "test_error"), strict=True):
            _draw_branches(axis, dataset, quantity)
            in_thousandths(axis.yaxis)
        linear = float(np.ravel(dataset["baseline_test_error"].values)[0])
        axes[1, column].axhline(
            linear, color=BASELINE, lw=1.0, ls="-.", zorder=0, label="linear baseline"
        )
        axes[1, column].set_xlabel(SYMBOLS["alpha"])
    axes[0, 0].set_ylabel(r"training loss $\epsilon_t$ ($10^{-3}$)")
    axes[1, 0].set_ylabel(SYMBOLS["test_error"] + r" ($10^{-3}$)")
    letter(axes)
    for column, (_, title) in enumerate(STUDENTS.values()):
        axes[0, column].set_title(title)
    legend_below(figure, axes)
    return figure


def _draw_branches(axis: Axes, dataset: Any, quantity: str) -> None:
    for branch in BRANCHES:
        line, seen = (
            reading.theory(dataset, quantity, branch),
            reading.experiment(dataset, quantity, branch),
        )
        curve(axis, *line, COLOURS[branch], f"{branch} minimum")
        points(axis, *seen, COLOURS[branch], f"training, {branch} start", fmt=MARKERS[branch])
    fallen = reading.theory_or_fallen(dataset, quantity, "positional")
    curve(
        axis,
        *fallen,
        COLOURS["uninformed"],
        "uninformed, where there is no positional one",
        zorder=0,
    )


FIGURE = PaperFigure(
    name="attentions",
    title="Other attentions",
    caption=(
        "Three students of the catalogue learn from the paper's teacher, ω = 0.3: softmax that may look nowhere, "
        "softmax that looks back only, and attention by nearness. Training loss above, test error below; lines: "
        "theory of the minima that training reaches, points: training from both starts."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 60, "full": 900},
    new=True,
)
