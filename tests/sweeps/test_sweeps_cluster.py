"""Clusters: a dask scheduler's workers give the same results; the job script of SLURM says what was asked for."""

import re

import pytest
from test_sweeps_runner import ALPHAS, assert_same
from toy_kinds import toy_study

from dotphase.sweeps import run_sweep

pytest.importorskip("distributed")


def test_workers_of_a_scheduler_give_the_same_results(tmp_path):
    from distributed import LocalCluster

    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with LocalCluster(**options, host="127.0.0.1", protocol="tcp") as cluster:
        address = cluster.scheduler_address
        found = run_sweep(toy_study(ALPHAS, fails_at=3.0), tmp_path / "run.zarr", scheduler=address)
        assert (found["toy_outcome"].values == "failed").sum() == 4
    assert_same(found, run_sweep(toy_study(ALPHAS, fails_at=3.0), tmp_path / "serial.zarr"))


def script(**options) -> str:
    pytest.importorskip("dask_jobqueue")
    from dotphase.sweeps.engine.slurm import slurm_cluster

    with slurm_cluster(**options, scheduler_options={"dashboard_address": None, "host": "127.0.0.1"}) as cluster:
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
    text = script(partition="gpu", cores=16, memory="128GB", gpu=True, job_extra_directives=["--constraint=a100"])
    assert {"-p gpu", "--gres=gpu:1", "--constraint=a100", "--cpus-per-task=16"} <= directives(text)
    assert "--nthreads 1 " in text
    assert "--nworkers" not in text  # one is what dask starts by itself
    assert "export OMP_NUM_THREADS=16" in text.splitlines()


def test_a_job_without_cores_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        script(partition="cpu", cores=0)


def test_no_scheduler_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("dotphase.sweeps.cluster.PATIENCE", "1s")
    with pytest.raises(ValueError, match=r"no dask scheduler answers at tcp://127.0.0.1:9"):
        run_sweep(toy_study(ALPHAS), tmp_path / "run.zarr", scheduler="tcp://127.0.0.1:9")
