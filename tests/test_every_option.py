"""Every option of every command, given wrong values: exit code 2 and one line, within two seconds."""

import signal

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dotphase.cli.app import app

RUNNER = CliRunner()


def _commands(command, path=()):
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _commands(inner, (*path, name))
    else:
        yield path, command


COMMANDS = dict(_commands(typer.main.get_command(app)))
NEEDED = {  # what a command cannot do without, of which nothing is read or written
    ("phase-diagram",): ["--out", "/dev/null/out"],
    ("transition",): ["train-loss"],
    ("language-model",): ["--out", "/dev/null/out"],
    ("counting", "train"): ["--out", "/dev/null/out"],
    ("counting", "surgery"): ["/dev/null/run"],
    ("counting", "show"): ["/dev/null/run"],
    ("export",): ["/dev/null/store", "--format", "csv"],
    ("sweep", "run"): ["/dev/null/study.toml", "--out", "/dev/null/out"],
}
WORDS = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=4).map(
    lambda word: f"no-{word}"
)
NUMBERS = st.one_of(
    st.sampled_from(["nan", "inf", "-inf", "", "1e", "0x1", "1,5", "--", "1:2:0", "-1e300"]),
    st.floats(-1e6, -1e-6).map(str),
    st.integers(-(10**6), -1).map(str),
    WORDS,
)
# Files are refused where they are missing; any word is a sentence, a host or the name of a seed.
SKIPPED = {  # options, and why
    "--checkpoint": "a file that need not be there",
    "--host": "any name may be a host",
    "--static": "a folder that need not be there",
    "--picture": "a file that need not be there",
    "--out": "a file that need not be there",
    "--sentence": "asked of a run that is there",
    "--text": "a file; refused with its name",
    "--certificates": "a folder that need not be there",
    "--set": "refused with the study's fields",
}
OPTIONS = [
    (path, option.opts[0])
    for path, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option"
    and not option.is_flag
    and option.opts[0] not in SKIPPED
    and not option.is_eager
]


class TooSlow(BaseException):
    pass


def complaint(path, option, wrong):
    """What is wrong with how a command refuses `wrong`; None where it does it well."""

    def stop(*_):
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 20)
    try:
        result = RUNNER.invoke(app, [*path, *NEEDED.get(path, []), f"{option}={wrong}"])
    except TooSlow:
        return "starts to compute"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    lines = result.stderr.strip().splitlines()
    if result.exit_code != 2 or len(lines) != 1 or not lines[0].startswith("error: "):
        return f"exit {result.exit_code}, {result.exception!r}, {result.stderr[-200:]}"
    return None


@pytest.mark.parametrize(
    ("path", "option"),
    OPTIONS,
    ids=lambda part: "-".join(part) if isinstance(part, tuple) else part,
)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(wrong=NUMBERS)
def test_a_wrong_value_is_one_line(path, option, wrong):
    refused = complaint(path, option, wrong)
    if refused == "starts to compute":  # or imports what it needs, which is done once
        refused = complaint(path, option, wrong)
    assert not refused
