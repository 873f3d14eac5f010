"""The common style of all pictures: one colour per mechanism, theory as lines, experiments as
points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Distinct for colour-blind readers too (Okabe and Ito), and the same in every figure.
COLOURS = {
    "semantic": "#0072B2",
    "positional": "#D55E00",
    "mixed": "#CC79A7",
    "uninformed": "#999999",
    "neutral": "#555555",
}
BASELINE = "#009E73"  # the linear positional baseline
MARKERS = {"semantic": "o", "positional": "s", "mixed": "D", "uninformed": "v"}
DASHES = ("-", "--", ":")
WIDTH = 6.75  # inches: the text of a page with one column

STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "savefig.dpi": 180,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def panels(
    rows: int, columns: int, height: float, width: float = WIDTH, **options: Any
) -> tuple[Figure, np.ndarray]:
    """An empty figure with its axes, (rows, columns)."""
    from .picture import Picture

    figure = Picture(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def curve(
    axis: Axes, x: Any, y: Any, error: Any, colour: str, label: str | None = None, **look: Any
) -> None:
    """A line of the theory with a band of one standard error; gaps where there is no value."""
    x, y, error = (np.asarray(a, float) for a in (x, y, error))
    error = np.where(np.isfinite(error), error, 0.0)
    axis.plot(x, y, color=colour, label=label, **look)
    axis.fill_between(x, y - error, y + error, color=colour, alpha=0.25, lw=0)


def points(
    axis: Axes, x: Any, mean: Any, error: Any, colour: str, label: str | None = None, **look: Any
) -> None:
    """Means over seeds with bars of one standard error; without a bar where there is a single seed."""
    x, mean, error = (np.asarray(a, float) for a in (x, mean, error))
    known = np.isfinite(mean)
    bar = np.where(np.isfinite(error), error, 0.0)[known]
    look = {
        "fmt": "o",
        "ms": 3.6,
        "mfc": "white",
        "capsize": 2.2,
        "elinewidth": 0.9,
        "mew": 0.9,
    } | look
    axis.errorbar(x[known], mean[known], bar, color=colour, label=label, **look)
