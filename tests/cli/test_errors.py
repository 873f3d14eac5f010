"""How commands refuse, stop and are cut off: one line and an exit code, before anything is
computed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import dotphase
from dotphase import SolverOptions
from dotphase.cli.app import app
from dotphase.cli.options import print_table
from dotphase.theory.branches.transitions import critical
from dotphase.theory.solver.solve import solve, solve_many


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("solve", "--rtol", -1), "rtol: must be positive"),
        (("solve", "--rtol", "nan"), "rtol: must be positive"),
        (("solve", "--minimum", "highest"), "minimum: expected one of lowest, reached"),
        (("solve", "--alpha", "many"), "'--alpha' / '--sample-ratio'"),
        (("solve", "--seed", -1), "--seed"),
        (("solve", "--beta", 1), "No such option: --beta"),
        (("dance",), "No such command 'dance'"),
        (("--dance",), "No such option: --dance"),
        (("transition",), "Missing argument"),
        (("transition", "magic"), "transition: expected one of train-loss"),
        (
            ("transition", "train-loss", "--range", "-1:5"),
            "between: sample_ratio: α must be positive",
        ),
        (("transition", "train-loss", "--range", "5:1"), "--range: expected the lower end first"),
        (
            ("transition", "train-loss", "--budget", 100),
            "budget: 100 nodes do not allow the first rule",
        ),
        (("transition", "spinodal", "--budget", 10), "budget: at least 64 nodes"),
        (("gamp", "--iterations", 0), "iterations"),
        (("branches", "--alphas", "1,two"), "--alphas: expected numbers"),
        (
            ("phase-diagram", "--out", "somewhere", "--nodes", 1000),
            "--nodes: nodes come in powers of two",
        ),
        (
            ("phase-diagram", "--out", "somewhere", "--alphas", "0.1:inf:3"),
            "--alphas: expected first < last",
        ),
        (("phase-diagram", "--out", "file/below"), "--out: cannot write to file/below"),
        (("compare", "--picture", "file/below/a.png"), "--picture: cannot write to file/below"),
        (("counting", "train", "--out", "file/below/run"), "--out: cannot write to file/below"),
        (("reproduce", "--out", "file/below"), "--out: cannot write to file/below"),
    ],
)
def test_bad_input_is_one_line_and_code_two(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("not a folder")
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: ")
    assert says in result.stderr
    assert os.listdir(tmp_path) == ["file"]  # nothing was begun


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: solve(None), "scenario: expected a Scenario"),
        (lambda: solve(dotphase.paper(), rtol=-1), "rtol: must be positive"),
        (lambda: SolverOptions(tolerance=0), "tolerance: must be positive"),
        (
            lambda: SolverOptions(max_evaluations=0),
            "max_evaluations: expected a whole number of at least 1",
        ),
        (
            lambda: solve(dotphase.paper(), budget=100),
            "budget: 100 nodes do not allow the first rule",
        ),
        (
            lambda: solve_many([dotphase.paper()], ("semantic", "positional")),
            "starts: 2 for 1 scenarios",
        ),
        (lambda: critical(None), "scenario: expected a Scenario"),
        (lambda: critical(dotphase.paper(), between=(-1, 5)), "between: sample_ratio"),
        (lambda: critical(dotphase.paper(), along="mixing", between=(0.1, 2)), "between: mixing"),
        (
            lambda: dotphase.Sobol(1000),
            "count: nodes come in powers of two, 1000 is none; take 1024",
        ),
    ],
)
def test_the_theory_refuses_before_it_computes(call, says):
    with pytest.raises(ValueError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_starts_may_be_any_sequence():
    found = solve_many([dotphase.paper()] * 2, ("semantic", "positional"), rtol=0.1)
    assert [solution.branch for solution in found] == ["semantic", "positional"]


def test_no_answer_is_code_three_without_warnings():
    result = run("solve", "--sigma", "1e6", "--start", "semantic", "--rtol", "0.1", "--json")
    assert json.loads(result.stdout)["outcome"] == "stalled"
    assert result.exit_code == 3


def test_options_go_by_the_names_of_the_paper_and_of_the_code():
    letters = run(
        "baseline", "--omega", "0.2", "--sigma", "0.6", "--lambda", "0.1", "--alpha", "1", "--json"
    )
    words = ("--mixing", "0.2", "--token-deviation", "0.6", "--ridge", "0.1", "--sample-ratio", "1")
    assert run("baseline", *words, "--json").stdout == letters.stdout
    assert json.loads(letters.stdout)["test_error"]["value"] > 0


def test_branches_answer_in_json():
    answer = json.loads(
        run("branches", "--alphas", "2", "--rtol", "0.1", "--seed", "3", "--json").stdout
    )
    (point,) = answer["points"]
    assert (point["alpha"], point["winner"]) == (2.0, "semantic")
    assert point["margin"]["value"] > 2 * point["margin"]["error"]
    assert point["positional"]["branch"] == "positional"


def test_no_table_loses_a_digit(capsys, monkeypatch):
    rows = [["", *"abcdef"], ["row", *[f"0.{'123456789' * 2} ± 0.1" for _ in range(6)]]]
    print_table(rows)
    assert capsys.readouterr().out.count("0.123456789123456789 ± 0.1") == 6
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    print_table(rows)
    shown = capsys.readouterr().out
    assert shown.count("0.123456789123456789 ± 0.1") == 6
    assert max(map(len, shown.splitlines())) <= 80


def process(*words, **options):
    words = [sys.executable, "-m", "dotphase", *words]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_reader_that_leaves_is_no_error():
    with process("solve", "--help") as begun:
        begun.stdout.close()
        assert begun.stderr.read() == b""
        assert begun.wait() == 141


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_will_do(encoding):
    locale = {
        "PYTHONIOENCODING": encoding,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    out, err = process("baseline", env=os.environ | locale).communicate()
    assert b"0.00197138" in out, err
    assert (b"eps_lin" in out) == (
        encoding == "cp1252"
    )  # ASCII is taken for a locale that was not set
    out, err = process("solve", "--alpha", "-1", env=os.environ | locale).communicate()
    assert err.startswith(b"error: sample_ratio")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("background", [False, True])
def test_an_interruption_is_one_line_and_code_130(tmp_path, name, background):
    """Also in the background of a shell, which starts its jobs with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if background else signal.SIG_DFL)
    held = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        begun = process("solve", env=os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)})
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGHUP, held)
    while begun.poll() is None and not any(tmp_path.iterdir()):  # the first of several programs
        time.sleep(0.05)
    begun.send_signal(getattr(signal, name))
    out, err = begun.communicate(timeout=120)
    assert begun.returncode == 130, err
    assert out == b""
    progress, _, last = err.decode().rpartition("solving")  # on a busy machine, lines of progress
    assert (last if not progress else last.partition("\n")[2]) in ("", "interrupted\n")


