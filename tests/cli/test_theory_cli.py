"""`dotphase solve`, `baseline`, `branches`: what they print, and how they refuse."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.scenario.files import write_scenario
from dotphase.scenario.presets import paper


def run(*words):
    return CliRunner().invoke(app, list(words))


def test_solve_answers_in_json():
    result = run(
        "solve",
        "--alpha",
        "2",
        "--omega",
        "0.3",
        "--start",
        "positional",
        "--rtol",
        "0.02",
        "--json",
    )
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["branch"] == "positional"
    assert answer["outcome"] == "converged"
    shapes = {name: np.shape(value) for name, value in answer["overlaps"].items()}
    assert shapes == {"q": (2, 1, 1), "V": (2, 1, 1), "m": (2, 1), "theta": (2, 1, 1)}
    for name in ("test_error", "train_loss"):
        assert 0 < answer[name]["error"] < 0.02 * answer[name]["value"]
    assert {"residual", "evaluations", "seconds", "several_minima"} <= set(answer)
    assert answer["stability"]["verdict"] != "unknown"
    assert 0 < answer["stability"]["replicon"]["value"] < 1
    assert answer["stability"]["replicon"]["error"] > 0
    assert (
        answer["stability"]["eigenvalues"]["m"]["value"][0]
        < -4 * answer["stability"]["eigenvalues"]["m"]["error"]
    )


def test_all_branches_are_a_list_and_a_file_is_a_scenario(tmp_path):
    write_scenario(paper(1.0, 0.1), tmp_path / "task.toml")
    result = run(
        "solve",
        "--scenario",
        str(tmp_path / "task.toml"),
        "--alpha",
        "2",
        "--rtol",
        "0.05",
        "--json",
    )
    answers = json.loads(result.stdout)
    assert [answer["branch"] for answer in answers] == ["semantic", "positional", "uninformed"]


def test_the_table_for_people_names_branches_and_errors():
    result = run("solve", "--start", "semantic", "--rtol", "0.05")
    assert result.exit_code == 0
    assert "semantic" in result.stdout
    assert "±" in result.stdout
    assert "stable" in result.stdout
    assert "replicon" in result.stdout


def test_stability_can_be_left_out():
    assert "stability" not in json.loads(
        run("solve", "--start", "semantic", "--no-stability", "--json").stdout
    )


def test_the_onset_of_an_instability_is_a_transition():
    words = (
        "--omega",
        "0.3",
        "--range",
        "1.5:2",
        "--budget",
        "2048",
        "--start",
        "positional",
        "--json",
    )
    answer = json.loads(run("transition", "instability", *words).stdout)
    assert (answer["transition"], answer["outcome"], answer["alpha"]) == (
        "instability",
        "absent",
        None,
    )
    assert (
        "the eigenvalue along θ of the positional branch is below one throughout"
        in answer["reason"]
    )


def test_baseline():
    answer = json.loads(run("baseline", "--omega", "0.3", "--json").stdout)
    assert answer["test_error"]["value"] == pytest.approx(0.00197138, abs=1e-7)
    assert "0.00197138" in run("baseline").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "--alpha", "-1"),
        ("solve", "--start", "mystic"),
        ("solve", "--rtol", "0"),
        ("solve", "--positional", "odd"),
        ("solve", "--positional", "1,0,0;0,1,0;0,0,1"),
        ("solve", "--scenario", "/nowhere/task.toml"),
        ("baseline", "--omega", "2"),
        ("transition", "magic"),
        ("transition", "instability", "--direction", "up"),
        ("branches", "--alphas", "1,two"),
    ],
)
def test_bad_input_is_one_line_and_code_two(words):
    result = run(*words)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output


def test_unknown_options_and_commands_are_code_two():
    assert run("solve", "--beta", "1").exit_code == 2
    assert run("dance").exit_code == 2


def test_help_needs_no_heavy_library():
    script = (
        "import sys\nfrom dotphase.cli.app import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'jax', 'scipy', 'numpy', 'matplotlib', 'xarray', 'dask', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
