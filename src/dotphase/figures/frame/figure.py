"""The type of a figure: its studies, its drawing, its caption, and published numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from ...studies.study.study import Study

QUALITIES = ("quick", "full")
PAPER = "arXiv 2402.03902"
Datasets = Mapping[str, "xarray.Dataset"]


@dataclass(frozen=True)
class Claim:
    """A published number and ours.

    - `what`: in words; `source`: where it was published.
    - `published`, `ours`: (value, standard error); an error of None is one that was not given.
      `ours` is None where our computation gave no value.
    """

    what: str
    published: tuple[float, float | None]
    ours: tuple[float, float | None] | None
    source: str = PAPER

    @property
    def deviation(self) -> float | None:
        """(ours − published) in standard errors, those that are known added in squares; None if
        none is known."""
        if self.ours is None:
            return None
        error = np.hypot(self.published[1] or 0.0, self.ours[1] or 0.0)
        return (
            float((self.ours[0] - self.published[0]) / error)
            if error > 0 and np.isfinite(error)
            else None
        )


@dataclass(frozen=True)
class PaperFigure:
    """One figure.

    - `name`: on the command line and of its files; `title`, `caption`: for the report.
    - `studies(quality)`: what is computed, by the name of the store it goes to. Figures may share a
      store.
    - `draw(datasets)`: the picture, from the datasets of its studies.
    - `claims(datasets)`: published numbers compared with ours.
    - `core_seconds`: time of its studies on one core, by quality: measured, or for "full" scaled
      from that.
    - `new`: whether it is not in the paper.
    """

    name: str
    title: str
    caption: str
    studies: Callable[[str], dict[str, Study]]
    draw: Callable[[Datasets], Figure]
    core_seconds: Mapping[str, float]
    claims: Callable[[Datasets], list[Claim]] = lambda datasets: []
    new: bool = False


def make_study(
    name: str, scenario: Mapping[str, Any], axes: Mapping[str, Any], **compute: Any
) -> Study:
    """A study of the paper's task: `scenario` are the arguments of `paper`, `compute` the
    computations by label. Computations it names by module are imported."""
    from ...studies.study.study import study_from

    tables = {
        "name": name,
        "scenario": {"paper": dict(scenario)},
        "axes": dict(axes),
        "compute": compute,
    }
    return study_from(tables, trust_code=True)
