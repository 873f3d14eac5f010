"""The lock: one writer, whatever the file system makes of locks; a dead process locks nothing."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from toy_computations import run_study, toy_study

from dotphase.studies.store.lock import LockedError, holder, lock_path, locked
from dotphase.studies.store.store import Store

sys.path.append(str(Path(__file__).parents[2]))
disturbed = pytest.importorskip("benchmarks.disturbed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks through fcntl")

ALPHAS = [1.0, 2.0]
MANNERS = ["ignored", "ENOSYS", "ENOLCK", "EOPNOTSUPP"]


def signature(process, **other):
    began = process.create_time() - psutil.boot_time()
    owner = {"host": socket.gethostname(), "pid": process.pid, "began": began, "since": time.time()}
    return json.dumps(owner | other)


@pytest.fixture
def sleeper():
    """A process that is alive, and does nothing."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


@pytest.mark.parametrize("manner", MANNERS)
def test_without_locks_the_signature_is_the_lock(tmp_path, manner):
    path = tmp_path / "run.zarr"
    with disturbed.locks(manner):
        with locked(path):
            assert holder(path)["pid"] == os.getpid()
            with (
                pytest.raises(LockedError, match=f"being written by process {os.getpid()} on .*"),
                locked(path),
            ):
                pass
        assert holder(path) is None
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("manner", MANNERS)
def test_a_living_owner_is_believed(tmp_path, manner, sleeper):
    path = tmp_path / "run.zarr"
    lock_path(path).write_text(signature(sleeper))
    with disturbed.locks(manner), pytest.raises(LockedError, match=f"process {sleeper.pid} "):
        run_study(toy_study(ALPHAS), path)
    assert not path.exists()
    sleeper.kill()
    sleeper.wait()  # by whoever started it: until then it is a zombie, which is dead as well
    with disturbed.locks(manner):
        assert run_study(toy_study(ALPHAS), path).sizes["alpha"] == 2


def test_a_zombie_holds_nothing(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    lock_path(tmp_path / "run.zarr").write_text(signature(psutil.Process(process.pid)))
    process.kill()
    while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    with locked(tmp_path / "run.zarr"):
        pass
    process.communicate()


def test_another_process_with_the_number_of_a_dead_owner_holds_nothing(tmp_path, sleeper):
    path = tmp_path / "run.zarr"
    for other in ({"began": 3.0}, {"began": None, "since": 0.0}):
        lock_path(path).write_text(signature(sleeper, **other))
        with locked(path):
            assert holder(path)["pid"] == os.getpid()


def test_a_signature_of_an_earlier_version_has_no_beginning(tmp_path, sleeper):
    lock_path(tmp_path / "run.zarr").write_text(signature(sleeper, began=None))
    with pytest.raises(LockedError), locked(tmp_path / "run.zarr"):
        pass


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_owner_is_alive_by_any_clock(tmp_path, hours, sleeper):
    path = tmp_path / "run.zarr"
    since = time.time() + 3600 * hours
    lock_path(path).write_text(signature(sleeper, since=since))
    with pytest.raises(LockedError), locked(path):
        pass
    lock_path(path).write_text(signature(sleeper, host="elsewhere", since=since))
    with pytest.raises(LockedError, match=r"on elsewhere since \d{4}-\d\d-\d\d \d\d:\d\d; wait"):
        run_study(toy_study(ALPHAS), path)


@pytest.mark.parametrize("since", ["1e300", "-1e300", "NaN", "null", '"x"', "1" + 30 * "0"])
def test_any_time_can_be_printed(tmp_path, since):
    path = tmp_path / "run.zarr"
    lock_path(path).write_text(f'{{"host": "elsewhere", "pid": 1, "since": {since}}}')
    with pytest.raises(LockedError, match="process 1 on elsewhere; wait"):
        run_study(toy_study(ALPHAS), path)


@pytest.mark.parametrize("pid", [10**30, -1, 0, 1.5, "1", None, True])
def test_nonsense_as_a_process_is_no_owner(tmp_path, pid):
    owner = {"host": socket.gethostname(), "pid": pid, "since": 0.0}
    lock_path(tmp_path / "run.zarr").write_text(json.dumps(owner))
    with locked(tmp_path / "run.zarr"):
        pass


def test_of_two_that_sign_the_first_gives_way(tmp_path, monkeypatch, sleeper):
    path = tmp_path / "run.zarr"
    later = signature(sleeper)
    monkeypatch.setattr(time, "sleep", lambda seconds: lock_path(path).write_text(later))
    with (
        disturbed.locks("ignored"),
        pytest.raises(LockedError, match=f"process {sleeper.pid} "),
        locked(path),
    ):
        pass
    assert lock_path(path).read_text() == later


def test_a_run_ends_when_another_one_has_signed(tmp_path, sleeper):
    """The lock's file was deleted by hand, and another run began."""
    path, later = tmp_path / "run.zarr", signature(sleeper)

    def replace(done, total, failed):
        if done == 1:
            lock_path(path).unlink()
            lock_path(path).write_text(later)
            time.sleep(1.0)

    with pytest.raises(LockedError, match=f"process {sleeper.pid} "):
        run_study(toy_study(ALPHAS), path, progress=replace)
    assert lock_path(path).read_text() == later
    sleeper.kill()
    kept = [record["unit"] for record in Store(path).unit_records() if "numbers" in record]
    assert kept == [0]
    assert (run_study(toy_study(ALPHAS), path)["toy_outcome"].values == "done").all()
