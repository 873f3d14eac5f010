"""`dotphase dynamics` and `dotphase bayes`: what they print, and what they refuse before computing
anything."""

import json

import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.cli.errors import NO_ANSWER


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_bayes_answers_in_json():
    answer = call("bayes", "--alpha", 0.1, "--json")
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    assert found["weak_recovery"]["sample_ratio"]["value"] == pytest.approx(1 / 6)
    assert found["uninformed"]["outcome"] == "converged"


def test_bayes_that_stalls_is_no_answer(monkeypatch):
    from dotphase.bayes import limit

    solved = limit.bayes
    monkeypatch.setattr(
        limit, "bayes", lambda *given, **options: solved(*given, iterations=1, **options)
    )
    for options in ([], ["--json"]):
        answer = call("bayes", "--alpha", 0.4, *options)
        assert "stalled" in answer.stdout
        assert answer.exit_code == NO_ANSWER


def test_no_number_of_a_path_is_cut_off():
    table = call("dynamics", "--shares", "0.3,0.1,0.2", "--until", 1, "--rate", 0.001).stdout
    assert "…" not in table
    assert "│" not in table


def test_dynamics_prints_a_path():
    answer = call("dynamics", "--shares", "0.3,0.1,0.2", "--until", 1)
    assert answer.exit_code == 0, answer.output
    assert "finished" in answer.stdout
    assert "test error" in answer.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("dynamics", "--start", "nowhere"),
        ("dynamics", "--shares", "1,2"),
        ("dynamics", "--seeds", 3),
        ("dynamics", "--rate", -1),
        ("bayes", "--omega", 1),
        ("bayes", "--seeds", 0),
    ],
)
def test_bad_input_is_one_line_and_code_two(words):
    answer = call(*words)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.count("\n") == 1
