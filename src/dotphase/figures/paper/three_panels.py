"""Theory and training against α in three panels: the mechanism of lower loss, its overlaps, its
test error."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...plotting.style import BASELINE, COLOURS, MARKERS, curve, panels, points
from ..frame import reading
from ..frame.figure import make_study
from ..frame.reading import Line
from ..frame.style import SYMBOLS, in_thousandths, legend_below, letter, name_overlaps, upright

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

BRANCHES = ("semantic", "positional")
OVERLAPS = {"theta": "semantic", "m": "positional"}  # and whose colour they have
# Some of the 25 sample ratios of full quality.
FEW = [0.175833, 0.5075, 0.839167, 1.25375, 1.585417, 2.0]


def followed(nodes: int) -> dict[str, Any]:
    """The table of the theory, its branches followed along α."""
    return {"kind": "theory", "branches": BRANCHES, "nodes": nodes, "follow": "alpha"}


def three_panel_study(
    name: str,
    quality: str,
    scenario: dict[str, Any],
    seeds: int = 6,
    reached: bool = True,
    **more: Any,
) -> Study:
    """Theory, baseline, transitions and training against α; `seeds` are those of quick quality.

    Training is compared with the theory of the reached minima, and with that of the lowest ones
    (the paper's); without `reached`, only with the latter.
    """
    full = quality == "full"
    # The same nodes for transitions: with others a root may lie outside the bracket.
    nodes = 2**16 if full else 2**13
    precision = {"precision": 2e-3, "budget": 2**18} if full else {"precision": 4e-3}
    along = followed(nodes)
    roots: dict[str, Any] = {"kind": "transitions", "nodes": nodes} | precision
    compute: dict[str, Any] = {
        "theory": along,
        "baseline": {"kind": "baseline"},
        "transitions": roots | {"near": "theory"},
        "experiment": {
            "kind": "training",
            "at": {"alpha": {"linspace": [0.01, 2.0, 25]} if full else FEW},
            "d": 1000,
            "starts": BRANCHES,
            "seeds": 24 if full else seeds,
        },
    }
    if reached:
        compute |= {"lowest": along, "lowest_transitions": roots | {"near": "lowest"}}
        compute["theory"] = along | {"minimum": "reached"}
        compute["transitions"] = roots | {"near": "theory", "minimum": "reached"}
    return make_study(
        name, scenario, {"alpha": {"linspace": [0.1, 2.0, 58 if full else 39]}}, **compute | more
    )


class Winner(NamedTuple):
    """The branch of lower training loss along α: which of `BRANCHES`, -1 for none, and its
    mechanism in a word."""

    which: np.ndarray
    mechanism: np.ndarray

    def of(self, lines: list[Line]) -> Line:
        """A quantity of the winner, from the lines of both branches."""
        pick = lambda arrays: np.where(
            self.which == 0, arrays[0], np.where(self.which == 1, arrays[1], np.nan)
        )
        return Line(
            lines[0].x, pick([line.value for line in lines]), pick([line.error for line in lines])
        )


def theory_winner(dataset: xarray.Dataset, label: str = "theory") -> Winner:
    """A start that reached the uninformed fixed point is named uninformed."""
    margin = reading.margin(dataset, label, fallen=True).value
    index = np.where(np.isnan(margin), -1, np.where(margin < 0, 0, 1))
    named = dataset[f"{label}_mechanism"]
    words = [named.sel({reading.dim(named, "branch"): branch}).values for branch in BRANCHES]
    return Winner(index, np.where(index == 0, words[0], words[1]).astype(object))


def experiment_winner(dataset: xarray.Dataset) -> Winner:
    """Named after the larger of θ/σ² and m, which are of one scale: ⟨Q Q*⟩ and ⟨Q⟩ over the d
    weights; uninformed if both are below 1/√d."""
    index = np.where(reading.paired(dataset).value < 0, 0, 1)
    blank = Winner(index, index)
    theta, m = (
        blank.of(overlap_lines(dataset, name, reading.experiment)).value for name in OVERLAPS
    )
    noise = json.loads(dataset.attrs["study"])["compute"]["experiment"]["d"] ** -0.5
    words = np.where(theta > m, *BRANCHES).astype(object)
    return Winner(index, np.where(np.maximum(theta, m) < noise, "uninformed", words))


def overlap_lines(dataset: xarray.Dataset, name: str, read: Any) -> list[Line]:
    """θ/σ² or m of both branches."""
    unit = 1 / sigma(dataset) ** 2 if name == "theta" else 1.0
    return [reading.scaled(read(dataset, name, branch), unit) for branch in BRANCHES]


def sigma(dataset: xarray.Dataset) -> float:
    """The tokens' deviation of a study of the paper's task."""
    return json.loads(dataset.attrs["study"])["scenario"]["paper"].get("sigma", 0.5)


def draw_three_panels(dataset: xarray.Dataset) -> Figure:
    figure, axes = panels(1, 3, 2.9)
    draw_difference(axes[0, 0], dataset)
    draw_overlaps(axes[0, 1], dataset)
    draw_test_error(axes[0, 2], dataset)
    finish(figure, axes, dataset)
    return figure


def finish(figure: Figure, axes: np.ndarray, dataset: xarray.Dataset) -> None:
    """The transitions, labels and one legend for all panels."""
    for k, axis in enumerate(axes[0]):
        axis.set_xlabel(SYMBOLS["alpha"])
        upright(axis, *location(dataset, "train-loss"), r"$\alpha_c$")
        if k == 2:
            upright(axis, *location(dataset, "linear"), r"$\alpha_l$", "--")
    letter(axes)
    legend_below(figure, axes)


def location(dataset: xarray.Dataset, name: str) -> tuple[float, float]:
    """A transition with its error; not a number if it is absent."""
    at = dataset.sel({reading.dim(dataset["transitions_location"], "transition"): name})
    return float(at["transitions_location"]), float(at["transitions_location_error"])


def draw_difference(axis: Axes, dataset: xarray.Dataset) -> None:
    both, fallen = reading.margin(dataset), reading.margin(dataset, fallen=True)
    missing = reading.only(fallen, np.isnan(both.value) | _next_to_gap(both.value))
    if _both_theories(dataset):
        line = reading.margin(dataset, "lowest", fallen=True)
        axis.plot(
            line.x,
            line.value,
            color=COLOURS["uninformed"],
            lw=0.9,
            ls=(0, (1, 1)),
            label="lowest minima",
        )
    curve(axis, *both, COLOURS["neutral"], "theory")
    if np.isfinite(missing.value).any():
        curve(axis, *missing, COLOURS["uninformed"], "theory, a branch missing", ls="--", lw=1)
    points(axis, *reading.paired(dataset), COLOURS["neutral"], "training, $d = 1000$", fmt="D")
    axis.axhline(0, color="#BBBBBB", lw=0.7, zorder=0)
    axis.set_ylabel(SYMBOLS["difference"] + r" ($10^{-3}$)")
    in_thousandths(axis.yaxis)


def _both_theories(dataset: xarray.Dataset) -> bool:
    return "lowest_margin" in dataset


def _next_to_gap(values: np.ndarray) -> np.ndarray:
    """True at values next to a missing one, so that two lines meet."""
    missing = np.isnan(values)
    return np.r_[missing[1:], False] | np.r_[False, missing[:-1]]


def draw_overlaps(axis: Axes, dataset: xarray.Dataset) -> None:
    expected, found = theory_winner(dataset), experiment_winner(dataset)
    for name, owner in OVERLAPS.items():
        lines = overlap_lines(dataset, name, reading.theory_or_fallen)
        for index in (0, 1):
            line = reading.only(lines[index], expected.which == index)
            curve(axis, *line, COLOURS[owner])
        if _both_theories(dataset):
            read = partial(reading.theory_or_fallen, label="lowest")
            lowest = theory_winner(dataset, "lowest").which
            for index, line in enumerate(overlap_lines(dataset, name, read)):
                seen = reading.only(line, lowest == index)
                axis.plot(seen.x, seen.value, color=COLOURS[owner], lw=0.9, ls=(0, (1, 1)))
        line = found.of(overlap_lines(dataset, name, reading.experiment))
        points(axis, *line, COLOURS[owner], fmt=MARKERS[owner])
    name_overlaps(axis)


def draw_test_error(axis: Axes, dataset: xarray.Dataset) -> None:
    expected, found = theory_winner(dataset), experiment_winner(dataset)
    lines = [reading.theory_or_fallen(dataset, "test_error", branch) for branch in BRANCHES]
    for index, branch in enumerate(BRANCHES):
        loser = reading.theory(dataset, "test_error", branch)
        axis.plot(loser.x, loser.value, color=COLOURS[branch], lw=0.7, ls=":")
        for word in {*expected.mechanism[expected.which == index]}:
            wins = (expected.which == index) & (expected.mechanism == word)
            curve(axis, *reading.only(lines[index], wins), COLOURS[word], f"{word} wins")
    measured = found.of([reading.experiment(dataset, "test_error", branch) for branch in BRANCHES])
    for word in {*found.mechanism}:
        points(
            axis, *reading.only(measured, found.mechanism == word), COLOURS[word], fmt=MARKERS[word]
        )
    draw_baseline(axis, dataset)
    axis.set_ylabel(SYMBOLS["test_error"] + r" of the winner ($10^{-3}$)")
    in_thousandths(axis.yaxis)


def draw_baseline(axis: Axes, dataset: xarray.Dataset) -> None:
    level = float(np.ravel(dataset["baseline_test_error"].values)[0])
    axis.axhline(
        level, color=BASELINE, lw=1.1, ls="-.", label=r"linear baseline $\epsilon_{\rm lin}$"
    )
