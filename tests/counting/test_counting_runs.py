"""Runs on disk: resumed to the same bits; other experiments refused; files never half written."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

from dotphase.counting import Experiment, Recipe, RunError, Surgery, load, train
from dotphase.counting import runs as runs_module
from dotphase.counting.summary import summarise

CHILD = """
import json, sys
from dotphase.counting import Experiment, train
experiment = Experiment.from_dict(json.loads(sys.argv[1]))
train(experiment, sys.argv[2], lambda run: print(run.epochs_done, flush=True))
"""


def assert_same_bits(a, b):
    for x, y in zip(
        jax.tree.leaves((a.state, a.history)), jax.tree.leaves((b.state, b.history)), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_killed_in_mid_epoch_and_resumed_ends_in_the_same_weights(
    machinery, uninterrupted, tmp_path
):
    command = [sys.executable, "-c", CHILD, json.dumps(machinery.to_dict()), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == "1":  # the first epoch is on disk and the second has begun
                child.send_signal(signal.SIGKILL)
                break
    assert child.returncode == -signal.SIGKILL
    assert load(tmp_path).epochs_done == 1

    resumed = train(machinery, tmp_path)
    assert_same_bits(resumed, uninterrupted)
    assert_same_bits(resumed, load(tmp_path))


def test_interrupted_at_the_keyboard_and_resumed_likewise(machinery, uninterrupted, tmp_path):
    def interrupt(run):
        if run.epochs_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(machinery, tmp_path, interrupt)
    assert load(tmp_path).epochs_done == 2
    assert_same_bits(train(machinery, tmp_path), uninterrupted)

    # A finished run is read, not trained again.
    before = (tmp_path / "checkpoint.npz").stat().st_mtime_ns
    seen = []
    train(machinery, tmp_path, lambda run: seen.append(run.epochs_done))
    assert seen == [3]
    assert (tmp_path / "checkpoint.npz").stat().st_mtime_ns == before


def test_a_run_does_not_depend_on_double_precision(machinery, uninterrupted):
    with jax.enable_x64(True):
        assert_same_bits(train(machinery), uninterrupted)


def test_seeds_are_different_experiments(uninterrupted):
    initial, final = uninterrupted.initial.W_E, uninterrupted.state.weights.W_E
    assert np.abs(initial[0] - initial[1]).max() > 0.1
    assert np.abs(final[0] - final[1]).max() > 0.1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mechanism": "positional"}, "mechanism is semantic there, positional here"),
        ({"seeds": (0, 2)}, r"seeds is \[0, 1\] there, \[0, 2\] here"),
        ({"recipe": Recipe(epochs=4)}, "recipe.epochs is 3 there, 4 here"),
        ({"surgery": Surgery("semantic")}, "surgery is None there"),
    ],
)
def test_a_directory_of_another_experiment_is_refused_and_left_alone(
    machinery, tmp_path, change, complaint
):
    runs_module.begin(tmp_path, _unstarted(machinery))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RunError, match=complaint):
        train(replace(machinery, **change), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_directory_that_began_elsewhere_is_refused(machinery, tmp_path):
    run = _unstarted(machinery)
    moved = run.initial._replace(b_out=run.initial.b_out + 1)
    runs_module.begin(tmp_path, replace(run, initial=moved))
    with pytest.raises(RunError, match="other initial weights"):
        train(machinery, tmp_path)


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(machinery, tmp_path, monkeypatch):
    run = _unstarted(machinery)
    runs_module.begin(tmp_path, run)
    before = (tmp_path / "checkpoint.npz").read_bytes()

    def full_disk(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="disk full"):
        runs_module.save_checkpoint(tmp_path, run)
    assert (tmp_path / "checkpoint.npz").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint.npz",
        "config.json",
        "initial.npz",
    ]


def test_a_broken_directory_is_said_to_be_broken(machinery, tmp_path):
    with pytest.raises(RunError, match="no counting run"):
        load(tmp_path)
    runs_module.begin(tmp_path, _unstarted(machinery))
    (tmp_path / "checkpoint.npz").write_bytes(b"not an archive")
    with pytest.raises(RunError, match="cannot be read"):
        load(tmp_path)


def test_a_directory_of_something_else_is_refused_before_anything_is_done(machinery, tmp_path):
    (tmp_path / "zarr.json").write_text("{}")
    for act in (lambda: train(machinery, tmp_path), lambda: _unstarted(machinery).save(tmp_path)):
        with pytest.raises(RunError, match=r"holds something else \(zarr.json\)"):
            act()
    assert [path.name for path in tmp_path.iterdir()] == ["zarr.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is a file"):
        train(machinery, tmp_path / "file")


def test_a_directory_that_cannot_be_written_to_is_refused_first(machinery, tmp_path, monkeypatch):
    def closed(path, write):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(runs_module, "_put", closed)
    with pytest.raises(RunError, match="cannot be written to: Permission denied"):
        train(machinery, tmp_path / "run", lambda run: pytest.fail("something was done"))


def test_a_run_that_diverges_is_a_failure_not_an_answer(machinery, tmp_path):
    wild = replace(machinery, recipe=replace(machinery.recipe, learning_rate=1e10))
    with pytest.raises(
        RunError, match=r"every seed diverged in epoch 1: lower the learning rate \(1e\+10\)"
    ):
        train(wild, tmp_path)


def test_a_seed_that_diverged_among_others_says_so(machinery, uninterrupted):
    history = uninterrupted.history._replace(train_loss=np.array(uninterrupted.history.train_loss))
    history.train_loss[1, -1] = np.nan
    summary = summarise(replace(uninterrupted, history=history))
    assert summary.seeds[1].verdict == "diverged"
    assert summary.seeds[0].verdict != "diverged"
    assert summary.accuracy.value == summary.seeds[0].accuracy
    assert "diverged" in repr(replace(uninterrupted, history=history))


def test_a_config_survives_the_disk(machinery):
    operated = replace(machinery, mechanism="free", surgery=Surgery("positional", 0.1))
    for experiment in (machinery, operated):
        assert Experiment.from_dict(experiment.to_dict()) == experiment


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mechanism": "lexical"}, "expected one of semantic, positional, free"),
        ({"seeds": ()}, "at least one"),
        ({"seeds": (1, 1)}, "the same seed"),
        ({"width": 7}, "even"),
        ({"recipe": Recipe(batch=10_000)}, "more than the 4200 training samples"),
    ],
)
def test_impossible_experiments_are_refused(machinery, change, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(machinery, **change)


def _unstarted(experiment):
    found = []

    def stop(run):
        found.append(run)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(experiment, None, stop)
    return found[0]


def test_a_number_of_seeds_is_that_many_from_zero():
    assert Experiment(seeds=3).seeds == (0, 1, 2)
    assert Experiment(seeds=[4, 2]).seeds == (4, 2)
    assert Experiment(seeds=3) == Experiment(seeds=(0, 1, 2))
