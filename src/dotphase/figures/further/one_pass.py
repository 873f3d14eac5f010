"""One-pass learning: the flow between the two mechanisms, and simulations along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, panels, points
from ...results.statistics import seed_mean
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.reading import dim
from ..frame.style import VARIANCE, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

STARTS = {
    "late": {"semantic": 0.05, "positional": 0.01},
    "early": {"semantic": 0.25, "positional": 0.02},
}
LOOKS = ("-", "--")  # of the two starts


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    sgd: dict[str, Any] = {
        "kind": "dynamics",
        "rate": 20.0,
        "until": 60.0,
        "noise": 0.1,
        "points": 61,
    }
    sgd |= {"d": 2000 if full else 500, "seeds": 8 if full else 4}
    runs = {name: sgd | shares for name, shares in STARTS.items()}
    trained = {
        "kind": "training",
        "starts": ["random"],
        "d": 1000 if full else 200,
        "seeds": 24 if full else 8,
    }
    flow = {"kind": "flow", "nodes": 32 if full else 16}
    axes = {"omega": [0.1, 0.3, 0.6]}
    return {
        "one-pass": make_study("one pass", {"alpha": 2.0}, axes, flow=flow, trained=trained, **runs)
    }


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["one-pass"]
    figure, axes = panels(2, 3, 5.0, sharex="row", sharey="row")
    for (above, below), omega in zip(axes.T, dataset["omega"].values, strict=True):
        at = dataset.sel(omega=omega)
        _draw_flow(above, at)
        for name, look in zip(STARTS, LOOKS, strict=True):
            _draw_path(above, below, at, name, look)
        m, theta = (np.ravel(at[f"trained_{part}"].values) for part in ("m", "theta"))
        above.plot(m, theta / VARIANCE, "x", color="#111111", ms=4, mew=0.9, zorder=4)
        above.set(title=rf"$\omega = {omega:g}$", xlabel=r"$m$")
        below.set_xlabel(r"samples seen$/d$")
    axes[0, 0].set_ylabel(r"$\theta/\rho$")
    axes[1, 0].set_ylabel(r"$m$ and $\theta/\rho$")
    letter(axes)
    _explain(figure)
    return figure


def _explain(figure: Figure) -> None:
    """The legend of all panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color="#111111", ls=look, label=rf"one pass from $\theta/\rho = {start}$")
        for look, start in zip(LOOKS, (each["semantic"] for each in STARTS.values()), strict=True)
    ]
    bare: dict[str, Any] = {"ls": "", "ms": 5}
    handles.append(Line2D([], [], color="#111111", marker="x", label="full-batch training", **bare))
    for kind in ("semantic", "positional", "mixed", "uninformed"):
        look = {"color": COLOURS[kind], "marker": MARKERS[kind], **bare}
        handles.append(Line2D([], [], label=f"{kind} rest point", **look))
    handles.append(
        Line2D(
            [],
            [],
            color=COLOURS["neutral"],
            marker="o",
            mfc="white",
            label="open: not a minimum",
            **bare,
        )
    )
    handles += [
        Patch(color=COLOURS[kind], alpha=0.15, lw=0, label=f"flows to the {kind} one")
        for kind in ("semantic", "positional")
    ]
    for kind, name in (("semantic", r"$\theta/\rho$"), ("positional", "$m$")):
        look = {"color": COLOURS[kind], "marker": MARKERS[kind], "ms": 3, "mfc": "white"}
        handles.append(Line2D([], [], label=f"{name}: theory, simulation", **look))
    look = {"loc": "outside lower center", "ncols": 4, "columnspacing": 1.2, "handlelength": 1.8}
    figure.legend(handles=handles, **look)


def _draw_flow(axis: Axes, at: xarray.Dataset) -> None:
    """Basins as shades, the flow as streamlines, rest points: full if stable, open if not."""
    own = {name: dim(at["flow_loss"], name) for name in ("m", "theta")}
    m, theta = (at[own[name]].values for name in ("m", "theta"))
    grid = lambda name: at[f"flow_{name}"].transpose(own["theta"], own["m"]).values
    rest = np.stack([at["flow_rest_m"].values, at["flow_rest_theta"].values], axis=1)
    kinds = [str(kind) for kind in at["flow_rest_kind"].values]
    basin = grid("basin")
    # θ = 0 is a line of its own where it leads to a saddle.
    basin[0] = np.where(basin[0] < 0, basin[1], basin[0])
    for number, kind in enumerate(kinds):
        inside = np.where(basin == number, 1.0, 0.0)
        if kind.endswith("minimum") and inside.any() and not inside.all():
            axis.contourf(
                m, theta, inside, [0.5, 1.5], colors=[COLOURS[kind.split()[0]]], alpha=0.15
            )
            axis.contour(m, theta, inside, [0.5], colors=[COLOURS["neutral"]], linewidths=0.9)
        elif kind.endswith("minimum") and inside.all():
            axis.set_facecolor((COLOURS[kind.split()[0]], 0.15))
    axis.streamplot(
        m,
        theta,
        grid("speed_m"),
        grid("speed_theta"),
        color="#AAAAAA",
        density=0.7,
        linewidth=0.5,
        arrowsize=0.6,
    )
    for (x, y), kind in zip(rest, kinds, strict=True):
        if kind and np.isfinite(x):
            mechanism, sort = kind.split()
            face = COLOURS[mechanism] if sort == "minimum" else "white"
            axis.plot(
                x,
                y,
                MARKERS[mechanism],
                color=COLOURS[mechanism],
                mfc=face,
                ms=5.5,
                zorder=5,
                clip_on=False,
            )
    axis.set(xlim=(0, m[-1]), ylim=(0, theta[-1]))


def _draw_path(above: Axes, below: Axes, at: xarray.Dataset, name: str, look: str) -> None:
    time = dim(at[f"{name}_m"], "time")
    m, theta = at[f"{name}_m"].values, at[f"{name}_theta"].values / VARIANCE
    above.plot(np.abs(m), np.abs(theta), color="#111111", lw=1.2, ls=look, zorder=3)
    for part, values, scale, owner in (
        ("m", m, 1.0, "positional"),
        ("theta", theta, VARIANCE, "semantic"),
    ):
        below.plot(at[time].values, values, color=COLOURS[owner], ls=look)
        seen = at[f"{name}_{part}_seen"]
        mean, error = seed_mean(seen.transpose(time, dim(seen, "seed")).values / scale)
        few, mark = slice(None, None, 5), {"fmt": MARKERS[owner], "ms": 2.6}
        points(below, at[time].values[few], mean[few], error[few], COLOURS[owner], **mark)


FIGURE = PaperFigure(
    name="one-pass",
    title="What one pass finds",
    caption=(
        "Upper row: gradient flow on the population loss with the ridge of training at α = 2, in the plane of the two "
        "mechanisms: streamlines, basins (blue semantic, orange positional), rest points (full: minima; open: not). "
        "Black lines: stochastic gradient descent on fresh samples (η = 20) from two starts, as d → ∞; crosses: where "
        "full-batch training ends from small random weights. Position is learnt first from everywhere near zero; "
        "whether meaning follows depends on ω. Lower row: the same two paths in time, with simulations."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 60, "full": 900},
    new=True,
)
