"""A student of rank two and a teacher of rank one: theory and training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .figure import Datasets, PaperFigure
from .transition import draw_three_panels, three_panel_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..sweeps import Study


def studies(quality: str) -> dict[str, Study]:
    return {"rank-two": three_panel_study("rank-two student", quality, {"omega": 0.3, "student_rank": 2})}


def draw(datasets: Datasets) -> Figure:
    return draw_three_panels(datasets["rank-two"])


FIGURE = PaperFigure(
    name="rank-two",
    title="A student of rank two",
    caption=(
        "As the figure at ω = 0.3, for a student with two columns of weights and a teacher with one. The paper has the "
        "experiment; the theory is new here."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 100, "full": 2500},
)
