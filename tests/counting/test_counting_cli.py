"""The command line of the counting task: answers, pictures, one-line refusals."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dotphase.cli.counting import app

# The experiment of conftest.MACHINERY, whose compiled epoch is there already.
OPTIONS = {"seeds": 2, "epochs": 3, "samples": 6000, "length": 4, "letters": 12, "batch": 8}
SMALL = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]


def ask(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("counting") / "run"
    result = ask("train", "--out", place, *SMALL)
    assert result.exit_code == 0, result.output
    assert "semantic, 3 epochs" in result.stdout
    return place


def test_train_answers_in_json(directory):
    result = ask("train", "--out", directory, *SMALL, "--json")
    answer = json.loads(result.stdout)
    assert (answer["mechanism"], answer["epochs"], len(answer["seeds"])) == ("semantic", 3, 2)
    assert 0 < answer["accuracy"]["value"] <= 1
    assert answer["settled"] == answer["accuracy"]  # a tenth of three epochs is the last one
    assert answer["seeds"][0]["scores"]["position"]["error"] > 0


def test_surgery_and_show(directory, tmp_path):
    result = ask("surgery", directory, "--epochs", 1, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [seed["seed"] for seed in answer["seeds"]] == [0, 1]
    assert all(0 < seed["moved_share"] < 1 for seed in answer["seeds"])

    result = ask("show", directory, "--sentence", "ABBA", "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["counts"] == [2, 2, 2, 2]
    assert list(answer["answers"]) == ["semantic, seed 0", "semantic, seed 0, after surgery"]
    assert all(
        path.stat().st_size > 1000
        for path in (tmp_path / "attention.png", tmp_path / "learning.png")
    )

    assert "sentence" in ask("show", directory, "--seed", 1, "--out", tmp_path).stdout
    assert "travelled" in ask("surgery", directory, "--epochs", 1).stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["train", "--out", "DIR", *SMALL, "--mechanism", "lexical"], "mechanism: expected one of"),
        (
            ["train", "--out", "DIR", *SMALL, "--mechanism", "free"],
            "mechanism is semantic there, free here",
        ),
        (
            ["train", "--out", "DIR", *SMALL, "--length", "1"],
            "cannot draw 6000 different sequences",
        ),
        (["train", "--out", "DIR", *SMALL, "--samples", "100"], "at least 40 validation sequences"),
        (["train", "--out", "DIR/config.json", *SMALL], "config.json"),
        (["surgery", "DIR", "--noise", "-1"], "noise: must be zero or positive"),
        (["surgery", "DIR/missing"], "no counting run"),
        (["show", "DIR", "--sentence", "XYZ!"], "not among the letters"),
        (["show", "DIR", "--sentence", "ABC"], "trained on 4"),
        (["show", "DIR", "--seed", "9"], "no seed 9"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(directory, arguments, complaint):
    result = ask(*(argument.replace("DIR", str(directory)) for argument in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert complaint in lines[0]


def test_the_command_line_loads_nothing_heavy():
    """`dotphase --help` imports this module: it must stay light."""
    heavy = "('jax', 'numpy', 'matplotlib')"
    code = f"import sys, dotphase.cli.counting; print([m for m in {heavy} if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
