"""The page of commands, from the commands themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .sources import Page, table

HEAD = """# Commands

Every command has `--help`, with an example. Exit codes: 0 answered, 1 some points failed, 2 bad input (one line),
3 no answer (stalled), 130 interrupted.

## Options that many commands have

Commands marked *scenario* have the first {count} options. Without them the scenario is the paper's task.

{shared}
"""


def pages() -> Iterator[Page]:
    """One page: every command with its own options; options of several commands stand once."""
    import typer

    from dotphase.cli.app import app
    from dotphase.cli.options import SCENARIO

    commands = list(_walk(typer.main.get_command(app), ["dotphase"]))
    rows = {" ".join(path): [_row(each) for each in _parameters(one)] for path, one in commands}
    counts = Counter(
        tuple(row) for several in rows.values() for row in several if row[0].startswith("`--")
    )
    scenario = [tuple(row) for row in rows["dotphase solve"][: len(SCENARIO)]]
    usual: dict[str, tuple[str, ...]] = {}  # of each option the row that most commands have
    for row, count in counts.most_common():
        if count > 1 and row not in scenario:
            usual.setdefault(row[0], row)
    shared = [*scenario, *usual.values()]
    columns = ["option", "meaning", "default"]
    text = HEAD.format(count=len(scenario), shared=table(columns, map(list, shared)))
    for path, command in commands:
        name = " ".join(path)
        own = [row for row in rows[name] if tuple(row) not in shared]
        also = [row[0].split()[0] for row in rows[name] if tuple(row) in shared[len(scenario) :]]
        words = ["*scenario*"] * any(tuple(row) in scenario for row in rows[name]) + also
        text += f"\n({'-'.join(path)})=\n## {name}\n\n{_help(command)}\n"
        text += f"Also: {', '.join(words)}.\n\n" if words else ""
        text += table(columns, own) if own else ""
    yield "commands", text


def _walk(command, path: list[str]) -> Iterator[tuple[list[str], object]]:
    below = getattr(command, "commands", None)
    if not below:
        yield path, command
        return
    for name, inner in below.items():
        yield from _walk(inner, [*path, name])


def _parameters(command) -> list:
    return [each for each in command.params if getattr(each, "name", "") != "help"]


def _help(command) -> str:
    """What a command does, and its example."""
    return re.sub(r"Example: (.+)", r"```text\n\1\n```", (command.help or "").strip()) + "\n"


def _row(parameter) -> list[str]:
    named = parameter.param_type_name == "option"
    both = (
        [*parameter.opts, *parameter.secondary_opts]
        if named
        else [parameter.metavar or parameter.name.upper()]
    )
    told = getattr(parameter, "help", None) or ""
    text, _, default = told.partition(" [default: ")
    default = default.rstrip("]") or _default(parameter)
    return [" ".join(f"`{name}`" for name in both), text, f"`{default}`" if default else ""]


def _default(parameter) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    if (
        value is None
        or callable(value)
        or value == ()
        or value is False
        or "Sentinel" in repr(value)
    ):
        return ""
    return str(value)
