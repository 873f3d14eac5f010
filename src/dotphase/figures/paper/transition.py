"""The transition at ω = 0.3, and the published experiments compared with ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..frame import reading
from ..frame.figure import Claim, Datasets, PaperFigure
from .three_panels import draw_three_panels, sigma, three_panel_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

# The published experiments: d = 1000, gradient descent, means and deviations over 24 seeds at ω =
# 0.3.
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
    return {"transition": three_panel_study("transition", quality, {"omega": 0.3}, seeds=8)}


def draw(datasets: Datasets) -> Figure:
    return draw_three_panels(datasets["transition"])


def claims(datasets: Datasets) -> list[Claim]:
    dataset = datasets["transition"]
    found = []
    for (start, alpha, name), (mean, deviation) in PUBLISHED_EXPERIMENTS.items():
        line = reading.experiment(dataset, name, start, adjusted=False)
        at = int(np.abs(line.x - alpha).argmin())
        unit = 1 / sigma(dataset) ** 2 if name == "theta" else 1.0
        ours = (
            (unit * line.value[at], unit * line.error[at])
            if abs(line.x[at] - alpha) < 1e-3
            else None
        )
        what = f"{WORDS[name]}, trained from the {start} start, α = {alpha:.4g}, ω = 0.3"
        source = "published experiments, d = 1000, 24 seeds"
        published = (mean, deviation / np.sqrt(24))  # 24 seeds
        found.append(Claim(what, published, ours, source))
    # A smooth average: exact to all digits that are given.
    baseline = Claim(
        "ε_lin, ω = 0.3", (0.00197138, None), (float(dataset["baseline_test_error"]), None)
    )
    return [*found, baseline]


FIGURE = PaperFigure(
    name="transition",
    title="The transition at ω = 0.3",
    caption=(
        "Full lines: the theory of the minima that training reaches, as d → ∞, with bands of one standard error; "
        "dotted in (a) and (b): that of the lowest minima, the paper's, in which the semantic branch ends near "
        "α = 0.7. "
        "(a) Training loss of the semantic minimum less that of the positional one: above zero position wins, below "
        "zero meaning does; they cross at α_c. (b) What the winner has learnt: its overlap with the teacher, θ/σ², "
        "or with the positions, m. (c) Its test error, compared with the best predictor that sees positions only, "
        "ε_lin, which it beats from α_l on; dotted: the branch that loses. Points: training from both starts at "
        "d = 1000, bars of one standard error over seeds (24 in full quality, 8 in quick)."
    ),
    studies=studies,
    draw=draw,
    claims=claims,
    core_seconds={"quick": 100, "full": 900},
)
