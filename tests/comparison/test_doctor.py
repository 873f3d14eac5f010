"""`dotphase doctor`: the stored answers are reproduced, and a wrong one is said."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.comparison import doctor


@pytest.fixture(scope="module")
def found():
    return doctor.examine()


def test_this_machine_gives_the_stored_answers(found):
    assert found.wrong == []
    assert len(found.stored) == 5
    assert "the numbers are right here" in str(found)
    assert {"dotphase", "packages", "precision", "cores", "memory", "cache"} <= set(found.machine)
    assert "float64 inside" in found.machine["precision"]


@pytest.mark.parametrize("wrong", [1 + 1e-5, float("nan")])
def test_an_answer_that_differs_is_named(found, wrong):
    name = "semantic test error"
    changed = replace(found, answers=found.answers | {name: wrong * found.stored[name]})
    assert changed.wrong == [name]
    assert f"4 of 5 answers as stored, {found.seconds:.0f} s: WRONG: {name}" in changed.headline


def test_the_command_says_so_with_its_exit_code(found, monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda progress: found)
    good = CliRunner().invoke(app, ["doctor", "--json"])
    assert good.exit_code == 0
    assert json.loads(good.stdout)["wrong"] == []
    bad = replace(found, stored=found.stored | {"semantic test error": 1.0})
    monkeypatch.setattr(doctor, "examine", lambda progress: bad)
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 1
