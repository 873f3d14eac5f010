"""`kind = "text"`: training on real sentences, on Gaussian surrogates of their distribution, and
the theory of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..study.computation import Computation, Point
from ..study.layout import Variable
from ._common import Seeds, seeds_of

if TYPE_CHECKING:
    from ...text.universality import Universality

SOURCES = ("sentences", "gaussian", "scaled", "theory gaussian", "theory scaled")
OBSERVABLES = ("test_error", "train_loss", "q", "m", "theta")
OVER = ("variant", "start", "source")
Variant = Literal[
    "as they are",
    "not centred",
    "not whitened",
    "without repeats",
    "shuffled",
    "Gaussian words",
    "equal lengths",
    "every word once",
]


class Text(Computation):
    """Sentences of L = `length` words of `files` (of Python's help texts if there are none) in d
    dimensions, with one property changed at a time (`variants`), and α, ω, λ of the point.

    Every observable has its error. `off_…` is sentences less surrogate, seed by seed, for the two
    surrogates.
    """

    kind: Literal["text"] = "text"
    files: tuple[str, ...] = ()
    length: int = Field(2, ge=1)
    d: int = Field(200, ge=1)
    variants: tuple[Variant, ...] = ("as they are",)
    starts: tuple[Literal["semantic", "positional"], ...] = ("semantic", "positional")
    seeds: Seeds = 8
    nodes: int = Field(2**13, ge=64)
    theory: bool = True

    growing: ClassVar[tuple[str, ...]] = ("variants", "starts")

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"variant": self.variants, "start": self.starts, "source": SOURCES}

    def variables(self) -> dict[str, Variable]:
        names = [*OBSERVABLES, *(f"off_{name}" for name in OBSERVABLES)]
        return {name + ending: Variable(OVER) for name in names for ending in ("", "_error")}

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        return {"variant": 1, "start": 1}

    def compute_point(self, point: Point) -> dict[str, Any]:
        rows = [
            [self._row(point, each, start) for start in point.own["start"]]
            for each in point.own["variant"]
        ]
        return {name: [[row[name] for row in of_one] for of_one in rows] for name in rows[0][0]}

    def _row(self, point: Point, change: str, start: str) -> dict[str, list[Any]]:
        from ...text.reading import read_text
        from ...text.universality import universality, variant

        raw = read_text(
            self.files, self.d, self.length, centre=False, deviation=point.scenario.tokens.deviation
        )
        numbers = {name: point.scenario.value_of(name) for name in ("alpha", "omega")}
        options = {"ridge": point.scenario.ridge, "theory": self.theory, "nodes": self.nodes}
        found = universality(
            variant(raw, change), start, seeds_of(self.seeds), **numbers, **options
        )
        return _columns(found)


def _columns(found: Universality) -> dict[str, list[Any]]:
    """One entry per source."""
    row: dict[str, list[Any]] = {}
    for name in OBSERVABLES:
        values = [found.value(source, name) for source in SOURCES]
        off = [
            found.difference(source, name) if source in found.surrogates else None
            for source in SOURCES
        ]
        row[name], row[f"{name}_error"] = [v.value for v in values], [v.error for v in values]
        row[f"off_{name}"] = [np.nan if each is None else each.value for each in off]
        row[f"off_{name}_error"] = [np.nan if each is None else each.error for each in off]
    outcomes = [_outcome(found, source) for source in SOURCES]
    return row | {
        "outcome": outcomes,
        "reason": [""] * len(SOURCES),
        "seconds": [found.seconds] * len(SOURCES),
    }


def _outcome(found: Universality, source: str) -> str:
    if source.startswith("theory "):
        solution = found.theories.get(source.removeprefix("theory "))
        return "left out" if solution is None else solution.outcome
    runs = found.trained if source == "sentences" else found.surrogates[source]
    return max(runs.outcomes, key=runs.outcomes.__getitem__)
