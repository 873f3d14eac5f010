"""The runner: the same results however it is run, one failure is one failure, and what a lock is for."""

import errno
import json
import os

import numpy as np
import pytest
from toy_kinds import toy_study

from dotphase.sweeps import chunks, open_sweep, run_sweep
from dotphase.sweeps.journal import Journal
from dotphase.sweeps.engine.lock import LockedError, lock_path, locked
from dotphase.sweeps.engine.status import status
from dotphase.sweeps.engine.store import Store
from dotphase.sweeps.engine.study import study_from

ALPHAS = [1.0, 2.0, 3.0, 4.0, 5.0]


def assert_same(one, two):
    """Equal bit by bit, seconds apart."""
    assert set(one.variables) == set(two.variables)
    for name in one.variables:
        if not name.endswith("seconds"):
            np.testing.assert_array_equal(one[name].values, two[name].values, err_msg=name)


def written(path):
    return [(entry.label, entry.unit, entry.status) for entry in Journal(path / ".sweep" / "journal").entries()]


@pytest.mark.parametrize("name", ["Toy", "InThreads"])
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_workers_and_batches_change_nothing(tmp_path, name, batch):
    alone = run_sweep(toy_study(ALPHAS), tmp_path / "alone.zarr")
    together = run_sweep(toy_study(ALPHAS, name, batch=batch), tmp_path / "run.zarr", workers=2)
    assert_same(alone, together)
    assert float(together["toy_value"].sel(omega=0.2, alpha=3.0, seed=1)) == 3.0
    assert together["toy_word"].sel(omega=0.1, alpha=5.0).item() == "α = 5"


def test_a_computation_reads_another_ones_results(tmp_path):
    study = toy_study(ALPHAS)
    study["compute"]["reader"] = {"kind": "toy_kinds:Reader"}
    dataset = run_sweep(study, tmp_path / "run.zarr", workers=2)
    assert dataset["reader_total"].values.tolist() == [15.0, 15.0]


def test_finished_units_are_not_computed_again(tmp_path):
    path = tmp_path / "run.zarr"
    first = run_sweep(toy_study(ALPHAS), path).load()
    again = run_sweep(toy_study(ALPHAS), path)
    np.testing.assert_array_equal(first["toy_seconds"], again["toy_seconds"])
    assert len(written(path)) == 10


