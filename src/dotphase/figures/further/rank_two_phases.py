"""The phase diagram of a student of rank two: its columns share the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plotting.style import WIDTH
from ..frame.figure import Datasets, PaperFigure
from ..paper.phase_diagram import phase_diagram_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...studies.study.study import Study


def studies(quality: str) -> dict[str, Study]:
    from ...scenario.attentions.catalogue import softmax
    from ...scenario.presets import paper
    from ...studies.phase_diagram import phase_diagram_study

    full = quality == "full"
    alphas = np.linspace(0.2, 2, 19 if full else 10).tolist()
    omegas = np.linspace(0.05, 0.5, 10).tolist()
    scenario = paper(alpha=1, omega=0.3).vary(student=softmax(rank=2))
    nodes = 2**15 if full else 2**13
    return {"rank-two-phases": phase_diagram_study(scenario, alphas, omegas, nodes=nodes)}


def draw(datasets: Datasets) -> Figure:
    return phase_diagram_figure(datasets["rank-two-phases"], WIDTH)


FIGURE = PaperFigure(
    name="rank-two-phases",
    title="The phase diagram of a student of rank two",
    caption=(
        "A student with two columns of weights and a teacher with one. With few samples the lowest minimum is "
        "positional. Above the line the positional branch is unstable: a small θ grows, and one column becomes "
        "semantic while the other stays positional (mixed). The transition is continuous, and there is no semantic "
        "phase: the semantic branch is a saddle, along m, wherever it exists. A saddle never wins."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 170, "full": 1500},
)
