"""Pages of the files people write, from the pydantic models that read them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import dotphase

from .public import markdown
from .sources import Page, table

SCENARIO_FILE = """# Scenario files

`--scenario FILE` and `read_scenario` read these files; `write_scenario` writes them. The format is TOML. Each number
has the paper's letter or a word as its name ([notation](../notation.md)). Unknown entries are refused.

```toml
{example}```

`dotphase solve --scenario mine.toml --alpha 1.5` reads the file and changes one number.
"""
STUDY_FILE = """# Study files

`dotphase sweep STUDY.toml` and `read_study` read these files. How they are run, resumed and extended:
[studies](../studies.md).

```toml
{example}```

`dotphase sweep schema` prints the JSON schema from which this page is made, for editors.
"""


def pages() -> Iterator[Page]:
    """Of scenario files and of study files."""
    yield "scenario-files", SCENARIO_FILE.format(example=_scenario_example()) + _scenario_tables()
    yield "study-files", STUDY_FILE.format(example=_study_example()) + _study_tables()


def _scenario_example() -> str:
    return dotphase.scenario.scenario_to_toml(dotphase.paper(alpha=2, omega=0.3))


def _study_example() -> str:
    from .sources import ROOT

    return (ROOT / "examples" / "studies" / "slices.toml").read_text(encoding="utf-8")


def _scenario_tables() -> str:
    from dotphase.scenario import tables

    text, top, paper = "", tables.ScenarioTable, tables.PaperTable
    for model in [top, *(model for model in _below(tables.Table) if model not in (top, paper))]:
        text += f"\n## {_title(model)}\n\n{markdown(_help(model))}\n\n{_fields(model)}"
    return text + f"\n## The paper's task\n\nIn study files, `paper = {{…}}`:\n\n{_fields(paper)}"


def _below(model: type) -> Iterator[type]:
    """The tables derived from a table, but those that only serve to derive others."""
    for derived in model.__subclasses__():
        if derived.__subclasses__():
            yield from _below(derived)
        else:
            yield derived


def _help(model: Any) -> str:
    """What a table is: its own docstring, or the attention that it builds."""
    kind = model.model_fields.get("kind")
    name = kind.annotation.__args__[0] if kind else ""
    listed = name in dotphase.attentions.__all__
    return f"`dotphase.attentions.{name}`." if listed else inspect.getdoc(model) or ""


def _title(model: Any) -> str:
    kind = model.model_fields.get("kind")
    if kind is not None:
        return "kind = " + " or ".join(f'`"{value}"`' for value in kind.annotation.__args__)
    name = model.__name__.removesuffix("Table").lower()
    return {
        "scenario": "The file",
        "token": "`tokens`",
        "position": "`positions`",
        "scales": "`tokens.scales`",
    }.get(name, f"`{name}`")


def _study_tables() -> str:
    from dotphase.studies.study.computation import all_computations
    from dotphase.studies.study.study import Study

    text = f"\n## The file\n\n{markdown(inspect.getdoc(Study) or '')}\n\n{_fields(Study)}"
    for kind in all_computations():
        title = f'kind = `"{kind.model_fields["kind"].default}"`'
        text += f"\n## {title}\n\n{markdown(inspect.getdoc(kind) or '')}\n\n{_fields(kind)}"
    return text


def _fields(model: Any) -> str:
    schema = model.model_json_schema()
    definitions, rows = schema.get("$defs", {}), []
    schema = (
        definitions[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    )  # one that contains itself
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        default = (
            "required"
            if name in required
            else f"`{json.dumps(field['default'], ensure_ascii=False)}`"
            if "default" in field
            else ""
        )
        rows.append([f"`{name}`", _type(field, definitions), default])
    return table(["entry", "allowed values", "default"], rows)


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """In words: what a schema allows."""
    if "const" in field:
        return f'`"{field["const"]}"`'
    if "enum" in field:
        return " or ".join(f'`"{value}"`' for value in field["enum"])
    for joined in ("anyOf", "oneOf", "allOf"):
        if joined in field:
            return " or ".join(
                dict.fromkeys(
                    _type(each, definitions) for each in field[joined] if each.get("type") != "null"
                )
            )
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        inner = definitions[name]
        known = inner.get("properties", {}).get("kind")
        return (
            f"a table, kind {_type(known, definitions)}"
            if known
            else "a table"
            if inner.get("type") == "object"
            else _type(inner, definitions)
        )
    if field.get("type") == "array":
        return "a list of " + _type(
            field.get("items") or {"type": "any"}, definitions
        ).removeprefix("a ")
    words = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "object": "a table",
    }
    text = words.get(field.get("type", ""), "anything")
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
    bounds = [f"{sign} {field[key]:g}" for key, sign in signs.items() if key in field]
    return " ".join([text, ", ".join(bounds)]).strip()
