"""Requests to the explorer: pydantic models in which every number has bounds and every word is from
a list.

A task is a scenario's tables (`scenario.tables`, as in files and studies) in narrower bounds, and
is built by them. The same models give the bounds to the page (`bounds`) and validate its requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field

from ...scenario.attentions.catalogue import CATALOGUE
from ...scenario.tables import Number, ScenarioTable, Share, Table, validated

if TYPE_CHECKING:
    from ...scenario.scenario import Scenario

Branch = Literal["semantic", "positional"]
Along = Literal["alpha", "omega", "sigma", "lambda"]
Minimum = Literal["lowest", "reached"]

# The label on the page, and the table of the attention.
STUDENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "softmax": ("softmax, rank 1", {"kind": "softmax", "rank": 1}),
    "softmax-untied": (
        "own weights for query and key",
        {"kind": "softmax", "rank": 1, "tied": False},
    ),
}
# Listed above, not possible for two tokens, or of several columns that share the work: their lowest
# minimum is often mixed, which the page does not draw. Linear attention has no answer anywhere on
# the map: its solutions grow without bound, or vanish.
ELSEWHERE = ("softmax", "constant", "mixture", "relative", "heads", "linear")
STUDENTS |= {
    kind: (f"{kind}: {entry.formula}", {"kind": kind})
    for kind, entry in CATALOGUE.items()
    if kind not in ELSEWHERE
}


def _known(student: str) -> str:
    if student not in STUDENTS:
        raise ValueError(f"expected one of {', '.join(STUDENTS)}")
    return student


Student = Annotated[str, AfterValidator(_known)]
RANGES: dict[str, tuple[float, float]] = {  # of the parameter along which branches are drawn
    "alpha": (0.1, 3.0),
    "omega": (0.0, 0.5),
    "sigma": (0.2, 1.5),
    "lambda": (0.001, 0.1),
}
Entry = Annotated[Number, Field(ge=-1, le=2)]
Row = Annotated[list[Entry], Field(min_length=2, max_length=2)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _Asked(Table):
    model_config: ClassVar[ConfigDict] = ConfigDict(populate_by_name=True)


class Task(_Asked):
    """The scenario: two tokens, a rank-one teacher T = (1 − ω) softmax + ω A, a student of the
    catalogue.

    - `alpha` α = n/d, `omega` ω, `sigma` σ, `ridge` λ; `positional` A, 2 × 2; `correlation` of the
      two tokens.
    """

    alpha: Number = Field(default=2.0, ge=0.05, le=8)
    omega: Share = 0.3
    sigma: Number = Field(default=0.5, ge=0.1, le=2)
    ridge: Number = Field(default=0.01, ge=1e-4, le=2, alias="lambda")
    correlation: Number = Field(default=0.0, ge=-0.9, le=0.9)
    positional: list[Row] = Field(default=[[0.6, 0.4], [0.4, 0.6]], min_length=2, max_length=2)
    student: Student = "softmax"

    def tables(self) -> dict[str, Any]:
        """The tables of a scenario file."""
        together = {"correlation": self.correlation} if self.correlation else {}
        return {
            "sample_ratio": self.alpha,
            "ridge": self.ridge,
            "teacher": {"kind": "mixture", "positional": self.positional, "mixing": self.omega},
            "student": STUDENTS[self.student][1],
            "tokens": {"length": 2, "deviation": self.sigma, **together},
            "positions": {"components": [[1.0, -1.0]]},
        }

    def scenario(self) -> Scenario:
        return validated(ScenarioTable, self.tables()).build()

    def at(self, **numbers: float) -> Task:
        """The same task with other numbers, by the names of `Along`."""
        return Task.model_validate(self.model_dump(by_alias=True) | numbers)


class Branches(_Asked):
    """Both branches along a parameter, from the task's own value outwards."""

    task: Task = Task()
    along: Along = "alpha"
    minimum: Minimum = "lowest"


class Diagram(_Asked):
    """A coarse phase diagram of a task, whose α and ω do not matter."""

    task: Task = Task()
    minimum: Minimum = "lowest"


class Training(_Asked):
    """One network after another, seeds `seed`, `seed` + 1, …"""

    task: Task = Task()
    d: int = Field(default=400, ge=50, le=1000)
    start: Literal["semantic", "positional", "mixed", "random"] = "random"
    optimiser: Literal["lbfgs", "gd", "adam"] = "gd"
    seed: Seed = 0
    seeds: int = Field(default=1, ge=1, le=24)


class Sentence(_Asked):
    """A random sentence, seen by teacher and students; `landscape`: also one sample's inner problem
    on a branch."""

    task: Task = Task()
    seed: Seed = 0
    minimum: Minimum = "lowest"
    landscape: Branch | None = None


class Letters(_Asked):
    """A text typed into the counting tab."""

    text: str = Field(max_length=200)


class Export(Training):
    """A request to export the task, and a training, as text."""

    along: Along = "alpha"
    minimum: Minimum = "lowest"


def bounds() -> dict[str, Any]:
    """Least and greatest of every number of a task and of a training, as the page's controls need
    them."""
    described = {
        **Task.model_json_schema()["properties"],
        **Training.model_json_schema()["properties"],
    }
    return {
        name: {"least": entry["minimum"], "greatest": entry["maximum"], "default": entry["default"]}
        for name, entry in described.items()
        if "minimum" in entry
    }
