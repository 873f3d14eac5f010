"""A small language model: position and content of its heads against training time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plotting.style import COLOURS, panels
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import legend_below, letter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

SHARES = {"position": "positional", "content": "semantic"}


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    options = {
        "kind": "language",
        "tokens": [2850, 11400, 45538] if full else [2850, 45538],
        "steps": 1500 if full else 1000,
        "seeds": 4 if full else 2,
    }
    return {"language": make_study("language model", {}, {}, heads=options)}


def draw(datasets: Datasets) -> Figure:
    dataset = datasets["language"]
    amounts = dataset["tokens"].values
    figure, axes = panels(2, len(amounts), 4.2, sharex=True, sharey="row")
    step = np.maximum(dataset["step"].values, 3)  # step 0 at the left edge
    for column, tokens in zip(axes.T, amounts, strict=True):
        at = dataset.sel(tokens=tokens)
        for name, label in (("train_loss", "training"), ("held_out_loss", "held out")):
            look = {"color": COLOURS["neutral"], "ls": "-" if name == "train_loss" else "--"}
            values = at[f"heads_{name}"].mean("seed").values
            column[0].plot(step, values, label=f"{label} loss", **look)
        for name, owner in SHARES.items():
            values = at[f"heads_{name}"].stack(line=("seed", "head")).values
            column[1].plot(step, values, color=COLOURS[owner], lw=0.6, alpha=0.5)
            column[1].plot(
                step, values.mean(1), color=COLOURS[owner], lw=2, label=f"share of {name}"
            )
        column[1].set(xscale="log", xlabel="step", ylim=(-0.02, 1.02))
    axes[0, 0].set_ylabel("nats per word")
    axes[1, 0].set_ylabel("share of the scores' variance")
    letter(axes)
    for axis, tokens in zip(axes[0], amounts, strict=True):
        axis.set_title(f"{tokens} words")
    legend_below(figure, axes)
    return figure


FIGURE = PaperFigure(
    name="language",
    title="A language model: position or meaning, in time",
    caption=(
        "A causal language model with one layer of four heads, trained on growing amounts of text (columns). Above: "
        "its losses. Below: the shares of position and content in the variance of the scores, a thin line per head and "
        "seed. The heads become semantic first; position enters later. Step 0 is drawn at the left edge."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 76, "full": 260},
    new=True,
)
