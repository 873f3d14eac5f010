"""Slices: how the transition moves with the teacher's mixing ω, the tokens' deviation σ and the
ridge λ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import BASELINE, COLOURS, DASHES, curve, panels, points
from ..frame import reading
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import SYMBOLS, legend_below, letter
from .three_panels import BRANCHES, experiment_winner, followed, theory_winner

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

SLICES = {"omega": [0.2, 0.3, 0.7], "sigma": [0.3, 0.5, 0.7], "lambda": [0.1, 0.01, 0.001]}
LETTERS = {"omega": r"\omega", "sigma": r"\sigma", "lambda": r"\lambda"}
TITLES = {"omega": "mixing of the teacher", "sigma": "length of tokens", "lambda": "ridge"}


def studies(quality: str) -> dict[str, Study]:
    return {f"slices-{name}": _study(name, quality) for name in SLICES}


def _study(name: str, quality: str) -> Study:
    full = quality == "full"
    axes = {name: SLICES[name], "alpha": {"linspace": [0.1, 2.5, 49 if full else 25]}}
    compute: dict[str, Any] = {
        "theory": followed(2**15 if full else 2**13),
        "baseline": {"kind": "baseline"},
        "experiment": {
            "kind": "training",
            "at": {"alpha": {"linspace": [0.25, 2.5, 10 if full else 4]}},
            "d": 1000 if full else 500,
            "starts": BRANCHES,
            "seeds": 12 if full else 4,
        },
    }
    return make_study(f"slices in {name}", {"omega": 0.3}, axes, **compute)


def draw(datasets: Datasets) -> Figure:
    figure, axes = panels(2, 3, 4.5, sharex=True, sharey="row")
    for column, name in enumerate(SLICES):
        dataset = datasets[f"slices-{name}"]
        for value, dashes in zip(SLICES[name], DASHES, strict=True):
            at = dataset.sel({name: value})
            _draw_difference(axes[0, column], at, dashes)
            _draw_error(axes[1, column], at, dashes)
        _explain(axes[1, column], name)
        axes[0, column].axhline(0, color="#BBBBBB", lw=0.7, zorder=0)
        axes[1, column].axhline(
            1, color=BASELINE, lw=1.0, ls="-.", zorder=0, label="linear baseline"
        )
        axes[1, column].set(yscale="log", ylim=(0.1, 30))
        _plain_ticks(axes[1, column])
        axes[1, column].set_xlabel(SYMBOLS["alpha"])
    axes[0, 0].set_ylabel(r"$\epsilon_t^{\rm sem}/\epsilon_t^{\rm pos} - 1$")
    axes[1, 0].set_ylabel(r"test error of the winner, $\epsilon_g/\epsilon_{\rm lin}$")
    where: dict[str, Any] = {"xycoords": "axes fraction", "fontsize": 7}
    axes[0, 0].annotate("semantic wins", (0.03, 0.04), color=COLOURS["semantic"], **where)
    axes[0, 0].annotate("positional wins", (0.03, 0.92), color=COLOURS["positional"], **where)
    letter(axes)
    for axis, title in zip(axes[0], TITLES.values(), strict=True):
        axis.set_title(title)
    legend_below(figure, axes)
    return figure


def _explain(axis: Axes, name: str) -> None:
    """Which dashes and marks are which value, at the top of a lower panel."""
    handles = [
        axis.plot(
            [], [], color=COLOURS["neutral"], ls=dashes, marker=_marker(dashes), mfc="white", ms=3.6
        )[0]
        for dashes in DASHES
    ]
    labels = [f"${LETTERS[name]} = {value:g}$" for value in SLICES[name]]
    axis.legend(handles, labels, handlelength=2.4, labelspacing=0.25, loc="upper right")


def _draw_difference(axis: Axes, at: xarray.Dataset, dashes: str) -> None:
    colour, margin = COLOURS["neutral"], reading.margin(at)
    unit = reading.theory(at, "train_loss", "positional").value
    curve(axis, margin.x, margin.value / unit, margin.error / unit, colour, ls=dashes)
    points(axis, *reading.paired(at, relative=True), colour, fmt=_marker(dashes))
    axis.margins(x=0.03)


def _draw_error(axis: Axes, at: xarray.Dataset, dashes: str) -> None:
    unit = 1 / float(np.ravel(at["baseline_test_error"].values)[0])
    expected, found = theory_winner(at), experiment_winner(at)
    for k, branch in enumerate(BRANCHES):
        line = reading.scaled(reading.theory(at, "test_error", branch), unit)
        curve(
            axis,
            *reading.only(line, expected.which == k),
            COLOURS[branch],
            f"{branch} wins",
            ls=dashes,
        )
    measured = found.of(
        [reading.scaled(reading.experiment(at, "test_error", branch), unit) for branch in BRANCHES]
    )
    for word in {*found.mechanism}:
        points(
            axis,
            *reading.only(measured, found.mechanism == word),
            COLOURS[word],
            f"training, {word}",
            fmt=_marker(dashes),
        )


def _plain_ticks(axis: Axes) -> None:
    from matplotlib.ticker import NullFormatter

    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks(
        [
            tick
            for tick in (0.2, 0.5, 1, 2, 5, 10, 20)
            if axis.get_ylim()[0] < tick < axis.get_ylim()[1]
        ]
    )
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _marker(dashes: str) -> str:
    """Markers of training go with the dashes of the theory."""
    return {"-": "o", "--": "^", ":": "v"}[dashes]


FIGURE = PaperFigure(
    name="slices",
    title="Slices in ω, σ and λ",
    caption=(
        "One parameter varied at a time around ω = 0.3, σ = 0.5, λ = 0.01. Upper row: training loss of the semantic "
        "minimum relative to that of the positional one, less one (below zero meaning wins); it is drawn where both "
        "branches exist. Lower row: the winner's test error in units of the linear baseline's, blue where the "
        "semantic mechanism wins and orange where the positional one does. Lines: theory; points: training."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 158, "full": 1500},
)
