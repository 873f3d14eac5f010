"""Clusters: a dask scheduler's workers give the same results; the job script of SLURM says what was
asked for."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import CancelledError, Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from test_studies_runner import ALPHAS, ENVIRONMENT, assert_same, written
from toy_computations import run_study, toy_study

from dotphase.studies.run.dask import Cluster, Timeouts, _pass_on
from dotphase.studies.run.work import Result
from dotphase.studies.run.workers import Job

CommClosedError = pytest.importorskip("distributed.comm").CommClosedError


def test_workers_of_a_scheduler_give_the_same_results(tmp_path):
    from distributed import LocalCluster

    options = {
        "n_workers": 1,
        "threads_per_worker": 2,
        "processes": False,
        "dashboard_address": None,
    }
    with LocalCluster(**options, host="127.0.0.1", protocol="tcp") as cluster:
        address = cluster.scheduler_address
        found = run_study(toy_study(ALPHAS, fails_at=3.0), tmp_path / "run.zarr", scheduler=address)
        assert (found["toy_outcome"].values == "failed").sum() == 4
    assert_same(found, run_study(toy_study(ALPHAS, fails_at=3.0), tmp_path / "serial.zarr"))


def script(**options) -> str:
    pytest.importorskip("dask_jobqueue")
    from dotphase.studies.run.slurm import slurm_cluster

    with slurm_cluster(
        **options, scheduler_options={"dashboard_address": None, "host": "127.0.0.1"}
    ) as cluster:
        return cluster.job_script()


def directives(text: str) -> set[str]:
    return set(re.findall(r"^#SBATCH (.*)$", text, re.M))


def test_the_job_script_of_a_cpu_partition():
    text = script(partition="cpu", cores=32, memory="64GB", walltime="12:00:00", account="physics",
                  prologue=["source venv/bin/activate"])  # fmt: skip
    assert {"-p cpu", "-A physics", "-n 1", "--cpus-per-task=32", "-t 12:00:00"} <= directives(text)
    assert any(line.startswith("--mem=6") for line in directives(text))
    assert "--nworkers 32" in text
    assert "--nthreads 1" in text
    for line in ("export OMP_NUM_THREADS=1", "export NPROC=1", "source venv/bin/activate"):
        assert line in text.splitlines()
    assert "gpu" not in text


def test_the_job_script_of_a_gpu_partition():
    text = script(
        partition="gpu",
        cores=16,
        memory="128GB",
        gpu=True,
        job_extra_directives=["--constraint=a100"],
    )
    assert {"-p gpu", "--gres=gpu:1", "--constraint=a100", "--cpus-per-task=16"} <= directives(text)
    assert "--nthreads 1 " in text
    assert "--nworkers" not in text  # one is what dask starts by itself
    assert "export OMP_NUM_THREADS=16" in text.splitlines()


def test_the_job_script_with_certificates_and_an_interface(tmp_path):
    from dotphase.studies.run.certificates import make_certificates, read_certificates

    with pytest.raises(ValueError, match="no certificate here"):
        read_certificates(tmp_path / "keys")
    make_certificates(tmp_path / "keys")
    assert (tmp_path / "keys" / "key.pem").stat().st_mode & 0o077 == 0
    x509 = pytest.importorskip("cryptography.x509")
    made = x509.load_pem_x509_certificate((tmp_path / "keys" / "certificate.pem").read_bytes())
    elsewhere = datetime.now(UTC) - timedelta(hours=1)  # by a clock that is behind
    assert made.not_valid_before_utc < elsewhere < made.not_valid_after_utc
    text = script(
        partition="cpu",
        cores=2,
        security=read_certificates(tmp_path / "keys"),
        shared_temp_directory=tmp_path,
    )
    assert "tls://127.0.0.1" in text
    assert "--tls-key" in text
    assert "--interface lo" in script(partition="cpu", cores=2, interface="lo")


def test_a_job_without_cores_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        script(partition="cpu", cores=0)


def test_no_scheduler_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("dotphase.studies.run.dask.TIMEOUTS", Timeouts(answer=1.0))
    with pytest.raises(ValueError, match=r"no dask scheduler answers at tcp://127.0.0.1:9"):
        run_study(toy_study(ALPHAS), tmp_path / "run.zarr", scheduler="tcp://127.0.0.1:9")


def worker(address, *words, environment=None):
    command = [
        sys.executable,
        "-m",
        "dask",
        "worker",
        address,
        "--nthreads",
        "1",
        "--no-nanny",
        "--no-dashboard",
        *words,
    ]
    return subprocess.Popen(command, env=environment or ENVIRONMENT, stderr=subprocess.DEVNULL)


def scheduler(folder):
    """A scheduler in a process of its own, and its address."""
    file = folder / "scheduler.json"
    words = [
        "--port",
        "0",
        "--no-dashboard",
        "--dashboard-address",
        "127.0.0.1:0",
        "--scheduler-file",
        str(file),
    ]
    command = [sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", *words]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    while not file.exists() or not file.read_text():
        assert process.poll() is None
        time.sleep(0.1)
    return process, json.loads(file.read_text())["address"]


@pytest.fixture
def processes():
    started = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_a_lost_worker_does_not_stop_a_sweep(tmp_path, processes):
    process, address = scheduler(tmp_path)
    processes += [process, worker(address), worker(address)]

    def lose_one(done, total, failed):
        if done == 3:
            processes[1].kill()

    found = run_study(
        toy_study(ALPHAS, takes=0.05), tmp_path / "run.zarr", scheduler=address, progress=lose_one
    )
    assert_same(found, run_study(toy_study(ALPHAS, takes=0.05), tmp_path / "serial.zarr"))


def test_a_lost_scheduler_is_one_line_and_resumable(tmp_path, processes, monkeypatch):
    monkeypatch.setattr("dotphase.studies.run.dask.TIMEOUTS", Timeouts(silence=3.0))
    process, address = scheduler(tmp_path)
    processes += [process, worker(address)]

    def lose_it(done, total, failed):
        if done == 3:
            processes[0].kill()

    study = toy_study(ALPHAS, takes=0.3)
    with pytest.raises(
        ValueError, match=r"the dask scheduler at tcp.* is gone; what is finished is kept"
    ):
        run_study(study, tmp_path / "run.zarr", scheduler=address, progress=lose_it)
    kept = written(tmp_path / "run.zarr")
    assert len(kept) >= 3
    found = run_study(study, tmp_path / "run.zarr")
    assert written(tmp_path / "run.zarr")[: len(kept)] == kept
    assert (found["toy_outcome"].values == "done").all()


def test_no_workers_is_told_and_given_up(tmp_path, processes, monkeypatch, caplog):
    monkeypatch.setattr("dotphase.studies.run.dask.TIMEOUTS", Timeouts(reminder=1.0))
    process, address = scheduler(tmp_path)
    processes += [process]
    with pytest.raises(ValueError, match=r"no worker for \d+ s; what is finished is kept"):
        run_study(toy_study(ALPHAS), tmp_path / "run.zarr", scheduler=address, patience=3.0)
    assert "still waiting" in caplog.text


def test_a_worker_with_other_code_is_refused_before_any_work(tmp_path, processes):
    other = tmp_path / "other"
    other.mkdir()
    (other / "toy_computations.py").write_text(
        (Path(__file__).parent / "toy_computations.py").read_text() + "\n# changed\n"
    )
    process, address = scheduler(tmp_path)
    environment = ENVIRONMENT | {"PYTHONPATH": f"{other}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    processes += [process, worker(address, environment=environment)]
    with pytest.raises(
        ValueError,
        match=r"a worker has a different version of the code \(toy_computations \w+ → \w+\)",
    ):
        run_study(toy_study(ALPHAS), tmp_path / "run.zarr", scheduler=address)
    assert written(tmp_path / "run.zarr") == []


class Fetched:
    """A future of dask whose result was fetched; `state` is what has become of it since."""

    def __init__(self, state, outcome):
        self.status, self.outcome = state, outcome

    def __await__(self):
        yield
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.mark.parametrize("state", ["finished", "error", "pending", "cancelled"])
def test_a_fetched_result_counts_although_its_worker_has_died_since(state):
    result, answer = Result("toy", 0, {}, "done", 1.0), Future()
    asyncio.run(_pass_on(Fetched(state, result), answer))
    assert answer.result() is result


@pytest.mark.parametrize("error", [ValueError("wrong"), asyncio.CancelledError()])
def test_an_error_on_the_way_is_passed_on(error):
    answer = Future()
    asyncio.run(_pass_on(Fetched("error", error), answer))
    with pytest.raises((ValueError, CancelledError)):
        answer.result()


@pytest.mark.parametrize("error", [CancelledError(), CommClosedError("in <TCP>: Stream is closed")])
def test_a_scheduler_that_goes_while_a_result_is_fetched_is_lost(error):
    answer = Future()
    answer.set_exception(error)
    with pytest.raises(ValueError, match="the dask scheduler at tcp://somewhere is gone; what is"):
        Cluster({}, {}, "tcp://somewhere").result(Job("toy", 0), answer)
