"""Every command explains itself: its help has an example that the command accepts."""

import re
import shlex

import pytest
import typer

from dotphase.cli.app import app


def commands(command=None, path=("dotphase",)):
    """Every command and every group of commands, by its words."""
    command = command or typer.main.get_command(app)
    yield path, command
    for name, below in (getattr(command, "commands", None) or {}).items():
        yield from commands(below, (*path, name))


EVERY = dict(commands())


def example(path):
    found = re.search(r"^Example: (.+)$", EVERY[path].help or "", re.MULTILINE)
    assert found, f"{' '.join(path)} --help has no example"
    return found[1]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_the_help_has_an_example_that_the_command_accepts(path):
    first, *words = shlex.split(example(path).partition(" > ")[0])
    named = (first,)
    while below := getattr(EVERY[named], "commands", None):
        named += (words.pop(0) if words[0] in below else "run",)  # `sweep STUDY` is `sweep run`
    assert named[: len(path)] == path
    EVERY[named].make_context(named[-1], words)


def test_a_wrong_example_would_be_refused():
    given = EVERY["dotphase", "solve"]
    with pytest.raises(Exception, match="--alhpa"):
        given.make_context("solve", ["--alhpa", "2"])


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_option_is_explained(path):
    for parameter in EVERY[path].params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{' '.join(path)}: {parameter.name}"
