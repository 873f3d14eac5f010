"""Workers are killed, then the sweep itself, then it is resumed: every point is there once, as in a
serial run."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from test_studies_runner import assert_same, written

from dotphase.studies.run.runner import run_study
from dotphase.studies.store.status import status
from dotphase.studies.study.study import read_study

TRAININGS = """
name = "survival"
[axes]
omega = { linspace = [0.1, 0.5, 20] }
alpha = [2.0]  # one, since each is a shape that every worker compiles anew
[compute.linear]
kind = "baseline"
[compute.experiment]
kind = "training"
d = 60
seeds = 16
batch = 2
"""
THEORY = """
[compute.theory]
kind = "theory"
nodes = 256
batch = 1
[compute.rows]
kind = "theory"
nodes = 256
follow = "omega"
"""


def start(study: Path, store: Path) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "dotphase",
        "sweep",
        str(study),
        "--out",
        str(store),
        "--workers",
        "3",
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen, store: Path, units: int, label: str = "experiment") -> None:
    """Until so many units of a computation are in the journal."""
    while len([entry for entry in written(store) if entry[0] == label]) < units:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


def kill(process: subprocess.Popen) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def survive(study: Path, folder: Path, theory: bool = False) -> None:
    store = folder / "run.zarr"
    first = start(study, store)
    wait_for(first, store, 40)
    workers = children(first.pid)
    assert len(workers) == 3
    os.kill(workers[0], signal.SIGKILL)
    wait_for(first, store, 90)
    replaced = children(first.pid)
    assert len(set(replaced) - {workers[0]}) == 3
    kill(first)
    interrupted = status(store)
    assert 90 <= interrupted["done"] < interrupted["total"]
    assert not interrupted["running"]

    second = start(study, store)
    if theory:
        wait_for(second, store, 5, "theory")
        kill(second)
        second = start(study, store)
    errors = second.communicate()[1]
    assert second.returncode == 0, errors
    assert not any(map(is_running, replaced))
    assert status(store)["done"] == interrupted["total"] >= 300
    assert set(Counter(written(store)).values()) == {1}
    assert_same(
        run_study(read_study(study), store), run_study(read_study(study), folder / "serial.zarr")
    )


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks for processes in /proc"
)


def test_killed_workers_and_a_killed_sweep(tmp_path):
    (tmp_path / "study.toml").write_text(TRAININGS)
    survive(tmp_path / "study.toml", tmp_path)


@pytest.mark.slow
def test_killed_workers_and_a_killed_sweep_of_theory_and_training(tmp_path):
    (tmp_path / "study.toml").write_text(TRAININGS + THEORY)
    survive(tmp_path / "study.toml", tmp_path, theory=True)
