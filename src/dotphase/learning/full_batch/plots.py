"""The picture of learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...plotting.quick import LABELS, in_style
from ...plotting.style import COLOURS, curve, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .learning_curve import LearningCurve


@in_style
def draw_learning_curves(curves: Sequence[LearningCurve]) -> Figure:
    """Test error, training loss and overlaps of one or several curves against time, coloured by
    start."""
    figure, axes = panels(1, 3, 3.1, 9.5)
    for found in curves:
        colour = COLOURS.get(found.start, COLOURS["neutral"])
        for axis, name in zip(axes[0], ("test_error", "train_loss"), strict=False):
            _draw(axis, found, name, colour, label=found.start)
        _draw(axes[0, 2], found, "theta", COLOURS["semantic"], label=LABELS["theta"])
        _draw(axes[0, 2], found, "m", COLOURS["positional"], label=LABELS["m"])
    for axis, title in zip(
        axes[0], (LABELS["test_error"], LABELS["train_loss"], "overlaps"), strict=True
    ):
        axis.set(xlabel=r"time $\sum\eta$", title=title)
    handles, labels = axes[0, 2].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    axes[0, 2].legend(unique.values(), unique.keys())
    return figure


def _draw(axis: Any, found: LearningCurve, name: str, colour: str, label: str) -> None:
    estimate = getattr(found, name)
    curve(axis, found.times, estimate.value, estimate.error, colour, label, lw=1.4)
