"""Workers on a SLURM cluster, through dask-jobqueue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...numerics.extras import require
from .dask import THREADS

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Security


def slurm_cluster(
    partition: str,
    cores: int = 16,
    memory: str = "32GB",
    walltime: str = "04:00:00",
    gpu: bool = False,
    account: str | None = None,
    prologue: list[str] | None = None,
    interface: str | None = None,
    security: Security | None = None,
    **options: Any,
) -> SLURMCluster:
    """A dask cluster whose workers are SLURM jobs; `cluster.scale(jobs=8)` asks for eight of them.

    A job has one worker process of one thread per core, since a unit of work uses one thread.
    With `gpu` it has one GPU and one worker process, which has all the cores to itself: ask for
    more jobs to have more GPUs. The threads of the libraries are limited to match.

    **Arguments**

    - `partition`, `cores`, `memory`, `walltime`, `gpu`, `account`: of one job.
    - `prologue`: lines of shell before the worker starts (`module load …`, `source
      venv/bin/activate`).
    - `interface`: the network interface to listen on (`"ib0"`), which the nodes must reach; all of
      them unless given.
    - `security`: certificates, as `make_certificates` makes them in a folder that nodes and login
      node share. Without them, everyone who can reach the scheduler's port can run code under your
      account: use them on every network that you do not trust.
    - `options`: further ones of `dask_jobqueue.SLURMCluster`.

    **Example**

        keys = make_certificates("keys")
        with slurm_cluster("cpu", cores=32, prologue=["source venv/bin/activate"], security=keys) as cluster:
            cluster.scale(jobs=8)
            run_study(read_study("study.toml"), "run.zarr", scheduler=cluster.scheduler_address, security=keys)
    """
    require("SLURM workers need", "dask_jobqueue")
    from dask_jobqueue.slurm import SLURMCluster

    if cores < 1:
        raise ValueError(f"cores: at least one is needed, got {cores}")
    processes = 1 if gpu else cores
    limits = [f"export {name}={cores // processes}" for name in THREADS]
    network: dict[str, Any] = {} if interface is None else {"interface": interface}
    network |= {} if security is None else {"security": security, "protocol": "tls://"}
    directives = ["--gres=gpu:1"] * gpu + options.pop("job_extra_directives", [])
    return SLURMCluster(
        queue=partition,
        account=account,
        cores=processes,  # dask's threads: one for each process
        job_cpu=cores,
        processes=processes,
        memory=memory,
        walltime=walltime,
        job_extra_directives=directives,
        job_script_prologue=[*limits, *(prologue or [])],
        **network,
        **options,
    )
