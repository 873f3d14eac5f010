"""The phase diagram as a picture: which mechanism has the lower training loss, and how sure that
is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.quick import in_style
from ...plotting.style import COLOURS, panels
from ..frame.style import diverging

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_phase_diagram(dataset: xarray.Dataset, path: str | Path, details: bool = False) -> None:
    """Draw the dataset of a `dotphase.studies.phase_diagram` study and save it at `path`.

    Colour is ε_t(semantic) − ε_t(positional): blue where the semantic branch is lower. Lines are
    α_c and α_l with a band of one standard error. With a mixed branch, colour is the mechanism that
    wins, and the line is where the positional branch becomes unstable. Regions are hatched in which
    the winner breaks replica symmetry or a branch does not exist; the legend counts all points with
    a caveat. `details` marks each of them, and the located points of the lines, instead.
    """
    in_style(phase_diagram_figure)(dataset, details=details).savefig(path)


def phase_diagram_figure(
    dataset: xarray.Dataset, width: float = 7.6, details: bool = False
) -> Figure:
    """The picture of a phase diagram, as `draw_phase_diagram` saves it."""
    figure, axes = panels(1, 1, 0.684 * width, width)
    axis = axes[0, 0]
    mixed = "mixed" in dataset["branch"].values
    (_colour_by_winner if mixed else _colour_by_margin)(figure, axis, dataset)
    for name, dashes, label in (
        ("train-loss", "-", r"$\alpha_c$: training losses cross"),
        ("linear", "--", r"$\alpha_l$: semantic beats the linear baseline"),
        ("instability", "-", "the positional branch becomes unstable"),
    ):
        _draw_line(axis, dataset, name, dashes, label, details)
    if details:
        _mark(axis, dataset)
    else:
        _hatch(axis, dataset)
    _name_regions(axis, dataset)
    axis.set(xlabel=r"mixing $\omega$ of the teacher", ylabel=r"samples per dimension $\alpha$")
    axis.set(xlim=_ends(dataset["omega"].values), ylim=_ends(dataset["alpha"].values))
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        look: dict[str, Any] = {"loc": "outside lower center", "fontsize": "small"}
        look |= {"columnspacing": 1.2, "handleheight": 1.2, "ncols": 3 if details else 2}
        if not details:
            look |= {"title": _unmarked(dataset), "title_fontsize": "small"}
        figure.legend(handles, labels, **look)
    figure.suptitle("Which mechanism has the lower training loss")
    return figure


def _colour_by_margin(figure: Figure, axis: Axes, dataset: xarray.Dataset) -> None:
    from matplotlib.colors import SymLogNorm

    margin = dataset["theory_margin"].transpose("alpha", "omega")
    known = np.abs(margin.values[np.isfinite(margin.values)])
    largest = float(known.max()) if known.size and known.max() > 0 else 1.0
    norm = SymLogNorm(linthresh=largest / 30, vmin=-largest, vmax=largest)
    x, y = dataset["omega"].values, dataset["alpha"].values
    smooth = len(x) > 1 and len(y) > 1 and np.isfinite(margin.values).all()
    shading = "gouraud" if smooth else "nearest"
    image = axis.pcolormesh(x, y, margin.values, cmap=diverging(), norm=norm, shading=shading)
    bar = figure.colorbar(image, ax=axis, pad=0.02, ticks=round_ticks(largest))
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{1e3 * value:+.2g}" if value else "0")
    bar.ax.minorticks_off()
    bar.set_label(r"$\epsilon_t$ (semantic) $-\ \epsilon_t$ (positional), in $10^{-3}$")


def _colour_by_winner(figure: Figure, axis: Axes, dataset: xarray.Dataset) -> None:
    from matplotlib.colors import to_rgba

    winner = _winner(dataset)
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


def _ends(places: np.ndarray) -> tuple[float, float]:
    if len(places) == 1:
        return places[0] - 0.5, places[0] + 0.5
    return places[0], places[-1]


def _draw_line(
    axis: Axes, dataset: xarray.Dataset, name: str, dashes: str, label: str, details: bool
) -> None:
    if "lines_location" not in dataset or name not in dataset["transition"].values:
        return
    located = dataset.sel(transition=name)
    points = np.array(
        [located[f"lines_{part}"].values for part in ("omega", "location", "location_error")]
    )
    points = points[:, np.isfinite(points).all(axis=0)]
    if not points.size:
        return
    colour = "#111111"
    if details:
        axis.errorbar(*points, fmt="none", ecolor=colour, capsize=2)
    x, y, error = smooth_line(np.hstack([points, _exit(dataset, name, points[0].max())]))
    axis.fill_between(x, y - error, y + error, color=colour, alpha=0.35, lw=0)
    axis.plot(x, y, ls=dashes, color=colour, lw=1.4, label=label)


def smooth_line(points: np.ndarray) -> np.ndarray:
    """A curve through points (ω, α, error) without new minima or maxima between them."""
    from scipy.interpolate import PchipInterpolator

    if points.shape[1] < 2:
        return points
    x = np.linspace(points[0].min(), points[0].max(), 200)
    return np.array([x, *(PchipInterpolator(points[0], values)(x) for values in points[1:])])


def _exit(dataset: xarray.Dataset, name: str, after: float) -> np.ndarray:
    """Where a line leaves the upper end of the grid beyond ω = `after`, (3, 0 or 1): ω, α, error.

    From the losses of the two highest rows, interpolated in ω.
    """
    nowhere = np.empty((3, 0))
    alpha, omega = dataset["alpha"].values, dataset["omega"].values
    gap = _gap(dataset, name)
    if gap is None or len(alpha) < 2:
        return nowhere
    values, errors = gap
    with np.errstate(invalid="ignore"):
        crosses = (values[-1, :-1] * values[-1, 1:] < 0) & (omega[:-1] >= after)
    if not crosses.any():
        return nowhere
    k = int(np.flatnonzero(crosses)[0])
    share = values[-1, k] / (values[-1, k] - values[-1, k + 1])
    between = lambda row: (1 - share) * row[k] + share * row[k + 1]
    slope = (between(values[-1]) - between(values[-2])) / (alpha[-1] - alpha[-2])
    if not np.isfinite(slope) or slope == 0:
        return nowhere
    return np.array([[between(omega)], [alpha[-1]], [between(errors[-1]) / abs(slope)]])


def _gap(dataset: xarray.Dataset, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What is zero on a line, with its error, (α, ω); None if the grid does not have it."""
    rows = lambda values: values.transpose("alpha", "omega").values
    if name == "train-loss" and "theory_margin" in dataset:
        return rows(dataset["theory_margin"]), rows(dataset["theory_margin_error"])
    if name == "linear" and "linear_test_error" in dataset:
        at = dataset.sel(branch="semantic")
        gap = at["theory_test_error"] - dataset["linear_test_error"]
        return rows(gap), rows(at["theory_test_error_error"])
    return None


