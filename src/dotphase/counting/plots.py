"""Pictures: attention maps, learning curves, and the scores of each seed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from ..mechanism.verdict import THRESHOLD
from ..plotting import style
from ..plotting.picture import Picture
from .data import count_letters, spell
from .metrics import Scores
from .runs import Run
from .transformer import Mechanism, Weights, attention, logits

COLOURS = style.COLOURS | {"free": style.COLOURS["neutral"]}
FRAME = "#111111"


class Panel(NamedTuple):
    """One attention map to draw: a title, the model, and the mechanism that gives its colour."""

    title: str
    weights: Weights
    mechanism: Mechanism
    colour: str


def attention_maps(rows: Sequence[Sequence[Panel]], tokens: np.ndarray) -> Figure:
    """The attention of several models to one sequence: letters on the axes, equal letters framed.

    One row of panels per model, for instance before and after surgery. Row i of a panel is the
    attention of position i; the model's count is written at its right, with a cross if it is wrong.
    """
    columns = max(len(row) for row in rows)
    side = 1.0 + 0.26 * len(tokens)
    figure = Picture(figsize=(columns * side + 1.0, len(rows) * (side - 0.1)), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    maps = {
        id(panel): np.asarray(attention(panel.weights, tokens, panel.mechanism))
        for r in rows
        for panel in r
    }
    brightest = max(A.max() for A in maps.values())
    for axes_row, row in zip(grid, rows, strict=True):
        for axes in axes_row[len(row) :]:
            axes.set_axis_off()
        for axes, panel in zip(axes_row, row, strict=False):
            image = _draw_map(axes, panel, maps[id(panel)], tokens, brightest)
        figure.colorbar(image, ax=list(axes_row), label="attention", shrink=0.8)  # pyright: ignore
    return figure


def _draw_map(axes: Axes, panel: Panel, A: np.ndarray, tokens: np.ndarray, brightest: float):
    colours = LinearSegmentedColormap.from_list("", ["white", panel.colour])
    image = axes.imshow(A, cmap=colours, vmin=0, vmax=brightest)
    for i, j in np.argwhere(tokens[:, None] == tokens[None, :]):
        axes.add_patch(
            Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=FRAME, linewidth=1.1)
        )
    places = np.arange(len(tokens))
    axes.set_xticks(places, spell(tokens))
    axes.set_yticks(places, spell(tokens))
    axes.tick_params(length=0)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel("… looks at these letters")
    axes.set_ylabel("this letter …")
    _write_answers(axes, panel, tokens, places)
    return image


def _write_answers(axes, panel, tokens, places):
    answers = np.asarray(logits(panel.weights, tokens, panel.mechanism)).argmax(-1)
    right = answers == count_letters(tokens)
    labels = [
        f"{answer}" if ok else f"{answer} ✗" for answer, ok in zip(answers, right, strict=True)
    ]
    counts = axes.secondary_yaxis("right")
    counts.set_yticks(places, labels)
    counts.tick_params(length=0)
    counts.set_ylabel("count answered")


def learning_curves(runs: Sequence[Run]) -> Figure:
    """Loss and share of wrong counts against epochs, averaged over windows of a twentieth of the
    run: lines are means over seeds, bands reach from the lowest seed to the highest."""
    figure = Picture(figsize=(9, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    for run in runs:
        history, name = run.history, run.experiment.mechanism
        colour = COLOURS[name]
        _draw_curves(left, history.train_loss, colour, f"{name}, training", "--")
        _draw_curves(left, history.validation_loss, colour, f"{name}, validation", "-")
        _draw_curves(right, 1 - np.asarray(history.validation_accuracy), colour, "", "-")
    left.set(title="loss", ylabel="cross-entropy")
    right.set(title="errors on new sequences", ylabel="share of wrong counts")
    for axes in (left, right):
        axes.set(xlabel="epoch", yscale="log")
        axes.grid(alpha=0.25)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_curves(axes: Axes, values: ArrayLike, colour: str, label: str, style: str) -> None:
    seeds = np.asarray(values)
    window = max(seeds.shape[1] // 20, 1)
    means = sliding_window_view(seeds, window, axis=1).mean(-1)
    epochs = np.arange(means.shape[1]) + (window + 1) / 2
    axes.fill_between(epochs, means.min(0), means.max(0), color=colour, alpha=0.2, linewidth=0)
    axes.plot(epochs, means.mean(0), style, color=colour, linewidth=1.6, label=label)


def mechanism_plane(groups: Mapping[str, tuple[str, Sequence[Scores]]]) -> Figure:
    """Every seed by what explains its scores, letters (across) or positions (up).

    `groups` maps a label to a colour and the scores of its seeds. The lines are the threshold of the
    verdict: below both is neither, above both is both.
    """
    figure = Picture(figsize=(4.8, 4.4), layout="constrained")
    axes = figure.subplots()
    for line in (axes.axhline, axes.axvline):
        line(THRESHOLD, color="#AAAAAA", linewidth=1, zorder=0)
    markers = iter("osD^v<>P")
    for label, (colour, scores) in groups.items():
        across, up = ([getattr(s, name) for s in scores] for name in ("content", "position"))
        axes.errorbar(
            across, up, yerr=[e.error for e in up], xerr=[e.error for e in across],
            fmt=next(markers), color=colour, markersize=6, markerfacecolor="none", label=label,
        )  # fmt: skip
    axes.set(xlim=(-0.03, 1.04), ylim=(-0.03, 1.04), aspect="equal")
    axes.set_xlabel("variance of the scores explained by the two letters")
    axes.set_ylabel("… by the two positions")
    axes.text(0.02, 0.9, "positional", color=COLOURS["positional"])
    axes.text(0.72, 0.06, "semantic", color=COLOURS["semantic"], ha="right")
    axes.text(0.9, 0.9, "both", color="#777777", ha="right")
    axes.text(0.02, 0.06, "neither", color="#777777")
    axes.legend(loc="center", fontsize=8, frameon=False)
    return figure
