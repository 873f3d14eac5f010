"""The transition at ω = 0.3, in three panels against α: who has the lower loss, what it has learnt, how well it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import reading
from .figure import Claim, Datasets, PaperFigure, make_study
from .reading import Line
from .style import COLOURS, MARKERS, SYMBOLS, curve, in_thousandths, letter, panels, points, upright

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..sweeps import Study

BRANCHES = ("semantic", "positional")
OVERLAP_OF = {"semantic": "theta", "positional": "m"}

# The published experiments: d = 1000, gradient descent, means and deviations over 24 seeds at ω = 0.3.
PUBLISHED_SEEDS = 24
PUBLISHED_EXPERIMENTS = {
    # start, α, quantity: mean, standard deviation over seeds
    ("semantic", 1.25375, "test_error"): (0.00234281, 0.000129078),
    ("semantic", 1.25375, "train_loss"): (0.00273178, 0.000111615),
    ("semantic", 1.25375, "theta"): (0.47136, 0.0275165),
    ("semantic", 2.0, "test_error"): (0.00144274, 0.0000744821),
    ("semantic", 2.0, "train_loss"): (0.00365175, 0.000108437),
    ("semantic", 2.0, "theta"): (0.634047, 0.0259854),
    ("positional", 1.25375, "test_error"): (0.00334763, 0.000235737),
    ("positional", 1.25375, "train_loss"): (0.00272288, 0.000206441),
    ("positional", 1.25375, "m"): (0.254049, 0.00715543),
    ("positional", 2.0, "test_error"): (0.00349174, 0.00027616),
    ("positional", 2.0, "train_loss"): (0.00458475, 0.000343351),
    ("positional", 2.0, "m"): (0.26184, 0.00708449),
}
WORDS = {"test_error": "ε_g", "train_loss": "ε_t", "theta": "θ/σ²", "m": "m"}


def studies(quality: str) -> dict[str, Study]:
    return {"transition": three_panel_study("transition", quality, {"omega": 0.3})}


def three_panel_study(name: str, quality: str, scenario: dict[str, Any], d: int = 1000, lines: bool = True) -> Study:
    """Theory, baseline, transitions and training against α; `d` is that of full quality."""
    full = quality == "full"
    few = [0.175833, 0.5075, 0.839167, 1.25375, 1.585417, 2.0]
    compute: dict[str, Any] = {
        "theory": {"kind": "theory", "branches": BRANCHES, "nodes": 2**16 if full else 2**13, "follow": "alpha"},
        "baseline": {"kind": "baseline"},
        "experiment": {
            "kind": "training",
            "at": {"alpha": {"linspace": [0.01, 2.0, 25]} if full else few},
            "d": d if full else d // 2,
            "starts": BRANCHES,
            "seeds": 24 if full else 6,
        },
    }
    if lines:
        precision = 2e-3 if full else 1e-2
        compute["transitions"] = {"kind": "transitions", "precision": precision, "near": "theory"}
    return make_study(name, scenario, {"alpha": {"linspace": [0.1, 2.0, 58 if full else 39]}}, **compute)


def draw(datasets: Datasets) -> Figure:
    return draw_three_panels(datasets["transition"])


def draw_three_panels(dataset: xarray.Dataset) -> Figure:
    """The panels of this figure for any study of theory, baseline and training against α."""
    figure, axes = panels(1, 3, 2.55)
    loss, overlaps, error = axes[0]
    _draw_difference(loss, dataset)
    _draw_overlaps(overlaps, dataset)
    _draw_test_error(error, dataset)
    for axis in axes[0]:
        axis.set_xlabel(SYMBOLS["alpha"])
        for name, label, dashes in (("train-loss", r"$\alpha_c$", "-"), ("linear", r"$\alpha_l$", "--")):
            if axis is error or name == "train-loss":
                where, bar = location(dataset, name)
                upright(axis, where, bar, label, dashes)
        axis.legend(handlelength=1.4, labelspacing=0.25, loc="best")
    letter(axes)
    return figure


def location(dataset: xarray.Dataset, name: str) -> tuple[float, float]:
    """A transition with its error; not a number if it is absent or was not looked for."""
    if "transitions_location" not in dataset:
        return np.nan, np.inf
    at = dataset.sel(transition=name)
    return float(at["transitions_location"]), float(at["transitions_location_error"])


def winners(losses: dict[str, Line]) -> dict[str, np.ndarray]:
    """Where each branch has the lower training loss, or is the only one."""
    semantic, positional = (losses[branch].value for branch in BRANCHES)
    lower = np.where(np.isnan(positional), True, np.where(np.isnan(semantic), False, semantic < positional))
    known = ~(np.isnan(semantic) & np.isnan(positional))
    return {"semantic": lower & known, "positional": ~lower & known}


def _draw_difference(axis: Axes, dataset: xarray.Dataset) -> None:
    curve(axis, *reading.margin(dataset), COLOURS["neutral"], "theory")
    points(axis, *reading.paired(dataset), COLOURS["neutral"], _size(dataset))
    axis.axhline(0, color="#BBBBBB", lw=0.7, zorder=0)
    axis.set_ylabel(SYMBOLS["difference"] + r", $10^{-3}$")
    in_thousandths(axis.yaxis)


def _draw_overlaps(axis: Axes, dataset: xarray.Dataset) -> None:
    variance = sigma(dataset) ** 2
    for branch, name in OVERLAP_OF.items():
        unit = 1 / variance if name == "theta" else 1.0
        for source, line, wins in _both(dataset, name, branch):
            _draw_winner(axis, source, reading.scaled(line, unit), wins, branch, SYMBOLS[name])
    axis.set_ylabel("overlaps of the mechanism that wins")
    axis.set_ylim(bottom=0)


def _draw_test_error(axis: Axes, dataset: xarray.Dataset) -> None:
    for branch in BRANCHES:
        for source, line, wins in _both(dataset, "test_error", branch):
            _draw_winner(axis, source, line, wins, branch, branch)
    baseline = np.ravel(dataset["baseline_test_error"].values)[0]
    axis.axhline(baseline, color="#009E73", lw=1.1, ls="-.", label=r"$\epsilon_{\rm lin}$")
    axis.set_ylabel(SYMBOLS["test_error"] + r" of the winner, $10^{-3}$")
    in_thousandths(axis.yaxis)


def _both(dataset: xarray.Dataset, quantity: str, branch: str) -> list[tuple[str, Line, np.ndarray]]:
    """Theory and experiment: the line of a branch, and where the branch wins."""
    found = []
    for source, read in (("theory", reading.theory), ("experiment", reading.experiment)):
        wins = winners({name: read(dataset, "train_loss", name) for name in BRANCHES})
        found.append((source, read(dataset, quantity, branch), wins[branch]))
    return found


def _draw_winner(axis: Axes, source: str, line: Line, wins: np.ndarray, branch: str, label: str) -> None:
    """Full where the branch wins; the theory faint where it loses."""
    colour = COLOURS[branch]
    if source == "experiment":
        points(axis, *reading.only(line, wins), colour, fmt=MARKERS[branch])
        return
    axis.plot(line.x, line.value, color=colour, lw=0.7, ls=":")
    curve(axis, *reading.only(line, wins), colour, label)


def _size(dataset: xarray.Dataset) -> str:
    values = dataset["experiment_train_loss"]
    seeds = next(size for dim, size in values.sizes.items() if str(dim).endswith("seed"))
    return f"training, {seeds} seeds"


def sigma(dataset: xarray.Dataset) -> float:
    """The tokens' deviation of a study of the paper's task."""
    import json

    return json.loads(dataset.attrs["study"])["scenario"]["paper"].get("sigma", 0.5)


def claims(datasets: Datasets) -> list[Claim]:
    dataset = datasets["transition"]
    found = []
    for (start, alpha, name), (mean, deviation) in PUBLISHED_EXPERIMENTS.items():
        line = reading.experiment(dataset, name, start)
        at = int(np.abs(line.x - alpha).argmin())
        unit = 1 / sigma(dataset) ** 2 if name == "theta" else 1.0
        ours = (unit * line.value[at], unit * line.error[at]) if abs(line.x[at] - alpha) < 1e-3 else None
        what = f"{WORDS[name]}, trained from the {start} start, α = {alpha:.4g}, ω = 0.3"
        source = "published experiments, d = 1000, 24 seeds"
        found.append(Claim(what, (mean, deviation / np.sqrt(PUBLISHED_SEEDS)), ours, source))
    baseline = float(np.ravel(dataset["baseline_test_error"].values)[0])
    return [*found, Claim("ε_lin, ω = 0.3", (0.00197138, None), (baseline, None))]


FIGURE = PaperFigure(
    name="transition",
    title="The transition at ω = 0.3",
    caption=(
        "(a) Training loss of the semantic minimum less that of the positional one: above zero position wins, below zero "
        "meaning does; they cross at α_c. (b) What the winner has learnt: its overlap with the teacher, θ/σ², or with the "
        "positions, m. (c) Its test error, beside that of the best predictor that sees positions only, ε_lin, which it "
        "beats from α_l on. Lines: theory as d → ∞, with bands of one standard error, dotted where the branch loses; "
        "points: training from both starts at finite d, bars of one standard error over seeds."
    ),
    studies=studies,
    draw=draw,
    claims=claims,
    core_seconds={"quick": 60, "full": 1500},
)
