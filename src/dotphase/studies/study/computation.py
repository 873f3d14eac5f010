"""The base class of all computations, and how a computation is found by its name.

A computation is one class: its parameters, its own dimensions, its variables, and what it computes
at a point. Those of the package are listed in `computations/__init__.py`. A study may also name a
class of yours, `kind = "package.module:Class"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from ...scenario.names import word_of
from ...scenario.scenario import Scenario
from .axes import Axis, is_number_of
from .layout import Variable


class Point(NamedTuple):
    """Where to compute.

    - `scenario`: with the numbers of this point.
    - `values`: the value of every axis here.
    - `own`: the entries of the computation's own dimensions that this unit of work computes (all
      seeds, or some).
    - `known`: results of the computations this one `needs`: label → quantity → array over the
      dimensions that remain at this point, in their order; and the coordinates of these dimensions
      by name.
    """

    scenario: Scenario
    values: Mapping[str, Any]
    own: Mapping[str, Sequence[Any]]
    known: Mapping[str, Mapping[str, Any]]


class Computation(BaseModel):
    """A computation, as its table in a study describes it.

    - `at`: values of an axis for this computation alone (training at fewer α than the theory, say);
      the dimension is then called `label_axis`.
    - `place`: how it uses several cores of one machine: "threads", which share a compilation, or
      "processes".
    - `growing`: parameters that only make its own dimensions longer, so that a store can be
      extended.
    - `whole`: one outcome for a point, not one for each entry of its own dimensions.
    - `of_scenario`: whether the numbers of the scenario matter.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")
    place: ClassVar[str] = "processes"
    growing: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[bool] = False
    of_scenario: ClassVar[bool] = True

    kind: Any
    at: dict[str, Axis] = Field(default_factory=dict)

    def depends_on(self, axes: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
        """The axes the result depends on: numbers of the scenario, and parameters of the
        computation, but those it `ignores`."""
        numbers = [axis for axis in axes if self.of_scenario and is_number_of(scenario, axis)]
        own = {*numbers, *type(self).model_fields}
        ignored = {word_of(name) for name in self.ignores()}
        return tuple(axis for axis in axes if axis in own and word_of(axis) not in ignored)

    def ignores(self) -> tuple[str, ...]:
        """Numbers and parameters on which the result does not depend, under either name."""
        return ()

    def coordinates(self) -> dict[str, Sequence[Any]]:
        """Its own dimensions and their coordinates."""
        return {}

    def variables(self) -> dict[str, Variable]:
        """The quantities; `outcome`, `reason` and `seconds` are added for every entry unless given
        here."""
        raise NotImplementedError

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        """How many values one unit of work covers along each dimension, None for all of them.
        Unless given: one value of each of the `axes` it depends on, all of its own dimensions."""
        return {}

    def needs(self) -> tuple[str, ...]:
        """Labels of computations whose results this one reads."""
        return ()

    def check_needed(self, needed: Computation) -> None:
        """Raise a `ValueError` if a computation this one `needs` lacks what it reads there."""

    @property
    def separable(self) -> bool:
        """Whether the points of a unit can be computed one by one, so that a failed point does not
        affect the others."""
        return True

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        """Raise a `ValueError` if the parameters do not fit the study."""

    def compute(self, points: Sequence[Point]) -> dict[str, Any]:
        """Every quantity at every point of one unit: arrays whose first axis is the points'."""
        return columns([self.at_point(point).compute_point(point) for point in points])

    def compute_point(self, point: Point) -> dict[str, Any]:
        """Every quantity at one point, for computations whose points are independent."""
        raise NotImplementedError

    def at_point(self, point: Point) -> Computation:
        """This computation with the parameters that are axes of the study at their values here."""
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


def computation_named(name: str, trust_code: bool = False) -> type[Computation]:
    """The class of the computation that a study names by `kind = name`."""
    if ":" in name:
        found = named_object(name, "kind", trust_code)
        if not (isinstance(found, type) and issubclass(found, Computation)):
            raise ValueError(
                f"kind: {name!r} is no class derived from dotphase.studies.Computation"
            )
        return found
    from ..computations import COMPUTATIONS

    if name not in COMPUTATIONS:
        known = ", ".join(COMPUTATIONS)
        raise ValueError(f"kind: expected one of {known} or package.module:Class, got {name!r}")
    module, attribute = COMPUTATIONS[name]
    return getattr(import_module(f"..computations.{module}", __package__), attribute)


def all_computations() -> Iterator[type[Computation]]:
    """The computations of this package."""
    from ..computations import COMPUTATIONS

    return map(computation_named, COMPUTATIONS)


def named_object(name: str, field: str, trust_code: bool) -> Any:
    """The object `package.module:name`. Importing it runs code, which must have been allowed."""
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
