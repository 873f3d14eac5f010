"""Learning curves: gradient descent in time, exact as d → ∞, with training and the static theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...plotting.style import COLOURS, MARKERS, curve, panels, points
from ...results.statistics import seed_mean
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.reading import dim
from ..frame.style import SYMBOLS, VARIANCE, in_thousandths, legend_below, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

STARTS = ("semantic", "positional")
OVERLAP = {"semantic": "theta", "positional": "m"}


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    run: dict[str, Any] = {"kind": "learning_curve", "time": 750.0, "points": 150}
    run |= {"d": 1000 if full else 300, "seeds": 8 if full else 4}
    run |= {"paths": 8192 if full else 2048, "limit": True}
    curves = {start: run | {"start": start} for start in STARTS}
    scenario = {"alpha": 1.17, "omega": 0.3}
    axes = {"ridge": [0.001, 0.01]}
    return {"learning-curves": make_study("learning curves", scenario, axes, **curves)}


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["learning-curves"]
    figure, axes = panels(2, 3, 5.2)
    for row, ridge in zip(axes, dataset["ridge"].values, strict=True):
        at = dataset.sel(ridge=ridge)
        for start in STARTS:
            _draw_curve(row[0], at, start, "train_loss")
            _draw_curve(row[1], at, start, OVERLAP[start])
            _draw_curve(row[2], at, start, "test_error")
        for axis in (row[0], row[2]):
            in_thousandths(axis.yaxis)
        row[0].set_ylabel(
            rf"$\lambda = {ridge:g}$" + "\n" + r"training loss $\epsilon_t$ ($10^{-3}$)"
        )
        row[1].set_ylabel(r"$m$ (orange), $\theta/\sigma^2$ (blue)")
        row[2].set_ylabel(SYMBOLS["test_error"] + r" ($10^{-3}$)")
        for axis in row:
            axis.set(xlabel=r"time $t = \sum\eta$", xlim=(-15, 765))
            axis.set_ylim(bottom=0)
    letter(axes)
    legend_below(figure, axes)
    return figure


def _draw_curve(axis: Axes, at: xarray.Dataset, start: str, name: str) -> None:
    """The theory as a line, its static limit as a dashed one, training as points."""
    unit, colour = VARIANCE if name == "theta" else 1.0, COLOURS[start]
    value, error = (at[f"{start}_{name}{end}"] / unit for end in ("", "_error"))
    time = at[dim(value, "time")].values
    curve(axis, time, value.values, error.values, colour, f"{start} start")
    static = float(at[f"{start}_{name}_limit"]) / unit
    axis.axhline(static, color=colour, ls=":", lw=1.0, label=f"{start} minimum, reached in the end")
    seen = at[f"{start}_{name}_seen"] / unit
    label = f"training, {start} start"
    if name == "test_error":
        mean, error = seed_mean(seen.values)
        points(axis, time[-1:], [mean], [error], colour, label, fmt=MARKERS[start])
        return
    mean, error = seed_mean(seen.transpose(..., dim(seen, "seed")).values)
    chosen = [0, 2, 4, 8, 16, *range(30, len(time), 20)]
    points(axis, time[chosen], mean[chosen], error[chosen], colour, label, fmt=MARKERS[start])


FIGURE = PaperFigure(
    name="learning-curves",
    title="Gradient descent in time",
    caption=(
        "Loss, overlaps and test error against training time at α = 1.17, ω = 0.3, for two ridges. Lines: the exact "
        "theory of gradient descent as d → ∞; points: training; dotted: the minimum that training reaches in the end. "
        "At λ = 0.01 both starts have nearly arrived at time 750, where the published experiments end. At λ = 0.001 "
        "neither has: their test errors are still below those of the minima. Both starts have their lowest test error "
        "early, before time 50."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 30, "full": 400},
    new=True,
)
