"""The tables of a scenario file as pydantic models: what may stand in them, within which bounds,
and what they build.

Whoever takes a scenario from outside (a file, a study, a web page) validates with them. Numbers go
by the names of the paper or by those of the code, as everywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Optional, TypeVar, Union

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from .attentions import catalogue as attentions
from .attentions.attention import Attention
from .attentions.catalogue import CATALOGUE
from .names import spelled_as, word_of
from .scales import Scales
from .scenario import Scenario
from .tokens import Positions, Tokens, correlated, isotropic, no_positions

T = TypeVar("T", bound=BaseModel)
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
Row = Annotated[list[Number], Field(min_length=1)]
Matrix = Annotated[list[Row], Field(min_length=1)]


class Table(BaseModel):
    """A table of a file: nothing unknown in it, numbers under either name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _names(cls, given: Any) -> Any:
        return spelled_as(cls.model_fields, given) if isinstance(given, dict) else given


class Catalogued(Table):
    """An attention of the catalogue by the arguments of its constructor."""

    kind: str

    def build(self) -> Attention:
        """The attention described."""
        return CATALOGUE[self.kind].build(**{name: value for name, value in self if name != "kind"})


_ARGUMENTS: dict[str, Any] = {
    "rank": Count,
    "heads": Count,
    "tied": Flag,
    "temperature": Positive,
    "width": Positive,
}
_ARGUMENTS |= {"threshold": Number, "bias": Row, "shares": Optional[Row]}  # noqa: UP045


def _table(kind: str) -> type[Catalogued]:
    given = signature(CATALOGUE[kind].build).parameters.values()
    fields: dict[str, Any] = {each.name: (_ARGUMENTS[each.name], each.default) for each in given}
    return create_model(kind, __base__=Catalogued, kind=(Literal[kind], ...), **fields)  # type: ignore[valid-type]


class Constant(Table):
    """`attentions.constant`."""

    kind: Literal["constant"]
    positional: Matrix
    rank: Count = 1

    def build(self) -> Attention:
        """The attention described."""
        return attentions.constant(self.positional, self.rank)


class Mixture(Table):
    """`mixture`; its semantic part is softmax of rank one unless given."""

    kind: Literal["mixture"]
    positional: Matrix
    mixing: Share
    semantic: AnyAttention | None = None

    def build(self) -> Attention:
        """The attention described."""
        return attentions.mixture(
            self.positional, self.mixing, self.semantic and self.semantic.build()
        )


KINDS = tuple(CATALOGUE)
_OF_KIND: dict[str, type[Table]] = {
    kind: _table(kind) for kind in KINDS if kind not in ("constant", "mixture")
}
_OF_KIND |= {"constant": Constant, "mixture": Mixture}
if TYPE_CHECKING:
    AnyAttention = Catalogued | Constant | Mixture
else:
    AnyAttention = Annotated[Union[tuple(_OF_KIND.values())], Field(discriminator="kind")]  # noqa: UP007
Mixture.model_rebuild()


