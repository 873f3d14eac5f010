"""Surgery on the counting task: remove the restriction, add noise, continue training, and
compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, WIDTH
from ...results.statistics import seed_mean
from ..frame.figure import Datasets, PaperFigure
from .counting_maps import MECHANISMS, SENTENCES, counting_study, draw_map

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


def draw(datasets: Datasets) -> Figure:
    from matplotlib.figure import Figure

    dataset = datasets["counting"]
    figure = Figure(figsize=(WIDTH, 4.3), layout="constrained")
    sides: Any = figure.subfigures(1, 2, width_ratios=(1.75, 1))
    left, right = sides
    maps = left.subplots(len(MECHANISMS), 2)
    _draw_maps(left, maps, dataset)
    accuracy, distance = right.subplots(2, 1)
    _draw_accuracy(accuracy, dataset)
    _draw_distance(distance, dataset)
    return figure


def _draw_maps(figure: SubFigure, axes: np.ndarray, dataset: xarray.Dataset) -> None:
    at = dataset.isel(seed=0).sel(sentence=SENTENCES[0])
    stages = {"before": at["counting_attention"], "after": at["counting_attention_after"]}
    brightest = max(float(stage.max()) for stage in stages.values())
    for row, mechanism in zip(axes, MECHANISMS, strict=True):
        for axis, (stage, maps) in zip(row, stages.items(), strict=True):
            draw_map(axis, maps.sel(mechanism=mechanism).values, SENTENCES[0], mechanism, brightest)
            axis.set_title(f"{mechanism}, {stage} surgery")
        figure.colorbar(
            row[0].images[0], ax=list(row), label="attention weight", shrink=0.8, pad=0.01
        )


def _draw_accuracy(axis: Axes, dataset: xarray.Dataset) -> None:
    stages = ("accuracy_before", "accuracy_operated", "accuracy_after")
    for k, mechanism in enumerate(MECHANISMS):
        at = dataset.sel(mechanism=mechanism)
        means = [seed_mean(1 - at[f"counting_{stage}"].values) for stage in stages]
        mean, error = np.array(means, float).T
        error = np.where(np.isfinite(error), error, 0)
        axis.errorbar(np.arange(3) + 0.08 * (k - 0.5), 100 * mean, 100 * error, fmt="o-", ms=4, capsize=3,
                      color=COLOURS[mechanism], label=mechanism)  # fmt: skip
    axis.set_xticks(range(3), ["trained", "operated", "after"])
    axis.set(ylabel="wrong counts, per cent", xlim=(-0.3, 2.3))
    axis.set_ylim(bottom=0)
    axis.legend()


def _draw_distance(axis: Axes, dataset: xarray.Dataset) -> None:
    for side, mechanism in zip((-1, 1), MECHANISMS, strict=True):
        at, colour = dataset.sel(mechanism=mechanism), COLOURS[mechanism]
        for place, name in enumerate(("distance_travelled", "distance_moved")):
            mean, error = map(float, seed_mean(at[f"counting_{name}"].values))
            x, bar = place + 0.08 * side, error if np.isfinite(error) else 0.0
            axis.errorbar(x, mean, bar, fmt="s", ms=5, capsize=3, color=colour)
            look: dict[str, Any] = {
                "ha": "left" if side > 0 else "right",
                "va": "center",
                "fontsize": 7,
            }
            axis.annotate(
                f"{mean:.3g}", (x, mean), xytext=(9 * side, 0), textcoords="offset points", **look
            )
    axis.set_xticks((0, 1), ["in training", "after surgery"])
    axis.set(yscale="log", ylabel="distance of the weights", xlim=(-0.6, 1.6))
    low, high = axis.get_ylim()
    axis.set_ylim(low / 2, 2 * high)


FIGURE = PaperFigure(
    name="surgery",
    title="Surgery on the counting task",
    caption=(
        "Each trained model is written as an unrestricted one, noise of 10⁻³ is added to each weight, and training "
        "continues with plain SGD without the restriction. Left: attention on one sentence before and after (first "
        "seed). Right: share of wrong counts of the trained model, of the operated one (with noise) and of the final "
        "one; and the distance of the weights in training and after surgery. Means over seeds with one standard "
        "error. Both keep their mechanism: both are minima of the same loss."
    ),
    studies=counting_study,
    draw=draw,
    core_seconds={"quick": 2, "full": 2},  # its store is that of `mechanisms`
)
