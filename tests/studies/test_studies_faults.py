"""The faults of `benchmarks/faults.py`, a few of each: nothing is lost, nothing is silently wrong."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))
faults = pytest.importorskip("benchmarks.faults")

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks for processes in /proc"
)


def survives(name, tries):
    row = faults.make(name, tries)
    assert (row.tries, row.detected, row.repaired, row.lost, row.wrong) == (
        tries,
        tries,
        tries,
        0,
        0,
    ), str(row)


@pytest.mark.parametrize(
    ("name", "tries"),
    [("flips", 24), ("cuts", 6), ("missing", 6), ("copies", 6), ("disk", 3), ("changes", 3)],
)
def test_damage(name, tries):
    survives(name, tries)


def test_a_killed_driver():
    survives("driver", 1)


@pytest.mark.parametrize("name", ["inodes", "locks", "clocks"])
def test_disturbed_systems(name):
    survives(name, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["drivers", "worker", "dask-worker", "dask-scheduler", "dask-version", "dask-restart"],
)
def test_kills(name):
    survives(name, 2)


def test_a_number_that_is_wrong_would_be_counted(tmp_path):
    truth = faults.resume(tmp_path / "run.zarr")
    wrong = truth.copy(deep=True)
    wrong["waves_sine"].values[0, 0, 0] += 1e-16 + abs(wrong["waves_sine"].values[0, 0, 0]) * 1e-15
    row = faults.Row("wrong")
    row.count(True, wrong, truth, truth)
    assert row.wrong == 1
    row.count(True, truth, wrong, truth)
    assert (row.wrong, row.repaired) == (2, 1)
