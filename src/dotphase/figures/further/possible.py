"""What is possible, what the lowest minimum gives, what training reaches, and what one pass finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import BASELINE, COLOURS, MARKERS, curve, panels, points
from ...results.statistics import seed_mean
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import SYMBOLS, in_thousandths, upright
from ..paper.three_panels import BRANCHES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

BEST = "#000000"
ONE_PASS = "#6A3D9A"


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    inside = [0.1, 0.1667, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.48, 0.52, 0.6]
    theory: dict[str, Any] = {
        "kind": "theory",
        "branches": BRANCHES,
        "nodes": 2**15 if full else 2**13,
    }
    theory["at"] = {"alpha": {"logspace": [0.4, 4.0, 17]}}
    few = {"alpha": [0.3, 0.35, 0.4, 0.45, 0.6]}
    compute: dict[str, Any] = {
        "best": {"kind": "bayes", "nodes": 2**17 if full else 2**15, "at": {"alpha": inside}},
        "passed": {
            "kind": "bayes",
            "d": 2000 if full else 500,
            "seeds": 16 if full else 8,
            "at": few,
        },
        "lowest": theory,
        "linear": {"kind": "baseline"},
        "trained": {
            "kind": "training",
            "d": 1000 if full else 300,
            "seeds": 16 if full else 6,
            "at": {"alpha": [0.5, 1.0, 2.0, 4.0]},
        },
        "pass": {
            "kind": "dynamics",
            "noise": 0.1,
            "spread_of": 1000,
            "rate": 30.0,
            "ridge": 0.0,
            "until": 400.0,
        }
        | {"early": 0.1, "points": 121, "at": {"alpha": [2.0]}},
    }
    compute["reached"] = theory | {"minimum": "reached"}
    return {"possible": make_study("what is possible", {"omega": 0.3}, {"alpha": [2.0]}, **compute)}


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["possible"]
    figure, axes = panels(1, 1, 3.6)
    axis = axes[0, 0]
    best = dataset["best_test_error"]
    curve(
        axis,
        best[reading.dim(best, "alpha")].values,
        best.values,
        dataset["best_test_error_error"].values,
        BEST,
    )
    _draw_passed(axis, dataset)
    for branch in BRANCHES:
        line = reading.theory(dataset, "test_error", branch, label="lowest")
        curve(axis, *line, COLOURS[branch])
        line = reading.theory(dataset, "test_error", branch, label="reached")
        curve(axis, *line, COLOURS[branch], ls="--")
        seen = reading.experiment(dataset, "test_error", branch, label="trained")
        points(axis, *seen, COLOURS[branch], f"training, {branch} start", fmt=MARKERS[branch])
        _name(axis, line.x[-1], line.value[-1], f"{branch} minimum", COLOURS[branch], (6, 1))
    _draw_pass(axis, dataset)
    linear = float(np.ravel(dataset["linear_test_error"].values)[0])
    axis.axhline(linear, color=BASELINE, ls=":")
    threshold = float(np.ravel(dataset["best_threshold"].values)[0])
    upright(axis, threshold, 0.0, "", dashes=":")
    axis.set(xscale="log", xlabel=SYMBOLS["alpha"], ylabel=SYMBOLS["test_error"] + r" $[10^{-3}]$")
    axis.set_ylim(bottom=0)
    in_thousandths(axis.yaxis)
    _name(axis, axis.get_xlim()[1], linear, "linear baseline", BASELINE, (0, 5), ha="right")
    possible = "from here on better\nthan linear is possible"
    _name(axis, threshold, 1.15 * linear, possible, BEST, (4, 1))
    for look, text in (("-", "lowest minimum"), ("--", "minimum that training reaches")):
        axis.plot([], [], ls=look, color=COLOURS["neutral"], label=text)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _name(
    axis: Axes,
    x: float,
    y: float,
    text: str,
    colour: str,
    shift: tuple[float, float] = (5, 0),
    ha: str = "left",
) -> None:
    """The name of a curve, next to a point of it."""
    if np.isfinite(y):
        look: dict[str, Any] = {"ha": ha, "va": "bottom" if shift[1] else "center", "color": colour}
        axis.annotate(text, (x, y), shift, textcoords="offset points", fontsize=7.5, **look)


def _draw_passed(axis: Axes, dataset: xarray.Dataset) -> None:
    values, excess = dataset["passed_test_error"], dataset["passed_teacher_excess"]
    alpha, seed = reading.dim(values, "alpha"), reading.dim(values, "seed")
    mean, error = seed_mean(*(part.transpose(alpha, seed).values for part in (values, excess)))
    points(
        axis,
        values[alpha].values,
        mean,
        error,
        BEST,
        "message passing that knows the model",
        fmt="D",
        ms=3,
        clip_on=False,
    )
    _name(axis, values[alpha].values[-1], mean[-1], "best possible", BEST, (5, 4))


def _draw_pass(axis: Axes, dataset: xarray.Dataset) -> None:
    found = dataset["pass_test_error"]
    time = reading.dim(found, "time")
    at = found[time].values > 0
    error = np.ravel(dataset["pass_test_error_error"].values)[at]
    x, y = found[time].values[at], np.ravel(found.values)[at]
    curve(axis, x, y, error, ONE_PASS)
    _name(axis, x[-1], y[-1], "one pass", ONE_PASS, (0, 5), ha="right")


FIGURE = PaperFigure(
    name="possible",
    title="What is possible, what is lowest, what is reached",
    caption=(
        "Test error against samples per dimension at ω = 0.3. Black: the best any method can do, which leaves the "
        "linear baseline (dotted) at the weak-recovery threshold α = 1/6 and knows the teacher completely from α = 1/2 "
        "on; diamonds: message passing that knows the model. Blue and orange: the semantic and the positional minimum "
        "of the training loss, theory (lowest: full, reached: dashed where known) and training. Purple: one pass of "
        "stochastic gradient descent (η = 30, no ridge) from small random weights, α being the samples seen so far."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 57, "full": 1200},
    new=True,
)