def test_a_missing_file_is_named_without_a_number_of_the_system(tmp_path):
    missing = tmp_path / "none.npz"
    found = CliRunner().invoke(app, ["heads", str(missing)])
    assert found.exit_code == 2
    assert found.stderr == f"error: {missing}: No such file or directory\n"


@pytest.mark.parametrize(
    "words",
    [
        ("phase-diagram", "--out", "o", "--alphas", "0.5:2:2", "--omegas", "0.2:0.4:2"),
        ("train", "--checkpoint", "o", "--d", "50"),
        ("language-model", "--out", "o"),
    ],
    ids=lambda words: words[0],
)
def test_an_interruption_of_what_continues_says_so(words, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dotphase.studies.run.runner.run_study", interrupted)
    monkeypatch.setattr("dotphase.finite.training.training.train", interrupted)
    monkeypatch.setattr("dotphase.heads.training.train_language", interrupted)
    result = run(*words)
    assert result.exit_code == 130
    kept = "what is finished is kept, and the same command continues"
    assert result.stderr == f"interrupted: {kept}\n"


def interrupted_when_ready(script, name="SIGINT"):
    """Exit code, output and errors of a script that gets a signal when it has printed `ready`."""
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as begun:
        assert begun.stdout.readline() == b"ready\n"
        begun.send_signal(getattr(signal, name))
        out, err = begun.communicate(timeout=80)
        return begun.returncode, out, err


DROPPED = """
import sys, time
import dotphase.theory.baseline
from dotphase import cli

def goes_on(task):
    try:
        print("ready", flush=True)
        time.sleep(90)
    except KeyboardInterrupt:  # as C++ that calls Python sometimes does
        pass
    time.sleep(90)

dotphase.theory.baseline.linear_baseline = goes_on
sys.argv = ["dotphase", "baseline"]
cli.main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interruption_that_is_dropped_is_repeated(name):
    answer = interrupted_when_ready(DROPPED, name)
    assert answer == (130, b"", b"interrupted\n")


CLEANING = """
import sys, time
import dotphase.theory.baseline
from dotphase import cli

def cleans_up(task):
    try:
        print("ready", flush=True)
        time.sleep(90)
    finally:
        time.sleep(2)
        print("clean", flush=True)

dotphase.theory.baseline.linear_baseline = cleans_up
sys.argv = ["dotphase", "baseline"]
cli.main()
"""


def test_cleaning_up_after_an_interruption_is_not_interrupted_again():
    answer = interrupted_when_ready(CLEANING)
    assert answer == (130, b"clean\n", b"interrupted\n")


LOADING = """
import sys, time
from dotphase import cli

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "dotphase.theory.baseline":
            print("ready", flush=True)
            time.sleep(90)

sys.meta_path.insert(0, Slow())
sys.argv = ["dotphase", "baseline"]
cli.main()
"""


def test_an_interruption_while_a_module_is_loaded_ends_the_process_at_once():
    """An exception inside of an import can crash libraries that are half initialised."""
    answer = interrupted_when_ready(LOADING)
    assert answer == (130, b"", b"interrupted\n")
