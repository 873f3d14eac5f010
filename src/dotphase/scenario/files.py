"""Scenario files: TOML in, TOML out, for scenarios made of built-in parts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ..numerics.extras import require
from .arguments import checked
from .attentions.attention import Attention
from .scenario import Scenario
from .tables import ScenarioTable, validated
from .tokens import Tokens


@checked
def read_scenario(path: str | Path) -> Scenario:
    """The scenario described by a TOML file; a `ValueError` names the field that is wrong.

    **Arguments**: `path`, the file.

    **Returns**: the `Scenario`.

    **Example**

        write_scenario(paper(alpha=2), "task.toml")
        read_scenario("task.toml") == paper(alpha=2)      # True
    """
    try:
        return scenario_from_toml(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"scenario file {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"scenario file {path}: {error}") from None


@checked
def write_scenario(scenario: Scenario, path: str | Path) -> None:
    """Write a `scenario` of built-in parts to the file `path`, so that `read_scenario` gives an
    equal one.

    **Returns**: nothing; the file is written.

    **Example**: `write_scenario(paper(alpha=2), "task.toml")`.
    """
    Path(path).write_text(scenario_to_toml(scenario), encoding="utf-8")


@checked
def scenario_from_toml(text: str) -> Scenario:
    """The scenario a TOML `text` describes.

    **Returns**: the `Scenario`.

    **Example**: `scenario_from_toml(scenario_to_toml(scenario)) == scenario`.
    """
    return scenario_from_tables(tomllib.loads(text))


def scenario_from_tables(document: dict[str, Any]) -> Scenario:
    """The scenario that the tables of a scenario file describe."""
    return validated(ScenarioTable, document).build()


@checked
def scenario_to_toml(scenario: Scenario) -> str:
    """A TOML text that `scenario_from_toml` reads back to an equal `scenario`.

    **Returns**: the text of a TOML file.

    **Example**: `print(scenario_to_toml(paper(alpha=2)))`.
    """
    require("writing a scenario file needs", "tomli_w")
    import tomli_w

    return tomli_w.dumps(scenario_to_tables(scenario))


def scenario_to_tables(scenario: Scenario) -> dict[str, Any]:
    """The tables of a scenario file: plain numbers, lists and dictionaries."""
    optional = {name: getattr(scenario, name) for name in ("teacher_weights", "dimension")}
    return {
        "sample_ratio": scenario.sample_ratio,
        "ridge": scenario.ridge,
        **{name: value for name, value in optional.items() if value is not None},
        "teacher": _attention("teacher", scenario.teacher),
        "student": _attention("student", scenario.student),
        "tokens": _tokens(scenario.tokens),
        "positions": {"components": scenario.positions.tau.tolist()},
    }


def _tokens(tokens: Tokens) -> dict[str, Any]:
    spectra = (
        {"covariances": tokens.Gamma.tolist()}
        if tokens.joint
        else {"eigenvalues": tokens.gamma.tolist()}
    )
    table: dict[str, Any] = spectra | {"weights": tokens.share.tolist()}
    if tokens.scales is not None:
        table["scales"] = {
            "values": tokens.scales.s.tolist(),
            "weights": tokens.scales.share.tolist(),
        }
    return table


def _attention(role: str, attention: Attention) -> dict[str, Any]:
    if attention.kind == "custom":
        raise ValueError(
            f"{role}: a custom function cannot be written to a file; only built-in attentions can"
        )
    settings: dict[str, Any] = dict(attention.settings)
    inside = {name: part for name, part in settings.items() if isinstance(part, Attention)}
    theirs = {number for part in inside.values() for number in part.parameters}
    own = {
        name: attention.values[name].tolist() for name in attention.parameters if name not in theirs
    }
    for name, part in inside.items():  # whose numbers may have been varied since it was put inside
        now = part.with_parameters(
            **{number: attention.parameters[number] for number in part.parameters}
        )
        settings[name] = _attention(f"{role}.{name}", now)
    return {"kind": attention.kind, **own, **settings}
