"""The phase diagram as a picture: which mechanism has the lower training loss, and how sure that
is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, STYLE
from ..frame.style import diverging

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_phase_diagram(dataset: xarray.Dataset, path: str | Path) -> None:
    """Draw the dataset of a `dotphase.studies.phase_diagram` study and save it at `path`.

    Colour is ε_t(semantic) − ε_t(positional): blue where the semantic branch is lower. Lines are
    α_c and α_l with error bars. With a mixed branch, colour is the mechanism that wins, and the line
    is where the positional branch becomes unstable. Points that are undecided or not converged, at
    which the winner breaks replica symmetry, or at which one branch does not exist, are marked;
    where it is weakly broken, the size of the mark is Δ/q.
    """
    from matplotlib import pyplot

    with pyplot.rc_context(STYLE):
        figure = phase_diagram_figure(dataset)
        figure.savefig(path)
        pyplot.close(figure)


def phase_diagram_figure(dataset: xarray.Dataset, width: float = 7.6) -> Figure:
    """The picture of a phase diagram, as `draw_phase_diagram` saves it."""
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(width, 0.684 * width), layout="constrained")
    mixed = "mixed" in dataset["branch"].values
    (_colour_by_winner if mixed else _colour_by_margin)(figure, axis, dataset)
    _mark(axis, dataset)
    for name, dashes, label in (
        ("train-loss", "-", r"$\alpha_c$: training losses cross"),
        ("linear", "--", r"$\alpha_l$: semantic beats the linear baseline"),
        ("instability", "-", "the positional branch becomes unstable"),
    ):
        _draw_line(axis, dataset, name, dashes, label)
    axis.set(xlabel=r"mixing $\omega$ of the teacher", ylabel=r"samples per dimension $\alpha$")
    axis.set(xlim=_edges(dataset["omega"].values), ylim=_edges(dataset["alpha"].values))
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=3,
            fontsize="small",
            columnspacing=1.2,
        )
    names = "blue semantic, orange positional" + (", pink mixed" if mixed else "")
    figure.suptitle(f"Which mechanism wins: {names}")
    return figure


def _colour_by_margin(figure: Figure, axis: Axes, dataset: xarray.Dataset) -> None:
    from matplotlib.colors import SymLogNorm

    margin = dataset["theory_margin"].transpose("alpha", "omega")
    known = np.abs(margin.values[np.isfinite(margin.values)])
    largest = float(known.max()) if known.size and known.max() > 0 else 1.0
    norm = SymLogNorm(linthresh=largest / 30, vmin=-largest, vmax=largest)
    x, y = dataset["omega"].values, dataset["alpha"].values
    image = axis.pcolormesh(x, y, margin.values, cmap=diverging(), norm=norm, shading="nearest")
    bar = figure.colorbar(image, ax=axis, pad=0.02, ticks=round_ticks(largest))
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{1e3 * value:+.2g}" if value else "0")
    bar.ax.minorticks_off()
    bar.set_label(r"$\epsilon_t$ (semantic) $-\ \epsilon_t$ (positional), in $10^{-3}$")


def _colour_by_winner(figure: Figure, axis: Axes, dataset: xarray.Dataset) -> None:
    from matplotlib.colors import to_rgba

    winner = dataset["theory_winner"].transpose("alpha", "omega").values.astype(str)
    image = np.ones((*winner.shape, 4))
    for name in ("semantic", "positional", "mixed", "uninformed"):
        image[winner == name] = to_rgba(COLOURS.get(name, COLOURS["neutral"]), 0.75)
    axis.pcolormesh(dataset["omega"].values, dataset["alpha"].values, image, shading="nearest")


def round_ticks(largest: float) -> list[float]:
    """Zero and round numbers on both sides, thirds of a decade apart."""
    decade = 10.0 ** np.floor(np.log10(largest))
    sizes = [
        step * unit
        for unit in (decade / 10, decade)
        for step in (1, 3)
        if largest / 40 < step * unit <= largest
    ]
    return [-size for size in sizes[::-1]] + [0.0] + sizes


def _edges(places: np.ndarray) -> tuple[float, float]:
    if len(places) == 1:
        return places[0] - 0.5, places[0] + 0.5
    return places[0] - (places[1] - places[0]) / 2, places[-1] + (places[-1] - places[-2]) / 2


def _draw_line(axis: Axes, dataset: xarray.Dataset, name: str, dashes: str, label: str) -> None:
    if "lines_location" not in dataset:
        return
    if name not in dataset["transition"].values:
        return
    line = dataset.sel(transition=name)
    x, y, error = (
        line["lines_omega"].values,
        line["lines_location"].values,
        line["lines_location_error"].values,
    )
    found = np.isfinite(y) & np.isfinite(error)
    if found.any():
        colour = "#111111"
        axis.errorbar(
            x[found],
            y[found],
            error[found],
            ls=dashes,
            color=colour,
            lw=1.6,
            capsize=2,
            label=label,
        )


def _mark(axis: Axes, dataset: xarray.Dataset) -> None:
    """A mark for every point with a caveat; the legend explains the marks that occur."""
    outcome, grey = dataset["theory_outcome"], COLOURS["neutral"]
    hollow = {"facecolors": "none", "edgecolors": grey}
    marks: list[tuple[str, np.ndarray, dict[str, Any]]] = [
        (
            "undecided (within two errors)",
            _where(dataset["theory_winner"] == "undecided"),
            {"marker": "o", **hollow},
        ),
        (
            "not converged",
            _where((outcome == "stalled").any("branch")),
            {"marker": "x", "color": grey},
        ),
        ("replica symmetry broken", _where(broken(dataset)), {"marker": "^", **hollow}),
    ]
    if "mixed" in dataset["branch"].values:
        saddles = _where(dataset["theory_winner"] == "unknown")
        marks.append(("no minimum found", saddles, {"marker": "x", "color": grey}))
    else:
        marks.extend(_missing_branches(outcome))
    x, y = np.meshgrid(dataset["omega"].values, dataset["alpha"].values)
    for label, where, look in marks:
        if where.any():
            axis.scatter(x[where], y[where], s=26, linewidths=1.1, label=label, **look)
    ratio = _of_winner(dataset, dataset["theory_breaking"]).transpose("alpha", "omega").values
    weak = (np.nan_to_num(ratio) > 0) & ~_where(broken(dataset))
    if weak.any():
        largest = ratio[weak].max()
        label = rf"weakly broken ($\Delta/q$ up to {largest:.2g})"
        axis.scatter(x[weak], y[weak], s=14 * ratio[weak] / largest, color=grey, lw=0, label=label)


def _missing_branches(outcome: xarray.DataArray) -> list[tuple[str, np.ndarray, dict[str, Any]]]:
    marks: list[tuple[str, np.ndarray, dict[str, Any]]] = []
    for branch, sign in (("semantic", "_"), ("positional", "|")):
        gone = _where((outcome == "collapsed").sel(branch=branch))
        look = {"marker": sign, "color": COLOURS[branch], "alpha": 0.6}
        marks.append((f"no {branch} branch", gone, look))
    return marks


def _where(mask: xarray.DataArray) -> np.ndarray:
    return mask.transpose("alpha", "omega").values.astype(bool)


def broken(dataset: xarray.Dataset) -> xarray.DataArray:
    """Whether the branch of lower training loss breaks replica symmetry, and not just weakly
    (`Breaking.verdict`)."""
    return _of_winner(dataset, dataset["theory_symmetry"].str.startswith("broken"))


def _of_winner(dataset: xarray.Dataset, values: xarray.DataArray) -> xarray.DataArray:
    """Those of the branch of lowest training loss."""
    return values.isel(branch=dataset["theory_train_loss"].fillna(np.inf).argmin("branch"))
