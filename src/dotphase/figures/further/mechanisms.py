"""Two mechanisms on the counting task: the attention of each on three sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plotting.style import panels
from ...results.statistics import seed_mean
from ..frame.figure import Claim, Datasets, PaperFigure
from .counting_maps import MECHANISMS, SENTENCES, counting_study, draw_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Mean and deviation over 10 runs.
PUBLISHED_ACCURACY = {"semantic": (0.9989, 0.0012), "positional": (0.9988, 0.0004)}


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["counting"]
    maps = dataset["counting_attention"].isel(seed=0)
    figure, axes = panels(len(MECHANISMS), len(SENTENCES), 4.5)
    brightest = float(maps.max())
    for row, mechanism in zip(axes, MECHANISMS, strict=True):
        for axis, sentence in zip(row, SENTENCES, strict=True):
            weights = maps.sel(mechanism=mechanism, sentence=sentence).values
            draw_map(axis, weights, sentence, mechanism, brightest)
        figure.colorbar(
            row[0].images[0], ax=list(row), label="attention weight", shrink=0.85, pad=0.01
        )
        row[0].set_ylabel(f"{mechanism}\nthis position ...")
    for axis in axes[-1]:
        axis.set_xlabel("... looks at these")
    return figure


def claims(datasets: Datasets) -> list[Claim]:
    accuracy = datasets["counting"]["counting_accuracy"]
    epochs = datasets["counting"].sizes["epoch"]
    found = []
    for mechanism, (mean, deviation) in PUBLISHED_ACCURACY.items():
        ours, error = seed_mean(accuracy.sel(mechanism=mechanism).values)
        what = f"validation accuracy, {mechanism} mechanism, counting task ({epochs} epochs)"
        published = (mean, deviation / np.sqrt(10))  # 10 runs
        found.append(
            Claim(
                what,
                published,
                (float(ours), float(error)),
                "arXiv 2402.03902, 200 epochs, 10 runs",
            )
        )
    return found


FIGURE = PaperFigure(
    name="mechanisms",
    title="Two mechanisms on the counting task",
    caption=(
        "Attention of two one-layer transformers that count letters, on three sentences (first seed). Row i of a "
        "map is the attention of position i; frames mark pairs of equal letters. The semantic model (blue) attends "
        "to equal letters at any position; the attention of the positional model (orange) does not depend on the "
        "letters. Both count correctly."
    ),
    studies=counting_study,
    draw=draw,
    claims=claims,
    core_seconds={"quick": 105, "full": 3600},
)