def attention_from_text(text: str) -> Attention:
    """An attention of the catalogue by its kind, and its numbers if need be: `kernel`,
    `kernel:width=0.8,rank=2`."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise ValueError(f"expected one of {', '.join(KINDS)}, got {kind!r}")
    pairs = [pair.partition("=") for pair in re.split(r",(?=[a-z]+=)", rest) if pair]
    try:
        numbers = {name.strip(): json.loads(value) for name, _, value in pairs}
    except json.JSONDecodeError:
        raise ValueError(
            f"expected a kind and numbers like kernel:width=0.8,rank=2, got {text!r}"
        ) from None
    return validated(_OF_KIND[kind], {"kind": kind, **numbers}).build()  # type: ignore[attr-defined]


class ScalesTable(Table):
    """`Scales`."""

    values: Row | Matrix
    weights: Row | None = None

    def build(self) -> Scales:
        """The scales described."""
        return Scales(self.values, self.weights)


class TokenTable(Table):
    """`Tokens` by their eigenvalues or covariances, or by length and deviation: `isotropic`, or
    `correlated`."""

    eigenvalues: Matrix | None = None
    covariances: Annotated[list[Matrix], Field(min_length=1)] | None = None
    weights: Row | None = None
    length: Count | None = None
    deviation: Positive | Annotated[list[Positive], Field(min_length=1)] | None = None
    correlation: Number | Matrix | None = None
    scales: ScalesTable | None = None

    @model_validator(mode="before")
    @classmethod
    def _names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        spelled = {word_of(name).removeprefix("token_"): value for name, value in given.items()}
        if len(spelled) < len(given):
            raise ValueError("deviation, sigma: two names of one number; give one of them")
        return spelled

    @model_validator(mode="after")
    def _one_way(self) -> TokenTable:
        by_spectrum = (self.eigenvalues, self.covariances, self.weights)
        by_length = (self.length, self.deviation, self.correlation)
        ways = sum(way is not None for way in (self.eigenvalues, self.covariances, self.length))
        if ways != 1 or (any(by_spectrum) and any(way is not None for way in by_length)):
            raise ValueError(
                "give `eigenvalues` or `covariances` (and `weights`), or `length` and `deviation` (and `correlation`)"
            )
        return self

    def build(self) -> Tokens:
        """The tokens described."""
        scales = self.scales and self.scales.build()
        if self.length is None:
            return Tokens(self.eigenvalues, self.weights, self.covariances, scales)
        tokens = isotropic(self.length, self.deviation or 1.0)
        if self.correlation is not None:
            tokens = correlated(self.length, self.deviation or 1.0, self.correlation)
        return replace(tokens, scales=scales)


def _as_rows(given: Any) -> Any:
    """A single row may stand for a matrix of one row."""
    single = isinstance(given, list) and not any(isinstance(entry, list) for entry in given)
    return [given] if single else given


class PositionTable(Table):
    """`Positions` by their components."""

    components: Annotated[Matrix, BeforeValidator(_as_rows)]


class ScenarioTable(Table):
    """All of a scenario made of built-in parts."""

    sample_ratio: Positive
    ridge: NotNegative
    teacher_weights: Matrix | None = None
    dimension: Count | None = None
    teacher: AnyAttention
    student: AnyAttention
    tokens: TokenTable
    positions: PositionTable | None = None

    def build(self) -> Scenario:
        """The scenario described."""
        tokens = self.tokens.build()
        return Scenario(
            teacher=self.teacher.build(),
            student=self.student.build(),
            tokens=tokens,
            positions=Positions(self.positions.components)
            if self.positions
            else no_positions(tokens.gamma.shape[1]),
            sample_ratio=self.sample_ratio,
            ridge=self.ridge,
            teacher_weights=self.teacher_weights,
            dimension=self.dimension,
        )


class PaperTable(Table):
    """The paper's task, `paper`."""

    alpha: Positive = 2.0
    omega: Share = 0.3
    sigma: Positive = 0.5
    ridge: NotNegative = 0.01
    positional: Literal["standard", "alternative"] | Matrix = "standard"
    student_rank: Count = 1

    def build(self) -> Scenario:
        """The scenario described."""
        from .presets import paper

        return paper(**dict(self))


def validated(table: type[T], given: Any) -> T:
    """`table.model_validate(given)`; what is wrong in one line that names the field."""
    try:
        return table.model_validate(given)
    except ValidationError as error:
        raise ValueError(complaint(table, error)) from None


def complaint(
    table: type[BaseModel],
    error: ValidationError,
    members: Collection[str] | None = None,
    owner: Callable[[Sequence[Any]], type[BaseModel] | None] = lambda place: None,
) -> str:
    """What pydantic complains about, place by place, in one line; `members`: names of members of
    unions in `table`; `owner`: the table at a place in it, where that is another one."""
    places: dict[str, list[str]] = {}
    for entry in error.errors():
        place, message = (
            _place(entry, _TABLES if members is None else members),
            _message(owner(entry["loc"]) or table, entry),
        )
        if message not in places.setdefault(place, []):
            places[place].append(message)
    each = ((place, " or ".join(messages)) for place, messages in places.items())
    return "; ".join(f"{place}: {message}" if place else message for place, message in each)


_TABLES: dict[str, type[Table]] = {
    **_OF_KIND,
    "tokens": TokenTable,
    "positions": PositionTable,
    "scales": ScalesTable,
}


def _place(entry: Any, members: Collection[str]) -> str:
    # Which member of a union was tried is no help to anyone: a kind, or pydantic's name of a type.
    path = [str(part) for part in entry["loc"]]
    path = [
        part
        for at, part in enumerate(path)
        if not at or not ("[" in part or "-" in part or part in members)
    ]
    return ".".join(path + ["kind"] * entry["type"].startswith("union_tag"))


def _message(table: type[BaseModel], entry: Any) -> str:
    kind, given = entry["type"], repr(entry["input"])
    if kind == "missing":
        return "missing"
    if kind == "extra_forbidden":
        owner = next(
            (_TABLES[part] for part in reversed(entry["loc"][:-1]) if part in _TABLES), table
        )
        return f"unknown; expected one of {', '.join(owner.model_fields)}"
    if kind.startswith("union_tag"):
        return f"expected one of {', '.join(KINDS)}"
    if kind.startswith("model_"):
        return f"expected a table, got {given}"
    message = entry["msg"].removeprefix("Value error, ").replace("Input should", "should")
    return message if kind == "value_error" or len(given) > 40 else f"{message}, got {given}"
