"""`kind = "text"`: training on real sentences, on Gaussian surrogates of their distribution, and
the theory of both. `kind = "language"`: the heads of a small language model."""

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
        from ...numerics.rules import Sobol
        from ...text.reading import read_text
        from ...text.universality import universality, variant

        raw = read_text(
            self.files, self.d, self.length, centre=False, deviation=point.scenario.tokens.deviation
        )
        numbers = {name: point.scenario.value_of(name) for name in ("alpha", "omega")}
        options = {"ridge": point.scenario.ridge, "theory": self.theory}
        options |= {"rule": Sobol(self.nodes)}
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


class Language(Computation):
    """A small causal language model trained on the first `tokens` words of Python's help texts for
    `steps` steps of Adam: its losses in nats per word, and the shares of position and content in the
    scores of its first layer's heads, on the way. It does not depend on the scenario.
    """

    kind: Literal["language"] = "language"
    tokens: tuple[int, ...] = (2850, 11400, 45538)
    steps: int = Field(1500, ge=10)
    seeds: Seeds = 4

    of_scenario: ClassVar[bool] = False
    growing: ClassVar[tuple[str, ...]] = ("tokens",)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        from ...heads.language_model import Model
        from ...heads.training import record_steps

        return {
            "tokens": self.tokens,
            "step": record_steps(self.steps).tolist(),
            "seed": seeds_of(self.seeds),
            "head": list(range(Model().heads)),
        }

    def variables(self) -> dict[str, Variable]:
        losses = ("train_loss", "held_out_loss")
        shares = ("position", "content", "position_error", "content_error")
        over = ("tokens", "step", "seed")
        return {name: Variable(over) for name in losses} | {
            name: Variable((*over, "head")) for name in shares
        }

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        return {"tokens": 1}

    def every_variable(self) -> dict[str, Variable]:
        common = {"outcome": Variable(("tokens",), "str"), "reason": Variable(("tokens",), "str")}
        return common | {"seconds": Variable(("tokens",))} | self.variables()

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...heads.language_model import Model
        from ...heads.training import train_language

        rows: dict[str, list[Any]] = {}
        for tokens in point.own["tokens"]:
            found = train_language(Model(), int(tokens), self.steps, seeds_of(self.seeds))
            for name in self.variables():
                rows.setdefault(name, []).append(np.swapaxes(getattr(found, name), 0, 1))
            rows.setdefault("seconds", []).append(found.seconds)
        count = len(point.own["tokens"])
        return rows | {"outcome": ["trained"] * count, "reason": [""] * count}
