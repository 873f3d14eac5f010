"""Phase diagrams in α and ω: the mechanism of lower training loss, and where attention beats the
linear baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import panels
from ..frame.figure import Claim, Datasets, PaperFigure, make_study
from ..frame.reading import FALLEN, dim, seed_mean
from ..frame.style import SYMBOLS, diverging, letter
from .phase_diagram import round_ticks, smooth_line, write_inside
from .three_panels import BRANCHES, followed

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

THEORIES = {"lowest": "theory", "reached": "reached"}  # and the labels of their computations
REGIONS = {  # names and colours of what is below and above zero: of the difference of losses or not
    True: (("semantic wins", "semantic"), ("positional\nwins", "positional")),
    False: (("worse than linear", "positional"), ("better than linear", "semantic")),
}
PUBLISHED_LINES = {
    "train-loss": ("α_c", {0.1: 0.707, 0.2: 0.928, 0.3: 1.241, 0.4: 1.751}),
    "linear": ("α_l", {0.1: 0.851, 0.2: 1.071, 0.3: 1.451}),
}


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    grid = {"alpha": {"linspace": [0.1, 2.0, 25]}, "omega": {"linspace": [0.02, 0.5, 25]}}
    along = followed(2**14 if full else 2**13)
    roots = {
        "kind": "transitions",
        "at": {
            "omega": [0.02, 0.1, 0.2, 0.3, 0.4, 0.45]
            if not full
            else [0.02, *np.arange(1, 10) / 20]
        },
        "precision": 2e-3 if full else 4e-3,
        "budget": 2**18 if full else 2**17,
        "between": [0.3, 4.0],
    }
    compute: dict[str, Any] = {
        "theory": along,
        "baseline": {"kind": "baseline"},
        "transitions": roots,
    }
    compute |= {"reached": along | {"minimum": "reached"}}
    compute |= {"reached_transitions": roots | {"minimum": "reached", "between": [0.4, 4.0]}}
    if full:
        compute["experiment"] = {"kind": "training", "d": 500, "starts": BRANCHES, "seeds": 4}
    return {"phase-diagram": make_study("phase diagram", {}, grid, **compute)}


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["phase-diagram"]
    rows = {
        f"theory, {name} minima": _theory_maps(dataset, label) for name, label in THEORIES.items()
    }
    if "experiment_train_loss" in dataset:
        rows["training"] = _experiment_maps(dataset)
    figure, axes = panels(len(rows), 2, 0.5 + 2.5 * len(rows), sharex=True, sharey=True)
    labels = (SYMBOLS["difference"], r"$\epsilon_{\rm lin} - \epsilon_g$ of the winner")
    for column, label in enumerate(labels):
        _draw_column(
            figure,
            axes[:, column],
            dataset,
            {name: maps[column] for name, maps in rows.items()},
            label,
        )
    _finish(figure, axes)
    return figure


def _draw_column(
    figure: Figure, axes: np.ndarray, dataset: xarray.Dataset, maps: dict[str, Any], label: str
) -> None:
    """The same map of theory and training, on one scale."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import SymLogNorm

    largest = max(float(np.nanmax(np.abs(values))) for values in maps.values())
    # Blue is where meaning wins (negative), and where attention beats the baseline (positive).
    colours = diverging() if label == SYMBOLS["difference"] else diverging().reversed()
    scale: dict[str, Any] = {
        "norm": SymLogNorm(largest / 30, vmin=-largest, vmax=largest),
        "cmap": colours,
    }
    # Training is drawn over the theory of the reached minima.
    of = ["transitions", "reached_transitions", "reached_transitions"]
    for axis, (name, values), lines in zip(axes, maps.items(), of, strict=False):
        axis.set_facecolor("#DDDDDD")  # where there is no value
        x, y = dataset["omega"].values, dataset["alpha"].values
        shading = "gouraud" if np.isfinite(values).all() else "nearest"
        axis.pcolormesh(x, y, values, shading=shading, rasterized=True, **scale)
        names = REGIONS[label == SYMBOLS["difference"]]
        for sign, (text, owner) in zip((-1, 1), names, strict=True):
            write_inside(axis, dataset, sign * values > 0, text, owner)
        axis.set_title(name)
        _draw_lines(axis, dataset, lines)
    bar = figure.colorbar(
        ScalarMappable(**scale), ax=list(axes), pad=0.02, aspect=30, ticks=round_ticks(largest)
    )
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{1e3 * value:+.2g}" if value else "0")
    bar.ax.minorticks_off()
    bar.set_label(f"{label} ($10^{{-3}}$)")


