"""Scenario files: TOML in, TOML out, for scenarios made of built-in parts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from . import attention as _attention
from .attention import Attention
from .scenario import Scenario
from .tokens import Positions, Tokens, isotropic, no_positions

FIELDS = ("sample_ratio", "ridge", "teacher", "student", "tokens", "positions", "teacher_weights")


def read_scenario(path: str | Path) -> Scenario:
    """The scenario described by a TOML file; a `ValueError` names the field that is wrong."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"scenario file {path}: {error.strerror or error}") from None
    try:
        return scenario_from_toml(text)
    except ValueError as error:
        raise ValueError(f"scenario file {path}: {error}") from None


def write_scenario(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario of built-in parts so that `read_scenario` gives an equal one."""
    Path(path).write_text(scenario_to_toml(scenario), encoding="utf-8")


def scenario_from_toml(text: str) -> Scenario:
    """The scenario a TOML text describes."""
    return scenario_from_tables(tomllib.loads(text))


def scenario_from_tables(document: dict[str, Any]) -> Scenario:
    """The scenario that the tables of a scenario file describe."""
    _known("", document, FIELDS)
    for name in ("sample_ratio", "ridge", "teacher", "student", "tokens"):
        if name not in document:
            raise ValueError(f"{name}: missing")
    tokens = _tokens(_table("tokens", document["tokens"]))
    length = tokens.gamma.shape[1]
    return Scenario(
        teacher=_read_attention("teacher", document["teacher"]),
        student=_read_attention("student", document["student"]),
        tokens=tokens,
        positions=_positions(document["positions"]) if "positions" in document else no_positions(length),
        sample_ratio=document["sample_ratio"],
        ridge=document["ridge"],
        teacher_weights=document.get("teacher_weights"),
    )


def scenario_to_toml(scenario: Scenario) -> str:
    """A TOML text that `scenario_from_toml` reads back to an equal scenario."""
    lines = [f"sample_ratio = {scenario.sample_ratio!r}", f"ridge = {scenario.ridge!r}"]
    if scenario.teacher_weights is not None:
        lines.append(f"teacher_weights = {_toml(scenario.teacher_weights)}")
    for role in ("teacher", "student"):
        lines += ["", *_write_attention(role, getattr(scenario, role))]
    lines += ["", "[tokens]", f"eigenvalues = {_toml(scenario.tokens.eigenvalues)}"]
    lines += [f"weights = {_toml(scenario.tokens.weights)}"]
    lines += ["", "[positions]", f"components = {_toml(scenario.positions.components)}"]
    return "\n".join(lines) + "\n"


def _tokens(table: dict[str, Any]) -> Tokens:
    _known("tokens", table, ("eigenvalues", "weights", "length", "deviation"))
    if "eigenvalues" in table:
        return Tokens(table["eigenvalues"], table.get("weights"))
    if "length" not in table:
        raise ValueError("tokens: give `eigenvalues` (and `weights`), or `length` and `deviation` if isotropic")
    return isotropic(table["length"], table.get("deviation", 1.0))


def _positions(table: Any) -> Positions:
    _known("positions", _table("positions", table), ("components",))
    if "components" not in table:
        raise ValueError("positions.components: missing")
    return Positions(table["components"])


def _read_attention(role: str, table: Any) -> Attention:
    settings = dict(_table(role, table))
    kind = settings.pop("kind", None)
    allowed = {
        "softmax": ("rank", "tied"),
        "linear": ("rank", "tied"),
        "constant": ("positional", "rank"),
        "mixture": ("positional", "mixing", "semantic"),
    }
    if kind not in allowed:
        raise ValueError(f"{role}.kind: expected one of {', '.join(allowed)}, got {kind!r}")
    _known(role, settings, allowed[kind])
    if kind == "mixture" and "semantic" in settings:
        settings["semantic"] = _read_attention(f"{role}.semantic", settings["semantic"])
    build = {
        "softmax": _attention.softmax_attention,
        "linear": _attention.linear_attention,
        "constant": lambda positional, rank=1: _attention.constant_attention(positional, rank),
        "mixture": _attention.mixture,
    }[kind]
    try:
        return build(**settings)
    except TypeError as error:
        raise ValueError(f"{role}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{role}.{error}") from None


def _write_attention(role: str, attention: Attention) -> list[str]:
    if attention.kind == "custom":
        raise ValueError(f"{role}: a custom function cannot be written to a file; only built-in attentions can")
    lines = [f"[{role}]", f'kind = "{attention.kind}"']
    own = {name: attention.parameters[name] for name in ("positional", "mixing") if name in attention.parameters}
    lines += [f"{name} = {_toml(value)}" for name, value in own.items()]
    nested: list[str] = []
    for name, value in attention.settings:
        if isinstance(value, Attention):
            nested = ["", *_write_attention(f"{role}.{name}", value)]
        else:
            lines.append(f"{name} = {_toml(value)}")
    return lines + nested


def _known(where: str, table: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in table:
        if name not in names:
            place = f"{where}.{name}" if where else name
            raise ValueError(f"{place}: unknown; expected one of {', '.join(names)}")


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected a table [{name}], got {value!r}")
    return value


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    return repr(value)