def test_progress_counts_units(tmp_path):
    seen = []
    run_sweep(toy_study(ALPHAS, fails_at=2.0), tmp_path / "run.zarr", progress=lambda *counts: seen.append(counts))
    assert seen[0] == (0, 10, 0)
    assert seen[-1] == (8, 10, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failed_point_is_a_visible_row_and_is_tried_again(tmp_path, monkeypatch, workers):
    monkeypatch.chdir(tmp_path)
    path, study = tmp_path / "run.zarr", toy_study(ALPHAS, fails_at=2.0)
    dataset = run_sweep(study, path, workers=workers)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert set(dataset["toy_reason"].values[failed]) == {"RuntimeError: on purpose in two lines"}
    assert np.isfinite(dataset["toy_value"].values[~failed]).all()
    assert status(path)["failed"] == 2
    (tmp_path / "mended").touch()
    assert_same(run_sweep(study, path, workers=workers), run_sweep(toy_study(ALPHAS), tmp_path / "whole.zarr"))
    assert status(path)["failed"] == 0


def test_a_unit_that_kills_its_workers_is_given_up(tmp_path):
    dataset = run_sweep(toy_study(ALPHAS, kills_at=2.0), tmp_path / "run.zarr", workers=2)
    failed = dataset["toy_outcome"].values == "failed"
    assert failed.sum() == 4
    assert "killed" in dataset["toy_reason"].values[failed][0]


def damage(file, how):
    content = file.read_bytes()
    if how == "torn":
        file.write_bytes(content[: len(content) // 2])
    elif how == "flipped":
        file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    elif how == "emptied":
        file.write_bytes(b"")
    else:
        file.unlink()


@pytest.mark.parametrize("how", ["torn", "flipped", "emptied", "deleted"])
@pytest.mark.parametrize("name", ["toy_value", "toy_word"])
def test_a_damaged_chunk_is_found_and_computed_again(tmp_path, how, name):
    path = tmp_path / "run.zarr"
    whole = run_sweep(toy_study(ALPHAS), path).load()
    file = path / name / "c" / "1" / "2"
    damage(file / "0" if name == "toy_value" else file, how)
    assert_same(run_sweep(toy_study(ALPHAS), path), whole)
    assert len(written(path)) == 11
    assert written(path)[-1] == ("toy", 7, "done")


def test_a_journal_cut_short_costs_one_unit(tmp_path):
    path = tmp_path / "run.zarr"
    whole = run_sweep(toy_study(ALPHAS), path).load()
    journal = path / ".sweep" / "journal"
    journal.write_bytes(journal.read_bytes()[:-9])
    assert_same(run_sweep(toy_study(ALPHAS), path), whole)
    assert sorted(unit for _, unit, _ in written(path)) == list(range(10))


def test_a_full_disk_loses_nothing_that_is_finished(tmp_path, monkeypatch):
    path = tmp_path / "run.zarr"
    real, writes = chunks._fill, []

    def full(file, content):
        writes.append(file)
        if len(writes) > 33:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file, content)

    monkeypatch.setattr(chunks, "_fill", full)
    with pytest.raises(ValueError, match="No space left on device; what is finished is kept"):
        run_sweep(toy_study(ALPHAS), path)
    monkeypatch.undo()
    before = written(path)
    assert 0 < len(before) < 10
    assert not list(path.rglob("*.partial"))
    run_sweep(toy_study(ALPHAS), path)
    assert written(path)[: len(before)] == before
    assert len(written(path)) == 10


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "something").touch()
    for path in (tmp_path / "file" / "run.zarr", tmp_path / "file", tmp_path / "folder"):
        with pytest.raises(ValueError, match=path.name):
            run_sweep(toy_study(ALPHAS, kills_at=1.0), path)
    assert (tmp_path / "folder" / "something").exists()


def test_two_runs_never_write_one_store(tmp_path):
    path = tmp_path / "run.zarr"
    run_sweep(toy_study(ALPHAS), path)
    with locked(path):
        assert status(path)["running"]
        with pytest.raises(LockedError, match=f"process {os.getpid()}"):
            run_sweep(toy_study(ALPHAS), path)
    assert not status(path)["running"]


def test_the_lock_of_a_dead_process_is_no_lock(tmp_path):
    path = tmp_path / "run.zarr"
    lock_path(path).write_text(json.dumps({"host": os.uname().nodename, "pid": 1, "since": 0}))
    assert run_sweep(toy_study(ALPHAS), path).sizes["alpha"] == 5
    assert not lock_path(path).exists()


def test_a_lock_from_another_machine_is_respected(tmp_path):
    path = tmp_path / "run.zarr"
    lock_path(path).write_text('{"host": "elsewhere", "pid": 1, "since": 0}')
    with pytest.raises(LockedError, match="on elsewhere since"):
        run_sweep(toy_study(ALPHAS), path)


def test_another_study_is_refused(tmp_path):
    path = tmp_path / "run.zarr"
    run_sweep(toy_study(ALPHAS), path)
    with pytest.raises(ValueError, match=r"compute.toy.fails_at was None and is 9.0"):
        run_sweep(toy_study(ALPHAS, fails_at=9.0), path)
    with pytest.raises(ValueError, match=r"has alpha = 4.0, 5.0, which this study no longer has"):
        run_sweep(toy_study(ALPHAS[:3]), path)
    assert [found.name for found in tmp_path.iterdir()] == ["run.zarr"]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_study_that_grew_is_extended(tmp_path, batch):
    path = tmp_path / "run.zarr"
    before = run_sweep(toy_study(ALPHAS[::2], batch=batch), path).load()
    larger = toy_study(ALPHAS, seeds=3, batch=batch)
    larger["axes"]["omega"] = [0.1, 0.15, 0.2]
    larger["compute"]["linear"] = {"kind": "baseline"}
    after = run_sweep(larger, path)
    assert_same(after, run_sweep(larger, tmp_path / "fresh.zarr"))
    assert before.sizes["alpha"] == 3
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith("run")] == ["run.zarr"]


def test_what_was_finished_is_taken_over_when_a_study_grows(tmp_path):
    path = tmp_path / "run.zarr"
    before = run_sweep(toy_study(ALPHAS[::2]), path).load()
    after = run_sweep(toy_study(ALPHAS), path)
    kept = after["toy_seconds"].sel(alpha=ALPHAS[::2])
    np.testing.assert_array_equal(kept, before["toy_seconds"])


def test_an_unfinished_store_can_be_read(tmp_path):
    Store.create(study_from(toy_study(ALPHAS)), tmp_path / "run.zarr")
    dataset = open_sweep(tmp_path / "run.zarr")
    assert set(dataset["toy_outcome"].values.ravel()) == {"unfinished"}
    assert np.isnan(dataset["toy_value"].values).all()
