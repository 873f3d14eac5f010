"""`dotphase learn`: what it prints, and what it refuses."""

import json

import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app

SHORT = ("--paths", 256, "--step-size", 0.75)


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in ("learn", *words)])


def test_json_has_every_number_at_every_step(tmp_path):
    picture = tmp_path / "curve.png"
    words = ("--alpha", 1.17, "--lambda", 0.001, "--start", "positional", "--d", 1000)
    answer = call(*words, "--time", 7.5, *SHORT, "--json", "--out", picture)
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert found["time"] == pytest.approx([0.75 * k for k in range(11)])
    for name in ("q", "m", "theta", "train_loss", "test_error"):
        assert len(found[name]["value"]) == len(found[name]["error"]) == 11
    assert found["m"]["value"][0] == pytest.approx(1000**-0.5)
    assert found["train_loss"]["value"][-1] < found["train_loss"]["value"][0]
    assert picture.stat().st_size > 1000


def test_without_json_there_is_a_table():
    answer = call("--shares", "0.3,0.2,0.4", "--steps", 20, *SHORT)
    assert answer.exit_code == 0, answer.output
    assert "training loss" in answer.stdout
    assert "modes" in answer.stdout.splitlines()[-1]


def test_steps_that_are_too_long_are_no_answer():
    answer = call("--start", "positional", "--steps", 60, "--step-size", 12, "--paths", 256)
    assert answer.exit_code == 3
    assert "unstable" in answer.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--start", "nowhere"),
        ("--shares", "1,2"),
        ("--steps", 3, "--time", 2),
        ("--steps", -3),
        ("--time", 5, "--step-size", 0),
        ("--paths", 1000),
        ("--momentum", 1),
        ("--d", 0),
    ],
)
def test_bad_input_is_one_line_and_code_two(words):
    answer = call(*words)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
