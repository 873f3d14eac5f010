"""Three students of the catalogue with the paper's teacher: theory and training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, curve, panels, points
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure
from ..frame.style import SYMBOLS, legend_below, letter
from ..paper.three_panels import BRANCHES, followed

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
    along = followed(2**15 if full else 2**13)
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
    for (above, below), name in zip(axes.T, STUDENTS, strict=True):
        dataset = datasets[f"attentions-{name}"]
        _draw_difference(above, dataset)
        _draw_errors(below, dataset)
        below.set_xlabel(SYMBOLS["alpha"])
    axes[0, 0].set_ylabel(r"$\epsilon_t^{\rm sem}/\epsilon_t^{\rm pos} - 1$ [%]")
    axes[1, 0].set_ylabel(r"test error $\epsilon_g/\epsilon_{\rm lin}$")
    letter(axes)
    for column, (_, title) in enumerate(STUDENTS.values()):
        axes[0, column].set_title(title)
    legend_below(figure, axes)
    return figure


def _draw_difference(axis: Axes, dataset: Any) -> None:
    """Of the training losses, where the semantic branch exists: below zero it wins."""
    difference = reading.margin(dataset, fallen=True)
    exists = np.isfinite(reading.theory(dataset, "train_loss", "semantic").value)
    unit = reading.theory_or_fallen(dataset, "train_loss", "positional").value
    in_percent = lambda line: (line.x, 100 * line.value / unit, 100 * line.error / unit)
    grey = COLOURS["neutral"]
    curve(axis, *in_percent(reading.only(difference, exists)), grey, "theory, difference")
    seen = reading.scaled(reading.paired(dataset, relative=True), 100)
    points(axis, *seen, grey, "training, difference", fmt="D")
    axis.axhline(0, color="#BBBBBB", lw=0.7, zorder=0)


def _draw_errors(axis: Axes, dataset: Any) -> None:
    """Test errors in units of the linear baseline's."""
    unit = 1 / float(np.ravel(dataset["baseline_test_error"].values)[0])
    in_units = lambda line: reading.scaled(line, unit)
    for branch in BRANCHES:
        line = reading.theory(dataset, "test_error", branch)
        seen = reading.experiment(dataset, "test_error", branch)
        curve(axis, *in_units(line), COLOURS[branch], f"{branch} minimum")
        label = f"training, {branch} start"
        points(axis, *in_units(seen), COLOURS[branch], label, fmt=MARKERS[branch])
    fallen = in_units(reading.theory_or_fallen(dataset, "test_error", "positional"))
    label = "uninformed, where there is no positional one"
    curve(axis, *fallen, COLOURS["uninformed"], label, zorder=0)


FIGURE = PaperFigure(
    name="attentions",
    title="Other attentions",
    caption=(
        "Three students of the catalogue learn from the paper's teacher, ω = 0.3: softmax that may look nowhere, "
        "softmax that looks back only, and attention by nearness. Above: training loss of the semantic minimum "
        "relative to that of the positional one, less one; below zero the semantic one wins. Below: test errors in "
        "units of the linear positional baseline's. Lines: theory of the minima that training reaches; points: "
        "training from both starts."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 60, "full": 900},
    new=True,
)
