"""The runner: the same results however it is run, one failure is one failure, and what a lock is
for."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_computations import run_study, toy_study, trusted

from dotphase.studies.store import code, log
from dotphase.studies.store.check import check_study
from dotphase.studies.store.lock import LockedError, lock_path, locked
from dotphase.studies.store.status import status
from dotphase.studies.store.store import Store, WritableStore
from dotphase.studies.store.view import open_study

ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
}
ALPHAS = [1.0, 2.0, 3.0, 4.0, 5.0]


def assert_same(one, two):
    """Equal bit by bit, seconds apart."""
    assert set(one.variables) == set(two.variables)
    for name in one.variables:
        if not name.endswith("seconds"):
            np.testing.assert_array_equal(one[name].values, two[name].values, err_msg=name)


def written(path):
    """Label, number and status of every unit in the log, in order."""
    try:
        records = list(Store(path).unit_records())
    except ValueError:  # not there yet
        return []
    return [
        (record["label"], record["unit"], record["status"])
        for record in records
        if "numbers" in record
    ]


@pytest.mark.parametrize("name", ["Toy", "InThreads"])
@pytest.mark.parametrize("batch", [2, 7])
def test_workers_and_batches_change_nothing(tmp_path, name, batch):
    alone = run_study(toy_study(ALPHAS), tmp_path / "alone.zarr")
    together = run_study(toy_study(ALPHAS, name, batch=batch), tmp_path / "run.zarr", workers=2)
    assert_same(alone, together)
    assert float(together["toy_value"].sel(omega=0.2, alpha=3.0, seed=1)) == 3.0
    assert together["toy_word"].sel(omega=0.1, alpha=5.0).item() == "α = 5"


def test_a_computation_reads_another_ones_results(tmp_path):
    study = toy_study(ALPHAS)
    study["compute"]["reader"] = {"kind": "toy_computations:Reader"}
    dataset = run_study(study, tmp_path / "run.zarr", workers=2)
    assert dataset["reader_total"].values.tolist() == [15.0, 15.0]


def test_finished_units_are_not_computed_again(tmp_path):
    path = tmp_path / "run.zarr"
    first = run_study(toy_study(ALPHAS), path).load()
    again = run_study(toy_study(ALPHAS), path)
    np.testing.assert_array_equal(first["toy_seconds"], again["toy_seconds"])
    assert len(written(path)) == 10


def test_progress_counts_units(tmp_path):
    seen = []
    run_study(
        toy_study(ALPHAS, fails_at=2.0),
        tmp_path / "run.zarr",
        progress=lambda *counts: seen.append(counts),
    )
    assert seen[0] == (0, 10, 0)
    assert seen[-1] == (8, 10, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_point_is_a_visible_row_and_is_tried_again(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    path, study = tmp_path / "run.zarr", toy_study(ALPHAS, fails_at=2.0)
    dataset = run_study(study, path, workers=workers)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert set(dataset["toy_reason"].values[failed]) == {"RuntimeError: on purpose in two lines"}
    assert np.isfinite(dataset["toy_value"].values[~failed]).all()
    assert status(path)["failed"] == 2
    (tmp_path / "mended").touch()
    assert_same(
        run_study(study, path, workers=workers),
        run_study(toy_study(ALPHAS), tmp_path / "whole.zarr"),
    )
    assert status(path)["failed"] == 0


def test_a_unit_that_kills_its_workers_is_given_up(tmp_path):
    dataset = run_study(toy_study(ALPHAS, kills_at=2.0), tmp_path / "run.zarr", workers=2)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert "killed" in dataset["toy_reason"].values[failed][0]


def test_units_that_a_killed_worker_had_besides_are_computed(tmp_path, monkeypatch):
    from dotphase.studies.run.dask import Processes

    # All units at once, until suspects are computed one at a time.
    monkeypatch.setattr(Processes, "room", lambda self: 6 if self.count > 1 else 1)
    dataset = run_study(toy_study(ALPHAS, kills_at=2.0), tmp_path / "run.zarr", workers=2)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert failed[:, 1].all()


def test_one_exception_fails_one_point_not_its_batch(tmp_path):
    dataset = run_study(toy_study(ALPHAS, batch=5, fails_at=2.0), tmp_path / "run.zarr")
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert failed[:, 1].all()
    assert np.isfinite(dataset["toy_value"].values[~failed]).all()
    assert status(tmp_path / "run.zarr")["failed"] == 2


@pytest.mark.parametrize("name", ["Toy", "InThreads"])
def test_a_point_that_hangs_is_given_up(tmp_path, name):
    study = toy_study(ALPHAS, name, hangs_at=2.0) | {"time_limit": 0.5}
    dataset = run_study(study, tmp_path / "run.zarr", workers=1 if name == "Toy" else 2)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert set(dataset["toy_reason"].values[failed]) == {"no answer within the time limit of 0.5 s"}


def test_a_unit_that_kills_the_only_process_is_given_up_in_the_next_run(tmp_path):
    script = "import sys, toy_computations as t; t.run_study(t.toy_study([1.0, 2.0, 3.0], kills_at=2.0), sys.argv[1])"
    path, codes = tmp_path / "run.zarr", []
    for _ in range(3):
        codes.append(
            subprocess.run([sys.executable, "-c", script, str(path)], env=ENVIRONMENT).returncode
        )
    assert codes == [
        -signal.SIGKILL,
        -signal.SIGKILL,
        0,
    ]  # each of two units kills this process once, never again
    dataset = open_study(path)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert "killed" in dataset["toy_reason"].values[failed][0]
    assert np.isfinite(dataset["toy_value"].values[~failed]).all()


def damage(file, how, at):
    content = file.read_bytes()
    if how == "torn":
        file.write_bytes(content[:at])
    elif how == "flipped":
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    elif how == "emptied":
        file.write_bytes(b"")
    else:
        file.unlink()


@pytest.mark.parametrize("how", ["torn", "flipped", "emptied", "deleted"])
@pytest.mark.parametrize("name", ["log", "header"])
def test_damage_to_what_is_true_is_found_and_computed_again(tmp_path, how, name):
    path = tmp_path / "run.zarr"
    whole = run_study(toy_study(ALPHAS), path)
    file = path / ".sweep" / name
    damage(file, how, len(file.read_bytes()) * 2 // 3)
    assert_same(run_study(toy_study(ALPHAS), path), whole)
    check_study(path, repair=True)
    assert check_study(path).problems == []


@pytest.mark.parametrize("how", ["torn", "flipped", "emptied", "deleted"])
@pytest.mark.parametrize(
    "name", ["toy_value/c/0/0/0", "toy_word/c/0/0", "alpha/c/0", "zarr.json", "toy_value/zarr.json"]
)
def test_damage_to_the_arrays_is_found_and_mended_from_the_log(tmp_path, how, name):
    path = tmp_path / "run.zarr"
    whole = run_study(toy_study(ALPHAS), path)
    damage(path / name, how, len((path / name).read_bytes()) // 2)
    assert_same(open_study(path), whole)
    found = check_study(path)
    assert len(found.problems) == 1
    assert name in found.problems[0]
    assert check_study(path, repair=True).repaired
    assert check_study(path).problems == []
    assert len(written(path)) == 10  # nothing was computed again


def test_a_file_copied_from_its_neighbour_is_found(tmp_path):
    path = tmp_path / "run.zarr"
    run_study(toy_study(ALPHAS), path)
    shutil.copy(
        path / "toy_value" / "c" / "0" / "0" / "0", path / "toy_seconds" / "c" / "0" / "0" / "0"
    )
    assert "toy_seconds" in check_study(path).problems[0]


def test_a_line_copied_over_another_costs_that_unit_only(tmp_path):
    path = tmp_path / "run.zarr"
    whole = run_study(toy_study(ALPHAS), path)
    file = path / ".sweep" / "log"
    lines = file.read_bytes().splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if b'"numbers"' in line]
    lines[places[3]] = lines[places[2]]
    file.write_bytes(b"".join(lines))
    found = open_study(path)
    assert (found["toy_outcome"].values == "unfinished").sum() == 2
    assert status(path)["done"] == 9
    assert_same(run_study(toy_study(ALPHAS), path), whole)


def test_lines_of_another_study_do_not_count(tmp_path):
    for name, seeds in (("one", 2), ("two", 3)):
        run_study(toy_study(ALPHAS, seeds=seeds), tmp_path / name)
    one, two = (tmp_path / name / ".sweep" / "log" for name in ("one", "two"))
    two.write_bytes(two.read_bytes().splitlines(keepends=True)[0] + one.read_bytes())
    assert status(tmp_path / "two")["done"] == 0


def test_other_code_is_refused_unless_asked_for(tmp_path, monkeypatch):
    path, study = tmp_path / "run.zarr", toy_study(ALPHAS, fails_at=2.0)
    run_study(study, path)
    monkeypatch.setitem(code._sources(), "theory/solver/solve.py", "changed")
    with pytest.raises(
        ValueError,
        match=r"computed by another version of the code \(theory/solver/solve.py \w+ → changed\).*--mix-versions",
    ):
        run_study(study, path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mended").touch()
    dataset = run_study(study, path, mix_versions=True)
    assert (dataset["toy_code"].sel(alpha=2.0) != dataset["toy_code"].sel(alpha=1.0)).all()
    assert sorted(status(path)["codes"].values()) == [2, 8]


def test_a_full_disk_loses_nothing_that_is_finished(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    real, writes = log.as_line, []

    def full(record):
        writes.append(record)
        if len(writes) > 12:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(record)

    monkeypatch.setattr(log, "as_line", full)
    with pytest.raises(ValueError, match="No space left on device; what is finished is kept"):
        run_study(toy_study(ALPHAS), path)
    monkeypatch.undo()
    before = written(path)
    assert 0 < len(before) < 10
    assert not list(path.rglob("*.partial"))
    run_study(toy_study(ALPHAS), path)
    assert written(path)[: len(before)] == before
    assert len(written(path)) == 10


@pytest.mark.parametrize("hours", [-1, 1])
def test_rates_by_another_clock(tmp_path, monkeypatch, hours):
    """A run ends; the next one has a clock that is an hour off, and set right in the middle."""
    path, real, rates = tmp_path / "run.zarr", time.time, []
    run_study(toy_study([1.0]), path)
    monkeypatch.setattr(time, "time", lambda: real() + 3600 * hours)

    def look(done, total, failed):
        if done == 6:
            monkeypatch.setattr(time, "time", real)
        if done > 6:
            rates.append(status(path)["rate"])
            assert 0 < status(path)["seconds_left"] < 60 or done == total

    run_study(toy_study(ALPHAS), path, progress=look)
    assert len(rates) == 4
    assert min(rates) > 0.5
    assert status(path)["rate"] == rates[-1]


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "something").touch()
    for path in (tmp_path / "file" / "run.zarr", tmp_path / "file", tmp_path / "folder"):
        with pytest.raises(ValueError, match=path.name):
            run_study(toy_study(ALPHAS, kills_at=1.0), path)
    assert (tmp_path / "folder" / "something").exists()


def test_two_runs_never_write_one_store(tmp_path):
    path = tmp_path / "run.zarr"
    run_study(toy_study(ALPHAS), path)
    with locked(path):
        assert status(path)["running"]
        with pytest.raises(LockedError, match=f"process {os.getpid()}"):
            run_study(toy_study(ALPHAS), path)
    assert not status(path)["running"]


def test_the_lock_of_a_dead_process_is_no_lock(tmp_path):
    path = tmp_path / "run.zarr"
    lock_path(path).write_text(json.dumps({"host": os.uname().nodename, "pid": 1, "since": 0}))
    assert run_study(toy_study(ALPHAS), path).sizes["alpha"] == 5
    assert not lock_path(path).exists()


def test_a_lock_from_another_machine_is_respected(tmp_path):
    path = tmp_path / "run.zarr"
    lock_path(path).write_text('{"host": "elsewhere", "pid": 1, "since": 0}')
    with pytest.raises(LockedError, match="on elsewhere since"):
        run_study(toy_study(ALPHAS), path)


def test_nonsense_in_a_lock_file_is_no_lock(tmp_path):
    for nonsense in ("", "[1]", '{"host": 3, "since": "x"}', "\x00"):
        lock_path(tmp_path / "run.zarr").write_text(nonsense)
        assert not status_or_none(tmp_path / "run.zarr")
        run_study(toy_study(ALPHAS), tmp_path / "run.zarr")


def status_or_none(path):
    return path.exists() and status(path)["running"]


def test_a_link_to_a_store_takes_the_same_lock(tmp_path):
    run_study(toy_study(ALPHAS), tmp_path / "run.zarr")
    (tmp_path / "link.zarr").symlink_to(tmp_path / "run.zarr")
    with locked(tmp_path / "link.zarr"):
        assert status(tmp_path / "run.zarr")["running"]
        with pytest.raises(LockedError):
            run_study(toy_study(ALPHAS), tmp_path / "run.zarr")
    assert run_study(toy_study([*ALPHAS, 6.0]), tmp_path / "link.zarr").sizes["alpha"] == 6
    assert (tmp_path / "link.zarr").is_symlink()


def test_leftovers_of_an_interrupted_run_are_cleaned(tmp_path):
    path = tmp_path / "run.zarr"
    whole = run_study(toy_study(ALPHAS), path)
    for word in ("new", "grown", "before"):
        shutil.copytree(path, tmp_path / f"run.zarr.{word}")
    assert len(check_study(path).problems) == 3
    assert_same(run_study(toy_study(ALPHAS), path), whole)
    assert [found.name for found in tmp_path.iterdir()] == ["run.zarr"]
    path.rename(tmp_path / "run.zarr.before")  # killed between the last two steps of an extension
    assert_same(run_study(toy_study(ALPHAS), path), whole)
    assert len(written(path)) == 10


def test_a_store_of_an_earlier_format_is_refused_in_one_line(tmp_path):
    (tmp_path / "run.zarr" / ".sweep").mkdir(parents=True)
    (tmp_path / "run.zarr" / ".sweep" / "study.json").write_text("{}")
    for act in (open_study, status, check_study, lambda path: run_study(toy_study(ALPHAS), path)):
        with pytest.raises(ValueError, match=r"of an earlier dotphase: xarray.open_zarr reads it"):
            act(tmp_path / "run.zarr")


def test_an_evenly_spaced_axis_can_be_lengthened(tmp_path):
    path, study = tmp_path / "run.zarr", toy_study(ALPHAS)
    study["axes"]["alpha"] = {"linspace": [0.2, 2.0, 19]}
    before = run_study(study, path)
    study["axes"]["alpha"] = {"linspace": [0.2, 2.3, 22]}
    assert (np.linspace(0.2, 2.0, 19) != np.linspace(0.2, 2.3, 22)[:19]).any()
    after = run_study(study, path)
    assert after.sizes["alpha"] == 22
    assert_same(after.isel(alpha=slice(19)), before)
    np.testing.assert_array_equal(after["toy_seconds"][:, :19], before["toy_seconds"])
    again = run_study(study, path, workers=1)
    assert_same(again, after)


def test_another_study_is_refused(tmp_path):
    path = tmp_path / "run.zarr"
    run_study(toy_study(ALPHAS), path)
    with pytest.raises(ValueError, match=r"compute.toy.fails_at was None and is 9.0"):
        run_study(toy_study(ALPHAS, fails_at=9.0), path)
    with pytest.raises(ValueError, match=r"has alpha = 4.0, 5.0, which this study no longer has"):
        run_study(toy_study(ALPHAS[:3]), path)
    assert [found.name for found in tmp_path.iterdir()] == ["run.zarr"]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_study_that_grew_is_extended(tmp_path, batch):
    path = tmp_path / "run.zarr"
    before = run_study(toy_study(ALPHAS[::2], batch=batch), path).load()
    larger = toy_study(ALPHAS, seeds=3, batch=batch)
    larger["axes"]["omega"] = [0.1, 0.15, 0.2]
    larger["compute"]["linear"] = {"kind": "baseline"}
    after = run_study(larger, path)
    assert_same(after, run_study(larger, tmp_path / "fresh.zarr"))
    assert before.sizes["alpha"] == 3
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith("run")] == [
        "run.zarr"
    ]


def test_what_was_finished_is_taken_over_when_a_study_grows(tmp_path):
    path = tmp_path / "run.zarr"
    before = run_study(toy_study(ALPHAS[::2]), path).load()
    after = run_study(toy_study(ALPHAS), path)
    kept = after["toy_seconds"].sel(alpha=ALPHAS[::2])
    np.testing.assert_array_equal(kept, before["toy_seconds"])


def test_an_unfinished_store_can_be_read(tmp_path):
    WritableStore.create(trusted(toy_study(ALPHAS)), tmp_path / "run.zarr")
    dataset = open_study(tmp_path / "run.zarr")
    assert set(dataset["toy_outcome"].values.ravel()) == {"unfinished"}
    assert np.isnan(dataset["toy_value"].values).all()
