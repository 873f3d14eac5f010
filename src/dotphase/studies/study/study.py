"""A study: what to compute, of which scenario, over which axes. Written in TOML or in Python."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from ...scenario.arguments import checked
from ...scenario.files import scenario_from_tables, scenario_to_tables
from ...scenario.scenario import Scenario
from ...scenario.tables import PaperTable, complaint, validated
from .axes import Axis, is_number_of, plain, same_axis, values_of
from .computation import Computation, all_computations, computation_named, named_object
from .layout import Label


def _computation(given: Any, info: ValidationInfo) -> Computation:
    if isinstance(given, Computation):
        return given
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str):
        raise ValueError("expected a table with a `kind`")
    return computation_named(given["kind"], _trusted(info)).model_validate(given)


def _trusted(info: ValidationInfo) -> bool:
    return bool(info.context and info.context.get("trust_code"))


def _source(given: Any) -> Any:
    """The tables of a scenario; those of a file are copied, so that the study does not depend on a
    file that may change."""
    if isinstance(given, Scenario):
        return scenario_to_tables(given)
    if isinstance(given, dict) and "file" in given:
        _alone(given, "file")
        if not isinstance(given["file"], str | Path):
            raise ValueError(f"file: expected the name of a file, got {given['file']!r}")
        try:
            return tomllib.loads(Path(given["file"]).read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"file {given['file']}: {error}") from None
    return given


class Study(BaseModel):
    """A grid of scenarios, and what to compute on it.

    - `scenario`: `paper = {…}` (the paper's task), `file = "mine.toml"`, `python =
      "package.module:function"` (which gives a `Scenario`), or the tables of a scenario file.
    - `axes`: in this order the leading dimensions of every result. A name is a number of the
      scenario (as `Scenario.vary` takes it) or a parameter of a computation, such as `d`.
    - `compute`: label → computation; the label comes before the names of its variables.
    - `time_limit`: seconds after which a unit of work that gives no answer is recorded as failed.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    name: str = "study"
    scenario: Annotated[dict[str, Any], BeforeValidator(_source)] = Field(
        default_factory=lambda: {"paper": {}}
    )
    axes: dict[Label, Axis] = Field(default_factory=dict)
    compute: dict[Label, Annotated[SerializeAsAny[Computation], BeforeValidator(_computation)]] = (
        Field(min_length=1)
    )

    time_limit: float = Field(86_400.0, gt=0)  # seconds: a day
    _trust_code: bool = PrivateAttr(False)

    @cached_property
    def base(self) -> Scenario:
        """The scenario before the axes change it."""
        source = dict(self.scenario)
        for name, make in (("paper", _paper), ("python", self._by_function)):
            if name in source:
                _alone(source, name)
                return make(source[name])
        return scenario_from_tables(source)

    def _by_function(self, name: Any) -> Scenario:
        if not isinstance(name, str):
            raise ValueError(f"scenario.python: expected package.module:function, got {name!r}")
        function = named_object(name, "scenario.python", self._trust_code)
        try:
            found = function()
        except Exception as error:
            raise ValueError(
                f"scenario.python: {name!r} failed: {type(error).__name__}: {error}"
            ) from None
        if not isinstance(found, Scenario):
            raise ValueError(
                f"scenario.python: {name!r} gave {type(found).__name__}, not a Scenario"
            )
        return found

    @property
    def named_code(self) -> list[str]:
        """Modules outside this package that the study imports."""
        names = [
            self.scenario.get("python"),
            *(computation.kind for computation in self.compute.values()),
        ]
        return sorted({name for name in names if isinstance(name, str) and ":" in name})

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Study:
        self._trust_code = _trusted(info)
        names = list(self.axes)
        for at, name in enumerate(names):
            if any(same_axis(name, other) for other in names[:at]):
                raise ValueError(f"axes.{name}: this parameter has two axes")
            _check_axis(self, name)
        for label, computation in self.compute.items():
            if label in self.axes:
                raise ValueError(f"compute.{label}: there is an axis of that name")
            try:
                _check_computation(self, label, computation)
            except ValueError as error:
                raise ValueError(f"compute.{label}.{error}") from None
        return self

    def values(self, axis: str, label: str | None = None) -> Any:
        """The values of an axis: those of the computation `label`, if it has some of its own."""
        own = self.compute[label].at if label is not None else {}
        if axis in own:
            return values_of(f"at.{axis}", own[axis])
        return values_of(f"axes.{axis}", self.axes[axis])


def _paper(given: dict[str, Any]) -> Scenario:
    try:
        with np.errstate(over="raise"):
            return validated(PaperTable, given).build()
    except ArithmeticError as error:
        raise ValueError(f"scenario.paper: {error}, with {given}") from None
    except ValueError as error:
        raise ValueError(f"scenario.paper: {error}") from None


def _alone(source: dict[str, Any], name: str) -> None:
    if len(source) > 1:
        raise ValueError(f"scenario: {name} stands alone, found {', '.join(source)}")


def _check_axis(study: Study, name: str) -> None:
    values = study.values(name)
    if not is_number_of(study.base, name):
        if not any(
            name in type(computation).model_fields for computation in study.compute.values()
        ):
            raise ValueError(
                f"axes.{name}: neither a number of the scenario nor a parameter of a computation"
            )
        return
    _check_numbers(study, name, values, f"axes.{name}")


def _check_numbers(study: Study, name: str, values: np.ndarray, place: str) -> None:
    """The scenario takes each of the values as its number `name`."""
    if values.dtype.kind not in "if":
        raise ValueError(f"{place}: expected numbers, got {values.tolist()}")
    for value in {plain(values.min()), plain(values.max())}:  # the allowed numbers form an interval
        try:
            with np.errstate(over="raise"):
                study.base.vary(**{name: value})
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ValueError(f"{place}: {error}") from None


def _check_computation(study: Study, label: str, computation: Computation) -> None:
    for axis in computation.at:
        if axis not in study.axes:
            raise ValueError(f"at.{axis}: not an axis of the study")
        values = study.values(axis, label)
        if is_number_of(study.base, axis):
            _check_numbers(study, axis, values, f"at.{axis}")
    for dimension, entries in computation.coordinates().items():
        if not len(entries):
            fields = type(computation).model_fields
            name = next((name for name in fields if name.startswith(dimension)), dimension)
            raise ValueError(f"{name}: at least one value is needed")
    for needed in computation.needs():
        if needed not in list(study.compute)[: list(study.compute).index(label)]:
            raise ValueError(f"needs {needed!r}, which is not computed before it")
        computation.check_needed(study.compute[needed])
    computation.check(study.base, tuple(study.axes))
    for axis in computation.depends_on(tuple(study.axes), study.base):
        if axis in type(computation).model_fields and not is_number_of(study.base, axis):
            for value in study.values(axis, label):
                tables = computation.model_dump() | {axis: plain(value)}
                varied = validated(type(computation), tables)
                shape, unit = computation.coordinates(), computation.unit(())
                if varied.coordinates() != shape or varied.unit(()) != unit:
                    raise ValueError(
                        f"{axis}: cannot be an axis, since the shape of the result depends on it"
                    )


@checked
def read_study(
    path: str | Path, overrides: Iterable[str] = (), *, trust_code: bool = False
) -> Study:
    """The study of a TOML file, with `key=value` overrides (`"axes.alpha.linspace=[0.1, 2, 5]"`)
    put in.

    A `ValueError` names what is wrong, in one line. Code that the study names (`python =
    "module:function"`, a computation of its own) is imported only with `trust_code`.

    **Arguments**: `path`, the file; `overrides`, as above; `trust_code`.

    **Returns**: a `Study`.

    **Example**: `read_study("slices.toml", ["compute.theory.nodes=4096"])`.
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"study {path}: {getattr(error, 'strerror', None) or error}") from None
    for override in overrides:
        _put(tables, override)
    source = tables.get("scenario")
    if isinstance(source, dict) and isinstance(source.get("file"), str):
        # A path in a file is relative to the folder of the file.
        source["file"] = str(path.parent / source["file"])
    try:
        return study_from(tables, trust_code=trust_code)
    except ValueError as error:
        raise ValueError(f"study {path}: {error}") from None


def study_from(tables: dict[str, Any], *, trust_code: bool = False) -> Study:
    """`Study.model_validate`, with its errors in one line; `trust_code` as in `read_study`."""
    try:
        return Study.model_validate(tables, context={"trust_code": trust_code})
    except ValidationError as error:
        inside = lambda place: len(place) > 2 and place[0] == "compute"
        computation = lambda place: (
            computation_named(tables["compute"][place[1]]["kind"], trust_code)
            if inside(place)
            else None
        )
        raise ValueError(complaint(Study, error, ("Linspace", "Logspace"), computation)) from None


def _put(tables: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"--set: expected key=value, got {override!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word needs no quotes
    *path, last = key.strip().split(".")
    for part in path:
        tables = tables.setdefault(part, {})
        if not isinstance(tables, dict):
            raise ValueError(f"--set {key}: {part} is not a table")
    tables[last] = value


def study_schema() -> dict[str, Any]:
    """The JSON schema of a study file, with every computation."""
    schema = Study.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    references: list[dict[str, str]] = []
    for computation in all_computations():
        own = computation.model_json_schema(ref_template="#/$defs/{model}")
        definitions |= own.pop("$defs", {})
        definitions[computation.__name__] = own
        references.append({"$ref": f"#/$defs/{computation.__name__}"})
    definitions.pop("Computation", None)
    table = schema["properties"]["compute"]
    for holder in [table.get("additionalProperties"), *table.get("patternProperties", {}).values()]:
        if isinstance(holder, dict):
            holder.clear()
            holder["anyOf"] = references
    return schema


def differences(there: Any, here: Any, place: str = "") -> Sequence[str]:
    """Where two studies' tables differ, in words."""
    if isinstance(there, dict) and isinstance(here, dict):
        names = dict.fromkeys([*there, *here])
        return [
            text
            for name in names
            for text in differences(there.get(name), here.get(name), f"{place}.{name}")
        ]
    return [] if there == here else [f"{place.strip('.')} was {there!r} and is {here!r}"]
