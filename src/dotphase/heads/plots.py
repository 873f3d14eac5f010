"""Pictures of heads: a map of all of them, and one head in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting.style import COLOURS, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .measure import Heads


def draw_map(heads: Heads) -> Figure:
    """Position and content of every head, layers × heads; a single layer is one row."""
    from matplotlib.colors import LinearSegmentedColormap

    split = [name.split(".") for name in heads.names]
    layers = len({parts[0] for parts in split}) if len(split[0]) > 1 else 1
    figure, axes = panels(1, 2, 1.6 + 0.32 * layers, 7.4)
    for axis, (part, owner) in zip(
        axes[0], (("position", "positional"), ("content", "semantic")), strict=True
    ):
        values = getattr(heads, part).value.reshape(layers, -1)
        shades = LinearSegmentedColormap.from_list(owner, ["#FFFFFF", COLOURS[owner]])
        image = axis.imshow(values, cmap=shades, vmin=0, vmax=1, aspect="auto")
        if values.shape[1] <= 12:
            _write_numbers(axis, values)
        axis.set(xlabel="head", ylabel="layer", title=f"share of {part}")
        axis.set_xticks(range(values.shape[1]))
        axis.set_yticks(range(layers))
        figure.colorbar(image, ax=axis, pad=0.02)
    return figure


def draw_head(heads: Heads, head: int) -> Figure:
    """The fitted P by distance i − j, and the pairs of words with the largest T."""
    figure, (axes,) = panels(1, 2, 3.0, 7.4)
    distance = heads.places[:, 0] - heads.places[:, 1]
    axes[0].plot(
        distance, heads.mean_scores[head], ".", color=COLOURS["positional"], ms=4, alpha=0.5
    )
    steps = np.unique(distance)
    means = [heads.mean_scores[head][distance == step].mean() for step in steps]
    axes[0].plot(steps, means, color=COLOURS["positional"])
    axes[0].set(xlabel="distance i − j of query and key", ylabel="mean score P")
    strongest = heads.strongest(head, 10)[::-1]
    labels = [f"{a} → {b}" for a, b, _ in strongest]
    axes[1].barh(labels, [score for *_, score in strongest], color=COLOURS["semantic"])
    axes[1].set(xlabel="score T of a pair of words")
    verdict = heads.verdicts[head]
    shares = f"position {heads.position[head]}, content {heads.content[head]}"
    figure.suptitle(f"head {heads.names[head]}: {verdict.word}; {shares}", fontsize=10)
    return figure


def _write_numbers(axis: Any, values: np.ndarray) -> None:
    for (k, h), value in np.ndenumerate(values):
        colour = "white" if value > 0.6 else "black"
        axis.text(h, k, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
