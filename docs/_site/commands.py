"""The page of commands, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

from .sources import Page, table


def pages() -> Iterator[Page]:
    """One page: every command with its arguments and options."""
    import typer

    from dotphase.cli.app import app

    text = (
        "# Commands\n\nEvery command has `--help`; most have `--json`. Exit codes: 0 answered, 1 some"
        " points failed, 2 bad input (one line), 3 no answer (stalled), 130 interrupted.\n"
    )
    for path, command in _walk(typer.main.get_command(app), ["dotphase"]):
        text += f"\n({'-'.join(path)})=\n## {' '.join(path)}\n\n{_help(command)}\n\n"
        text += f"```text\n{_usage(path, command)}\n```\n\n"
        rows = [
            _row(parameter)
            for parameter in command.params
            if getattr(parameter, "name", "") != "help"
        ]
        text += table(["option", "meaning", "default"], rows) if rows else ""
    yield "commands", text


def _walk(command, path: list[str]) -> Iterator[tuple[list[str], object]]:
    below = getattr(command, "commands", None)
    if not below:
        yield path, command
        return
    for name, inner in below.items():
        yield from _walk(inner, [*path, name])


def _help(command) -> str:
    return (command.help or "").strip()


def _usage(path: list[str], command) -> str:
    arguments = [
        p.name.upper() + ("…" if p.nargs != 1 else "")
        for p in command.params
        if p.param_type_name == "argument"
    ]
    return " ".join([*path, *arguments, "[OPTIONS]"])


def _row(parameter) -> list[str]:
    named = parameter.param_type_name == "option"
    both = [*parameter.opts, *parameter.secondary_opts] if named else [parameter.name.upper()]
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
