"""Shared code of the two figures of the counting task: their study, and the attention map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..frame.figure import make_study
from ..frame.style import shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...studies.study.study import Study

MECHANISMS = ("semantic", "positional")
SENTENCES = ("BAADEBCMMA", "ABCDEFGHIJ", "KKKKKCCCLO")


def counting_study(quality: str) -> dict[str, Study]:
    """Both mechanisms trained, then operated on; both figures read this one store."""
    full = quality == "full"
    counting: dict[str, Any] = {
        "kind": "counting",
        "mechanisms": MECHANISMS,
        "seeds": 4 if full else 2,
        "epochs": 200 if full else 12,
        "surgery": 100 if full else 6,
        "sentences": SENTENCES,
    }
    return {"counting": make_study("counting task", {}, {}, counting=counting)}


def draw_map(
    axis: Axes, weights: np.ndarray, sentence: str, mechanism: str, brightest: float
) -> None:
    """Row i: attention of position i. Pairs of equal letters are framed."""
    from matplotlib.patches import Rectangle

    axis.imshow(weights, cmap=shades(mechanism), vmin=0, vmax=brightest)
    letters = np.array(list(sentence))
    for i, j in np.argwhere(letters[:, None] == letters):
        axis.add_patch(
            Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="#111111", linewidth=0.6)
        )
    places = np.arange(len(letters))
    axis.set_xticks(places, letters)
    axis.set_yticks(places, letters)
    axis.tick_params(length=0, labelsize=6.5, pad=1.5)
    axis.spines[:].set_visible(True)
    axis.spines[:].set_linewidth(0.4)
