"""Another positional matrix, A = [[0.3, 0.7], [0.8, 0.2]]: tokens that look at each other rather
than at themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..frame.figure import Datasets, PaperFigure
from .three_panels import draw_three_panels, three_panel_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...studies.study.study import Study


def studies(quality: str) -> dict[str, Study]:
    scenario = {"omega": 0.3, "positional": "alternative"}
    return {"alternative": three_panel_study("alternative positional matrix", quality, scenario)}


def draw(datasets: Datasets) -> Figure:
    return draw_three_panels(datasets["alternative"])


FIGURE = PaperFigure(
    name="alternative",
    title="Another positional matrix",
    caption=(
        "As the figure at ω = 0.3, for a teacher whose positional part is A = [[0.3, 0.7], [0.8, 0.2]]: tokens that "
        "look at each other rather than at themselves. A student with tied weights and opposite positions cannot do "
        "that by position: there is no positional fixed point, and its start falls to the uninformed one (grey). "
        "The semantic one sets in near α = 0.45. Training from the positional start slides on into the semantic "
        "minimum as α grows, so that the two starts end alike."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 62, "full": 700},
)
