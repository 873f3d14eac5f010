"""Pictures of the agreement: deviations, extrapolation in 1/d, trajectories, clusters of random
starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting.quick import LABELS, in_style
from ..plotting.style import COLOURS, curve, panels, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .compare import Comparison
    from .curves import CurveComparison
    from .trajectories import Trajectories


def draw_comparison(comparison: Comparison, path: str | Path) -> None:
    """The picture of a comparison in a file."""
    comparison_figure(comparison).savefig(path, dpi=150, bbox_inches="tight")


def comparison_figure(comparison: Comparison) -> Figure:
    """Per observable two panels: the values, and how far the experiments are from the theory, in
    per cent.

    The theory is a line with its error as a band; both experiments have error bars of one standard
    error.
    """
    names = list(dict.fromkeys(entry.observable for entry in comparison.entries))
    starts = list(dict.fromkeys(entry.start for entry in comparison.entries))
    figure, axes = _panels(len(names), width=2.5, height=5.2, rows=2)
    for entry in comparison.entries:
        column, place = names.index(entry.observable), starts.index(entry.start)
        colour = COLOURS.get(entry.start, COLOURS["neutral"])
        _draw_entry(axes[column], entry, place, colour, relative=False)
        _draw_entry(axes[len(names) + column], entry, place, colour, relative=True)
    for axis, name in zip(axes, names, strict=False):
        axis.set_title(LABELS[name], fontsize=11)
        axis.set_ylim(bottom=-0.03 * axis.get_ylim()[1])  # a theory of exactly zero stays visible
    for axis in axes:
        axis.set_xticks(range(len(starts)), starts)
        axis.set_xlim(-0.5, len(starts) - 0.5)
    axes[len(names)].set_ylabel("deviation from theory (%)", fontsize=9)
    _legend(figure, ["theory", "message passing", "training"])
    seeds = len(next(iter(comparison.trained.values())).runs)
    size = f"α = {comparison.scenario.sample_ratio:g}, d = {comparison.dimension}, {seeds} seeds"
    figure.suptitle(f"{size}; bars: one standard error", y=0.98)
    _adjust(figure, bottom=0.12, top=0.88, columns=len(names))
    return figure


def _draw_entry(axis: Any, entry: Any, place: int, colour: str, relative: bool) -> None:
    """One entry, or its deviation in per cent of the theory's value (not drawn where that is
    zero)."""
    if relative and (entry.theory is None or entry.theory.value == 0):
        axis.text(place, 0, "theory: 0", ha="center", va="bottom", fontsize=8, color=colour)
        return
    unit, zero = (100 / entry.theory.value, entry.theory.value) if relative else (1.0, 0.0)
    if entry.theory is not None:
        value, error = unit * (entry.theory.value - zero), unit * entry.theory.error
        ends = [place - 0.35, place + 0.35]
        axis.fill_between(ends, value - error, value + error, color=colour, alpha=0.25, lw=0)
        axis.plot(ends, [value, value], color=colour, lw=1.5)
    for mean, shift, marker in ((entry.passed, -0.15, "s"), (entry.trained, 0.15, "o")):
        if np.isfinite(mean.value):
            value, error = (
                unit * (mean.value - zero),
                unit * (mean.error if np.isfinite(mean.error) else 0.0),
            )
            axis.errorbar(
                place + shift, value, error, fmt=marker, color=colour, ms=5, capsize=4, mfc="white"
            )


def draw_sizes(
    measured: Mapping[int, Mapping[str, tuple[float, float]]],
    theory: Mapping[str, tuple[float, float]],
    path: str | Path,
    start: str,
    title: str,
) -> None:
    """Observables against 1/d with error bars, and the theory's value at 1/d = 0.

    **Arguments**: `measured[d][observable]` and `theory[observable]`, each (value, error); `start`
    gives the colour.
    """
    figure, axes = _panels(len(theory), width=2.7, height=3.1)
    colour = COLOURS.get(start, COLOURS["neutral"])
    for axis, (name, (value, error)) in zip(axes, theory.items(), strict=True):
        x = [1000 / d for d in measured]
        y, bar = zip(*(measured[d][name] for d in measured), strict=True)
        axis.errorbar(x, y, bar, fmt="o", color=colour, ms=5, capsize=4, label="training")
        axis.errorbar(
            [0],
            [value],
            [error],
            fmt="D",
            color=COLOURS["neutral"],
            ms=6,
            capsize=4,
            label="theory",
        )
        axis.axhline(value, color=COLOURS["neutral"], lw=0.8, ls="--")
        axis.set_title(LABELS[name], fontsize=11)
        axis.set_xlabel("1000/d")
        axis.set_xlim(-0.25, max(x) * 1.08)
    axes[0].legend(frameon=False, fontsize=9)
    figure.suptitle(title, y=0.98)
    _save(figure, path, bottom=0.17, top=0.8)


def draw_trajectories(
    followed: Trajectories, columns: Sequence[str], path: str | Path, title: str
) -> None:
    """The picture of trajectories in a file."""
    trajectories_figure(followed, columns, title).savefig(path, dpi=150, bbox_inches="tight")


def trajectories_figure(followed: Trajectories, columns: Sequence[str], title: str) -> Figure:
    """Iterates of state evolution (lines) and of message passing over seeds (points with the
    scatter over seeds)."""
    figure, axes = _panels(len(columns), width=2.6, height=3.0)
    steps = np.arange(len(followed.theory))
    for axis, label in zip(axes, columns, strict=True):
        k = followed.labels.index(label)
        seen = followed.passed[:, :, k]
        axis.plot(
            steps, followed.theory[:, k], color=COLOURS["neutral"], lw=1.5, label="state evolution"
        )
        axis.errorbar(
            steps,
            seen.mean(0),
            seen.std(0, ddof=1),
            fmt="o",
            color=COLOURS["semantic"],
            ms=5,
            capsize=4,
            label="message passing",
        )
        axis.set_title(f"${_tex(label)}$", fontsize=12)
        axis.set_xlabel("iteration")
        axis.set_xticks(steps)
    axes[0].legend(frameon=False, fontsize=8.5)
    figure.suptitle(title, y=0.98)
    _adjust(figure, bottom=0.18, top=0.8)
    return figure


@in_style
def curves_figure(compared: CurveComparison) -> Figure:
    """Training loss, overlaps and their deviations against time: theory as lines, training as
    points."""
    figure, axes = panels(1, 3, 3.1, 9.5)
    owners = {"train_loss": "neutral", "theta": "semantic", "m": "positional"}
    for name, owner in owners.items():
        axis, colour = axes[0, 0 if name == "train_loss" else 1], COLOURS[owner]
        theory, trained = compared.theory[name], compared.trained[name]
        curve(axis, compared.times, theory.value, theory.error, colour, LABELS[name])
        points(axis, compared.times, trained.value, trained.error, colour)
        axes[0, 2].plot(compared.times, compared.deviations[name], color=colour, marker=".")
    for axis, title in zip(
        axes[0], (LABELS["train_loss"], "overlaps", "deviation (standard errors)"), strict=True
    ):
        axis.set(xlabel=r"time $\sum\eta$", title=title)
    axes[0, 1].legend()
    return figure


def draw_clusters(
    m: np.ndarray, theta: np.ndarray, loss: np.ndarray, path: str | Path, title: str
) -> None:
    """Where random starts end, in the (|m|, |θ|) plane: one point per run, coloured by its larger
    overlap."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6))
    axis = figure.add_subplot()
    semantic = theta > m
    for name, chosen, marker in (("semantic", semantic, "o"), ("positional", ~semantic, "s")):
        label = f"{name}: {chosen.sum()} of {len(m)} ({chosen.mean():.0%}), mean loss {loss[chosen].mean():.5f}"
        axis.scatter(
            m[chosen],
            theta[chosen],
            s=26,
            color=COLOURS[name],
            marker=marker,
            alpha=0.6,
            lw=0,
            label=label,
        )
    axis.set_xlabel(r"$|m|$, overlap with the position")
    axis.set_ylabel(r"$|\theta|$, overlap with the teacher")
    axis.set_xlim(left=-0.01)
    axis.set_ylim(bottom=-0.008, top=1.35 * theta.max())
    axis.legend(frameon=False, fontsize=9, loc="upper right")
    axis.set_title(title, fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def _panels(count: int, width: float, height: float, rows: int = 1) -> tuple[Figure, list[Any]]:
    from ..plotting.picture import Picture

    figure = Picture(figsize=(width * count, height))
    axes = [figure.add_subplot(rows, count, k + 1) for k in range(rows * count)]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8.5)
    return figure, axes


def _legend(figure: Figure, names: list[str]) -> None:
    from matplotlib.lines import Line2D

    grey = COLOURS["neutral"]
    styles = [
        {"lw": 1.5},
        {"lw": 0, "marker": "s", "mfc": "white"},
        {"lw": 0, "marker": "o", "mfc": "white"},
    ]
    handles = [
        Line2D([], [], color=grey, label=name, **style)
        for name, style in zip(names, styles, strict=True)
    ]
    figure.legend(handles=handles, loc="lower center", ncols=3, frameon=False, fontsize=9.5)


def _save(figure: Figure, path: str | Path, bottom: float, top: float) -> None:
    _adjust(figure, bottom, top)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def _adjust(figure: Figure, bottom: float, top: float, columns: int | None = None) -> None:
    count = columns or len(figure.axes)
    left, right = 0.3 / count, 1 - 0.06 / count
    figure.subplots_adjust(left=left, right=right, bottom=bottom, top=top, wspace=0.42, hspace=0.3)


def _tex(label: str) -> str:
    name, _, index = label.partition("_")
    token, _, entry = index.partition("^")
    name = {"θ": r"\theta"}.get(name, name)
    return f"{name}_{{{token}}}" + (f"^{{{entry}}}" if entry else "")
