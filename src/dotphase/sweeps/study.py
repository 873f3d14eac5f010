"""A study: what to compute, of which scenario, over which axes. TOML and Python are two spellings of one thing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from ..scenario import Scenario, paper, scenario_to_toml
from ..scenario.files import scenario_from_tables
from .axes import Axis, is_number_of, plain, same_axis, values_of
from .kind import Kind, all_kinds, kind_named, named_object


def _computation(given: Any) -> Kind:
    if isinstance(given, Kind):
        return given
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str):
        raise ValueError("expected a table with a `kind`")
    return kind_named(given["kind"]).model_validate(given)


def _source(given: Any) -> Any:
    """The tables of a scenario; a file's are taken in, so that a study does not depend on files that may change."""
    if isinstance(given, Scenario):
        return tomllib.loads(scenario_to_toml(given))
    if isinstance(given, dict) and "file" in given:
        _alone(given, "file")
        try:
            return tomllib.loads(Path(given["file"]).read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"file {given['file']}: {error}") from None
    return given


Label = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


class Study(BaseModel):
    """A grid of scenarios, and what to compute on it.

    - `scenario`: `paper = {…}` (the paper's task), `file = "mine.toml"`, `python = "package.module:function"` (which
      gives a `Scenario`), or the tables of a scenario file.
    - `axes`: in this order the leading dimensions of every result. A name is a number of the scenario (as
      `Scenario.vary` takes it) or a parameter of a computation, such as `d`.
    - `compute`: label → computation; the label comes before the names of its variables.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    name: str = "study"
    scenario: Annotated[dict[str, Any], BeforeValidator(_source)] = Field(default_factory=lambda: {"paper": {}})
    axes: dict[Label, Axis] = Field(default_factory=dict)
    compute: dict[Label, Annotated[SerializeAsAny[Kind], BeforeValidator(_computation)]] = Field(min_length=1)

    @cached_property
    def base(self) -> Scenario:
        """The scenario before the axes change it."""
        source = dict(self.scenario)
        if "paper" in source:
            _alone(source, "paper")
            given = {"ridge" if name == "lambda" else name: value for name, value in source["paper"].items()}
            try:
                return paper(**given)
            except TypeError as error:
                raise ValueError(f"scenario.paper: {error}") from None
        if "python" in source:
            _alone(source, "python")
            return named_object(source["python"], "scenario.python")()
        return scenario_from_tables(source)

    @model_validator(mode="after")
    def _consistent(self) -> Study:
        names = list(self.axes)
        for at, name in enumerate(names):
            if any(same_axis(name, other) for other in names[:at]):
                raise ValueError(f"axes.{name}: this parameter has two axes")
            _check_axis(self, name)
        for label, kind in self.compute.items():
            if label in self.axes:
                raise ValueError(f"compute.{label}: there is an axis of that name")
            try:
                _check_kind(self, label, kind)
            except ValueError as error:
                raise ValueError(f"compute.{label}.{error}") from None
        return self

    def values(self, axis: str, label: str | None = None) -> Any:
        """The values of an axis: those of the computation `label`, if it has some of its own."""
        own = self.compute[label].at if label is not None else {}
        return values_of(axis, own.get(axis, self.axes[axis]))


def _alone(source: dict[str, Any], name: str) -> None:
    if len(source) > 1:
        raise ValueError(f"scenario: {name} stands alone, found {', '.join(source)}")


def _check_axis(study: Study, name: str) -> None:
    values = study.values(name)
    if not is_number_of(study.base, name):
        if not any(name in type(kind).model_fields for kind in study.compute.values()):
            raise ValueError(f"axes.{name}: neither a number of the scenario nor a parameter of a computation")
        return
    for value in {plain(values.min()), plain(values.max())}:  # what a number may be is an interval
        try:
            study.base.vary(**{name: value})
        except (ValueError, TypeError) as error:
            raise ValueError(f"axes.{name}: {error}") from None


def _check_kind(study: Study, label: str, kind: Kind) -> None:
    for axis in kind.at:
        if axis not in study.axes:
            raise ValueError(f"at.{axis}: not an axis of the study")
        values_of(axis, kind.at[axis])
    for needed in kind.needs():
        if needed not in list(study.compute)[: list(study.compute).index(label)]:
            raise ValueError(f"needs {needed!r}, which is not computed before it")
    kind.check(study.base, tuple(study.axes))
    for axis in kind.depends_on(tuple(study.axes), study.base):
        if axis in type(kind).model_fields and not is_number_of(study.base, axis):
            for value in study.values(axis, label):
                varied = kind.model_validate(kind.model_dump() | {axis: plain(value)})
                if varied.coordinates() != kind.coordinates() or varied.unit(()) != kind.unit(()):
                    raise ValueError(f"{axis}: cannot be an axis, since the shape of the result depends on it")


def read_study(path: str | Path, overrides: Iterable[str] = ()) -> Study:
    """The study of a TOML file, with `key=value` overrides (`"axes.alpha.linspace=[0.1, 2, 5]"`) put in.

    A `ValueError` names what is wrong, in one line.

    **Arguments**: `path`, the file; `overrides`, as above.

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
        source["file"] = str(path.parent / source["file"])  # a path in a file is meant from where the file is
    try:
        return study_from(tables)
    except ValueError as error:
        raise ValueError(f"study {path}: {error}") from None


def study_from(tables: dict[str, Any]) -> Study:
    """`Study.model_validate`, its complaints in one line."""
    try:
        return Study.model_validate(tables)
    except ValidationError as error:
        raise ValueError("; ".join(_complaint(entry) for entry in error.errors())) from None


def _complaint(entry: Any) -> str:
    # Which member of a union failed is no help to anyone.
    place = ".".join(str(part) for part in entry["loc"] if not str(part).startswith(("tuple[", "Linspace", "Logspace")))
    message = entry["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


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
    """The JSON schema of a study file, every kind included."""
    schema = Study.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    references: list[dict[str, str]] = []
    for kind in all_kinds():
        own = kind.model_json_schema(ref_template="#/$defs/{model}")
        definitions |= own.pop("$defs", {})
        definitions[kind.__name__] = own
        references.append({"$ref": f"#/$defs/{kind.__name__}"})
    definitions.pop("Kind", None)
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
        return [text for name in names for text in differences(there.get(name), here.get(name), f"{place}.{name}")]
    return [] if there == here else [f"{place.strip('.')} was {there!r} and is {here!r}"]
