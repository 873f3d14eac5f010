"""The one style all figures share: colours that mean something, and quiet axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap

COLOURS = {"semantic": "#0072B2", "positional": "#D55E00", "neutral": "#555555"}

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


def diverging() -> LinearSegmentedColormap:
    """From the semantic colour (negative: semantic wins) over white to the positional one."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mechanisms", [COLOURS["semantic"], "#FFFFFF", COLOURS["positional"]])
