"""What can be computed at a point: the base of all kinds, and how a kind is found by its name.

A kind is one short file in `kinds/` with one class: its parameters, its own dimensions, its
variables, and what it computes at a point. A study may also name a class of yours, `kind =
"package.module:Class"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ...scenario.scenario import Scenario
from .axes import Axis, is_number_of
from .layout import Variable


class Point(NamedTuple):
    """Where to compute.

    - `scenario`: with the numbers of this point.
    - `values`: the value of every axis here.
    - `own`: which entries of the kind's own dimensions this unit of work is for (all seeds, or
      some).
    - `known`: results of the computations this one `needs`: label → quantity → array over the
      dimensions that are left at this point, in their order; coordinates of these are there by
      their names.
    """

    scenario: Scenario
    values: Mapping[str, Any]
    own: Mapping[str, Sequence[Any]]
    known: Mapping[str, Mapping[str, Any]]


class Computation(BaseModel):
    """A computation, as its table in a study describes it.

    - `at`: values of an axis for this computation alone (training at fewer α than the theory, say);
      the dimension is then called `label_axis`.
    - `place`: what uses several cores on one machine: "threads", which share a compilation, or
      "processes".
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")
    place: ClassVar[str] = "processes"
    growing: ClassVar[
        tuple[str, ...]
    ] = ()  # parameters that only make the kind's own dimensions longer
    whole: ClassVar[bool] = (
        False  # one outcome for a point, not one for each entry of its own dimensions
    )

    kind: Any
    at: dict[str, Axis] = Field(default_factory=dict)

    def depends_on(self, axes: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
        """The axes the result depends on: numbers of the scenario, and parameters of the kind
        itself."""
        return tuple(
            axis for axis in axes if is_number_of(scenario, axis) or axis in type(self).model_fields
        )

    def coordinates(self) -> dict[str, Sequence[Any]]:
        """The kind's own dimensions and their coordinates."""
        return {}

    def variables(self) -> dict[str, Variable]:
        """The quantities; `outcome`, `reason` and `seconds` are there for every entry unless given
        here."""
        raise NotImplementedError

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        """How far one unit of work reaches along each dimension, None for all of it. Unless given:
        one value of each of the `axes` it depends on, all of the kind's own dimensions."""
        return {}

    def needs(self) -> tuple[str, ...]:
        """Labels of computations whose results this one reads."""
        return ()

    @property
    def separable(self) -> bool:
        """Whether the points of a unit can be computed one by one, so that one that fails leaves
        the others alone."""
        return True

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        """Raise a `ValueError` on parameters that do not go with the study."""

    def compute(self, points: Sequence[Point]) -> dict[str, Any]:
        """Every quantity at every point of one unit: arrays whose first axis is the points'."""
        return columns([self.at_point(point).compute_point(point) for point in points])

    def compute_point(self, point: Point) -> dict[str, Any]:
        """Every quantity at one point, for kinds whose points do not know of each other."""
        raise NotImplementedError

    def at_point(self, point: Point) -> Computation:
        """This kind with the parameters that are axes of the study at their values here."""
        own = {
            name: value for name, value in point.values.items() if name in type(self).model_fields
        }
        return self.model_validate(self.model_dump() | own) if own else self

    def every_variable(self) -> dict[str, Variable]:
        own = () if self.whole else tuple(self.coordinates())
        common = {
            "outcome": Variable(own, "str"),
            "reason": Variable(own, "str"),
            "seconds": Variable(own),
        }
        return common | self.variables()


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows of the same entries as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def kind_named(name: str, trust_code: bool = False) -> type[Computation]:
    """The class a study means by `kind = name`."""
    if ":" in name:
        found = named_object(name, "kind", trust_code)
        if not _is_kind(found):
            raise ValueError(f"kind: {name!r} is no class derived from dotphase.studies.Computation")
        return found
    if name not in kind_names():
        raise ValueError(
            f"kind: expected one of {', '.join(kind_names())} or package.module:Class, got {name!r}"
        )
    module = import_module(f"..computations.{name}", __package__)
    return next(
        found
        for found in vars(module).values()
        if _is_kind(found) and found.model_fields["kind"].default == name
    )


def kind_names() -> list[str]:
    """The kinds of this package, one per file in `kinds/`."""
    from .. import computations as kinds

    return sorted(
        found.name for found in iter_modules(kinds.__path__) if not found.name.startswith("_")
    )


def all_kinds() -> Iterator[type[Computation]]:
    return map(kind_named, kind_names())


def named_object(name: str, field: str, trust_code: bool) -> Any:
    """What `package.module:name` stands for: importing it runs code, which must have been allowed."""
    module, _, attribute = name.partition(":")
    if not trust_code:
        asked = "run code that comes with a study only if you trust it: --trust-code, or trust_code=True"
        raise ValueError(
            f"{field}: {name!r} would import the module {module!r} and run it; {asked}"
        )
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{field}: {name!r} cannot be imported: {error}") from None


def _is_kind(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Computation)
