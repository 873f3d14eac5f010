import json

import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_train_answers_in_json():
    found = run(
        "train",
        "--alpha",
        2,
        "--omega",
        0.3,
        "--d",
        60,
        "--start",
        "semantic",
        "--seeds",
        2,
        "--json",
    )
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    for name in ("test_error", "train_loss", "m", "theta", "q"):
        assert set(answer[name]) == {"value", "error"}
    assert answer["outcome"] == {"converged": 2}
    assert answer["seconds"] > 0


def test_options_reach_the_scenario():
    from dotphase.finite.training.training import train
    from dotphase.scenario.presets import paper

    task = (
        "--alpha",
        1.5,
        "--omega",
        0.1,
        "--sigma",
        0.6,
        "--lambda",
        0.02,
        "--positional",
        "alternative",
    )
    found = run("train", *task, "--d", 50, "--start", "positional", "--seeds", 1, "--json")
    wanted = train(paper(1.5, 0.1, 0.6, 0.02, "alternative"), 50, "positional", seeds=1)
    assert json.loads(found.stdout)["train_loss"]["value"] == pytest.approx(
        wanted.train_loss.value, rel=1e-12
    )


def test_gamp_tells_its_gradient_norm():
    found = run("gamp", "--d", 100, "--seeds", 1, "--json")
    assert json.loads(found.stdout)["gradient_norm"]["value"] < 1e-6


def test_a_scenario_file_is_read(tmp_path):
    from dotphase.scenario.files import write_scenario
    from dotphase.scenario.presets import paper

    write_scenario(paper(alpha=1.0), tmp_path / "task.toml")
    found = run("train", "--scenario", tmp_path / "task.toml", "--d", 40, "--seeds", 1)
    assert found.exit_code == 0
    assert "1 converged" in found.stdout


def test_the_baseline_at_finite_d():
    found = run("baseline", "--d", 60, "--alpha", 2, "--seeds", 2, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["test_error"]["value"] > 0


def test_divergence_is_an_answer_not_a_crash():
    found = run("train", "--d", 30, "--optimiser", "gd", "--rate", 1e4, "--seeds", 1, "--json")
    answer = json.loads(found.stdout)
    assert answer["outcome"] == {"diverged": 1}
    assert answer["test_error"]["value"] is None
    assert "rate" in answer["reasons"][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--alpha", 0.0001, "--d", 10), "rounds to no sample"),
        (("--alpha", -1), "α must be positive"),
        (("--d", 0), "d: expected a whole number"),
        (("--start", "sideways"), "start: expected semantic"),
        (("--optimiser", "newton"), "optimiser: expected one of"),
        (("--optimiser", "lbfgs", "--rate", 1), "has no rate"),
        (("--seeds", 0), "seeds: at least one"),
        (("--positional", "odd"), "--positional: expected"),
        (("--scenario", "nowhere.toml"), "nowhere.toml"),
        (("--omega", 2), "ω must lie in"),
    ],
)
def test_bad_input_is_one_line_and_code_two(arguments, words):
    found = run("train", "--d", 40, "--seeds", 1, *arguments)
    assert found.exit_code == 2
    assert words in found.stderr
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


def test_bad_pictures_are_refused_before_any_work(tmp_path):
    assert "ending in" in run("compare", "--picture", tmp_path / "a.txt").stderr
    (tmp_path / "file").write_text("not a folder")
    assert "cannot write to" in run("compare", "--picture", tmp_path / "file" / "a.png").stderr