def _finish(figure: Figure, axes: np.ndarray) -> None:
    for axis in axes[-1]:
        axis.set_xlabel(SYMBOLS["omega"])
    for axis in axes[:, 0]:
        axis.set_ylabel(SYMBOLS["alpha"])
    letter(axes)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3)


def _theory_maps(dataset: xarray.Dataset, label: str) -> tuple[np.ndarray, np.ndarray]:
    """ε_t(semantic) − ε_t(positional) and ε_lin − ε_g of the winner, (α, ω)."""
    usable = dataset[f"{label}_outcome"].isin(FALLEN)
    loss, error = (
        dataset[f"{label}_{name}"].where(usable) for name in ("train_loss", "test_error")
    )
    return _maps(dataset, *(_by_branch(values, dim(values, "branch")) for values in (loss, error)))


def _experiment_maps(dataset: xarray.Dataset) -> tuple[np.ndarray, np.ndarray]:
    means = []
    for name in ("train_loss", "test_error"):
        values = dataset[f"experiment_{name}"]
        seed = next(str(dim) for dim in values.dims if str(dim).endswith("seed"))
        by_start = [
            values.sel(start=start).transpose("alpha", "omega", seed).values for start in BRANCHES
        ]
        means.append(np.array([seed_mean(each)[0] for each in by_start]))
    return _maps(dataset, *means)


def _by_branch(values: xarray.DataArray, along: str) -> np.ndarray:
    return np.array(
        [values.sel({along: branch}).transpose("alpha", "omega").values for branch in BRANCHES]
    )


def _maps(
    dataset: xarray.Dataset, loss: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    difference = loss[0] - loss[1]
    winner = np.where(difference < 0, error[0], error[1])
    return difference, dataset["baseline_test_error"].values[None, :] - winner


def _draw_lines(axis: Axes, dataset: xarray.Dataset, label: str) -> None:
    names = {
        "train-loss": ("-", r"$\alpha_c$: training losses cross"),
        "linear": ("--", r"$\alpha_l$: semantic beats linear"),
    }
    for name, (dashes, words) in names.items():
        points = np.array(line(dataset, name, label))
        x, y, error = smooth_line(points[:, np.isfinite(points).all(axis=0)])
        axis.fill_between(x, y - error, y + error, color="#111111", alpha=0.35, lw=0)
        axis.plot(x, y, color="#111111", ls=dashes, lw=1.2, label=words)
    for name in ("omega", "alpha"):
        ends = dataset[name].values[[0, -1]]
        (axis.set_xlim if name == "omega" else axis.set_ylim)(*ends)


def line(
    dataset: xarray.Dataset, name: str, label: str = "transitions"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ω, the transition's α and its error."""
    at = dataset.sel({dim(dataset[f"{label}_location"], "transition"): name})
    where = at[f"{label}_location"]
    return where[where.dims[0]].values, where.values, at[f"{label}_location_error"].values


def claims(datasets: Datasets) -> list[Claim]:
    found = []
    for name, (letters, published) in PUBLISHED_LINES.items():
        omega, where, error = line(datasets["phase-diagram"], name)
        for place, value in published.items():
            at = int(np.abs(omega - place).argmin())
            there = abs(omega[at] - place) < 1e-9 and np.isfinite(where[at])
            ours = (float(where[at]), float(error[at])) if there else None
            found.append(Claim(f"{letters} at ω = {place:g}", (value, None), ours))
    return found


FIGURE = PaperFigure(
    name="phase-diagram",
    title="Phase diagrams in the plane of α and ω",
    caption=(
        "Left: training loss of the semantic minimum less that of the positional one: blue where meaning wins, orange "
        "where position does. Right: how much lower the winner's test error is than that of the linear positional "
        "baseline: blue where attention is better. Solid line: α_c, where the training losses cross; dashed: α_l, "
        "from which on the semantic mechanism beats the baseline; both by root-finding, bands of one standard error. "
        "Colours are on a scale that is linear near zero and logarithmic away from it. Upper row: the theory of the "
        "lowest minima, the paper's; then that of the minima that training reaches; last, in full quality: training "
        "at d = 500, four seeds per point and start."
    ),
    studies=studies,
    draw=draw,
    claims=claims,
    core_seconds={"quick": 340, "full": 1800},
)