def _name_regions(axis: Axes, dataset: xarray.Dataset) -> None:
    """The name of each winner, inside its region."""
    winner, absent = _winner(dataset), _absent(dataset)
    for name in ("semantic", "positional", "mixed"):
        inside = (winner == name) & ~np.any([*absent.values()], axis=0)
        write_inside(axis, dataset, inside, f"{name} wins", name, size="large")


def write_inside(
    axis: Axes,
    dataset: xarray.Dataset,
    inside: np.ndarray,
    text: str,
    owner: str | None = None,
    **look: Any,
) -> None:
    """Text in a region, as far from its edges as possible; none in a small region. In white on the
    colour of `owner` if there is one."""
    from matplotlib.patheffects import withStroke
    from scipy.ndimage import distance_transform_edt

    if inside.mean() < 0.04:
        return
    # The frame is an edge too, and text is wider than high.
    framed = np.asarray(distance_transform_edt(np.pad(inside, 1), sampling=(2.0, 1.0)))
    depth = framed[1:-1, 1:-1]
    deepest = np.argwhere(depth > 0.9 * depth.max())
    row, column = deepest[len(deepest) // 2]
    at = float(dataset["omega"].values[column]), float(dataset["alpha"].values[row])
    if owner:
        stroke = withStroke(linewidth=2.5, foreground=COLOURS[owner])
        look |= {"color": "white", "weight": "bold", "path_effects": [stroke]}
    axis.text(*at, text, ha="center", va="center", **look)


def _absent(dataset: xarray.Dataset) -> dict[str, np.ndarray]:
    """Where each branch does not exist, (α, ω); with a mixed branch this has no meaning."""
    shape = dataset["alpha"].size, dataset["omega"].size
    if "mixed" in dataset["branch"].values:
        return {"semantic": np.zeros(shape, bool)}
    gone = dataset["theory_outcome"] == "collapsed"
    return {name: _where(gone.sel(branch=name)) for name in ("semantic", "positional")}


def _hatch(axis: Axes, dataset: xarray.Dataset) -> None:
    """Hatched regions, where most of the neighbouring points have the caveat; the legend counts all
    points."""
    absent = _absent(dataset)
    regions = (
        ("replica symmetry broken", _where(broken(dataset)), "...."),
        ("a branch is absent", np.any([*absent.values()], axis=0), "////"),
    )
    for label, where, hatch in regions:
        if where.any():
            _hatch_region(axis, dataset, where, hatch)
            look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#444444", "lw": 0}
            axis.fill([], [], hatch=hatch, label=f"{label} ({where.sum()} points)", **look)
    for name, where in absent.items():
        box = {"facecolor": "white", "alpha": 0.75, "lw": 0, "pad": 1.5}
        region = _share(where) > 0.5
        write_inside(axis, dataset, region, f"no {name}\nbranch", size="small", bbox=box)


def _hatch_region(axis: Axes, dataset: xarray.Dataset, where: np.ndarray, hatch: str) -> None:
    from matplotlib import rc_context

    if min(where.shape) < 2:
        return
    with rc_context({"hatch.linewidth": 0.5, "hatch.color": "#444444"}):
        found = axis.contourf(
            dataset["omega"].values,
            dataset["alpha"].values,
            _share(where),
            [0.5, 2.0],
            colors="none",
            hatches=[hatch],
        )
        found.set_edgecolor("#444444")
        found.set_linewidth(0)


def _share(where: np.ndarray) -> np.ndarray:
    """The share of neighbouring points that have a caveat."""
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(where.astype(float), 1.0, mode="nearest")


def _unmarked(dataset: xarray.Dataset) -> str:
    """How many points have a caveat that the picture does not show."""
    count = lambda mask: int(_where(mask).sum())
    outcome, winner = dataset["theory_outcome"], dataset["theory_winner"]
    white = ", white" if "mixed" in dataset["branch"].values else ""
    counts = {
        f"undecided (within two errors{white})": count(winner == "undecided"),
        "won by neither": count(winner == "uninformed"),
        "not converged": count((outcome == "stalled").any("branch")),
        "without a minimum": count(winner == "unknown"),
        "with replica symmetry weakly broken": int(_weakly_broken(dataset)[1].sum()),
    }
    found = [f"{number} {words}" for words, number in counts.items() if number]
    total = dataset["omega"].size * dataset["alpha"].size
    bands = "Bands: one standard error."
    return f"Of {total} points: {', '.join(found)}.\n{bands}" if found else bands


def _weakly_broken(dataset: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Δ/q of the winner, and where it is above zero without being called broken; both (α, ω)."""
    ratio = _of_winner(dataset, dataset["theory_breaking"]).transpose("alpha", "omega").values
    return ratio, (np.nan_to_num(ratio) > 0) & ~_where(broken(dataset))


def _winner(dataset: xarray.Dataset) -> np.ndarray:
    return dataset["theory_winner"].transpose("alpha", "omega").values.astype(str)


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
            axis.scatter(
                x[where], y[where], s=26, linewidths=1.1, label=label, clip_on=False, **look
            )
    ratio, weak = _weakly_broken(dataset)
    if weak.any():
        size = 14 * ratio[weak] / ratio[weak].max()
        look = {"color": grey, "lw": 0, "label": r"weakly broken (size: $\Delta/q$)"}
        axis.scatter(x[weak], y[weak], s=size, clip_on=False, **look)


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
