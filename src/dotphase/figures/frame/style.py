"""The one style all figures share: colours that mean something, quiet axes, sizes of a printed
page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

PAGE: Any = STYLE | {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7,
    "figure.titlesize": 9,
    "lines.linewidth": 1.3,
    "savefig.dpi": 220,
    "pdf.fonttype": 42,
    "axes.formatter.use_mathtext": True,
}
VARIANCE = 0.25  # σ² of the paper's tokens, the unit of θ
SYMBOLS = {
    "alpha": r"samples per dimension $\alpha$",
    "omega": r"mixing $\omega$ of the teacher",
    "difference": r"$\epsilon_t^{\rm sem} - \epsilon_t^{\rm pos}$",
    "test_error": r"test error $\epsilon_g$",
    "theta": r"$\theta/\sigma^2$",
    "m": r"$m$",
}


@contextmanager
def on_the_page(latex: bool = False) -> Iterator[None]:
    """Draw and save in this context: font sizes of a printed page, with LaTeX on request."""
    from matplotlib import rc_context

    with rc_context(
        PAGE | {"text.usetex": latex, "font.family": "serif" if latex else "sans-serif"}
    ):
        yield


def upright(axis: Axes, where: float, error: float, label: str, dashes: str = "-") -> None:
    """A transition as a vertical line with a band of one standard error, if there is one."""
    if np.isfinite(where):
        axis.axvline(where, color=COLOURS["neutral"], lw=0.9, ls=dashes, label=label, zorder=0)
        axis.axvspan(
            where - error, where + error, color=COLOURS["neutral"], alpha=0.25, lw=0, zorder=0
        )


def letter(axes: Any) -> None:
    """(a), (b), … at the upper left of every panel."""
    for k, axis in enumerate(np.ravel(axes)):
        axis.set_title(f"({chr(ord('a') + k)})", loc="left", fontweight="bold")


def legend_below(figure: Figure, axes: Any) -> None:
    """One legend for all panels, below them, in two rows if it is long; labels that occur several
    times once."""
    found: dict[str, Any] = {}
    for axis in np.ravel(axes):
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    columns = len(found) if len(found) < 6 else (len(found) + 1) // 2
    options: dict[str, Any] = {"handlelength": 1.5, "columnspacing": 1.2, "handletextpad": 0.5}
    figure.legend(found.values(), found, loc="outside lower center", ncols=columns, **options)


def name_overlaps(axis: Axes) -> None:
    """Which colour is which overlap, inside the panel."""
    for place, (name, owner) in zip(
        (0.96, 0.88), (("theta", "semantic"), ("m", "positional")), strict=True
    ):
        look: dict[str, Any] = {"va": "top", "transform": axis.transAxes}
        axis.text(0.05, place, SYMBOLS[name], color=COLOURS[owner], **look)
    axis.set_ylabel("overlaps of the winner")


def in_thousandths(axis: Any) -> None:
    """Ticks in units of 10⁻³, which the label must mention."""
    axis.set_major_formatter(lambda value, _: f"{1e3 * value:.4g}")


def write(figure: Figure, stem: Path) -> None:
    """Save as PDF, for print, and PNG, for the screen."""
    figure.savefig(stem.with_name(f"{stem.name}.pdf"), metadata={"CreationDate": None})
    figure.savefig(stem.with_name(f"{stem.name}.png"))


def diverging() -> LinearSegmentedColormap:
    """From the semantic colour (negative: semantic wins) over white to the positional one."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "mechanisms", [COLOURS["semantic"], "#FFFFFF", COLOURS["positional"]]
    )


def shades(mechanism: str) -> LinearSegmentedColormap:
    """From white to the colour of a mechanism."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(mechanism, ["#FFFFFF", COLOURS[mechanism]])
