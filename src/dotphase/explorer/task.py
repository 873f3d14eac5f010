"""What may be asked of the explorer: pydantic models, every number bounded, nothing but numbers and known words.

The same models name the bounds to the page (`bounds`), check what comes back from it, and build the scenario.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from ..scenario import Scenario

Branch = Literal["semantic", "positional"]
Along = Literal["alpha", "omega", "sigma", "lambda"]
Minimum = Literal["lowest", "reached"]
Student = Literal["softmax", "softmax-rank-2", "softmax-untied", "linear"]

STUDENTS: dict[str, tuple[str, str]] = {  # what people read, and what Python says
    "softmax": ("dot-product attention, rank 1", "dotphase.softmax_attention(1)"),
    "softmax-rank-2": ("dot-product attention, rank 2", "dotphase.softmax_attention(2)"),
    "softmax-untied": ("own weights for query and key", "dotphase.softmax_attention(1, tied=False)"),
    "linear": ("without the softmax", "dotphase.linear_attention(1)"),
}
RANGES: dict[str, tuple[float, float]] = {  # of the parameter along which branches are drawn
    "alpha": (0.1, 3.0),
    "omega": (0.0, 0.5),
    "sigma": (0.2, 1.5),
    "lambda": (0.001, 0.1),
}
Entry = Annotated[float, Field(ge=-1, le=2)]
Row = Annotated[list[Entry], Field(min_length=2, max_length=2)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True, frozen=True)


class Task(_Asked):
    """The scenario: two tokens, a rank-one teacher T = (1 − ω) softmax + ω A, a student of the catalogue.

    - `alpha` α = n/d, `omega` ω, `sigma` σ, `ridge` λ; `positional` A, 2 × 2.
    """

    alpha: float = Field(default=2.0, ge=0.05, le=8)
    omega: float = Field(default=0.3, ge=0, le=1)
    sigma: float = Field(default=0.5, ge=0.1, le=2)
    ridge: float = Field(default=0.01, ge=1e-4, le=2, alias="lambda")
    positional: Annotated[list[Row], Field(min_length=2, max_length=2)] = [[0.6, 0.4], [0.4, 0.6]]
    student: Student = "softmax"

    def scenario(self) -> Scenario:
        from ..scenario import linear_attention, paper, softmax_attention

        made = {
            "softmax": lambda: softmax_attention(1),
            "softmax-rank-2": lambda: softmax_attention(2),
            "softmax-untied": lambda: softmax_attention(1, tied=False),
            "linear": lambda: linear_attention(1),
        }[self.student]()
        base = paper(self.alpha, self.omega, self.sigma, self.ridge, self.positional)
        return base if self.student == "softmax" else base.vary(student=made)

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
    start: Literal["semantic", "positional", "random"] = "random"
    optimiser: Literal["lbfgs", "gd", "adam"] = "gd"
    seed: Seed = 0
    seeds: int = Field(default=1, ge=1, le=24)


class Sentence(_Asked):
    """A random sentence, seen by teacher and students; `landscape`: also one sample's inner problem on a branch."""

    task: Task = Task()
    seed: Seed = 0
    minimum: Minimum = "lowest"
    landscape: Branch | None = None


class Letters(_Asked):
    """Something typed into the counting tab."""

    text: str = Field(max_length=200)


class Export(_Asked):
    """The task as text to take away."""

    task: Task = Task()
    along: Along = "alpha"
    minimum: Minimum = "lowest"
    d: int = Field(default=400, ge=50, le=1000)
    start: Literal["semantic", "positional", "random"] = "random"
    optimiser: Literal["lbfgs", "gd", "adam"] = "gd"
    seeds: int = Field(default=1, ge=1, le=24)


def bounds() -> dict[str, Any]:
    """Least and greatest of every number of a task and of a training, as the page's controls need them."""
    described = {**Task.model_json_schema()["properties"], **Training.model_json_schema()["properties"]}
    return {
        name: {"least": entry["minimum"], "greatest": entry["maximum"], "default": entry["default"]}
        for name, entry in described.items()
        if "minimum" in entry
    }
