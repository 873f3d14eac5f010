"""Workers on a SLURM cluster, by dask-jobqueue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .processes import THREADS

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster


def slurm_cluster(
    partition: str,
    cores: int = 16,
    memory: str = "32GB",
    walltime: str = "04:00:00",
    gpus: int = 0,
    account: str | None = None,
    prologue: list[str] | None = None,
    **options: Any,
) -> SLURMCluster:
    """A dask cluster whose workers are SLURM jobs; `cluster.scale(jobs=8)` asks for eight of them.

    A job has one worker process of one thread per core, since each unit of work is made for one; with `gpus`, one per
    GPU, the cores being shared out among them. Threads of libraries are limited to match.

    **Arguments**

    - `partition`, `cores`, `memory`, `walltime`, `gpus`, `account`: of one job.
    - `prologue`: lines of shell before the worker starts (`module load …`, `source venv/bin/activate`).
    - `options`: further ones of `dask_jobqueue.SLURMCluster`.

    **Example**

        with slurm_cluster("cpu", cores=32, walltime="12:00:00", prologue=["source venv/bin/activate"]) as cluster:
            cluster.scale(jobs=8)
            run_sweep(read_study("study.toml"), "run.zarr", scheduler=cluster.scheduler_address)
    """
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise ValueError("SLURM needs dask-jobqueue: pip install 'dotphase[cluster]'") from None
    if cores < 1 or gpus < 0 or gpus > cores:
        raise ValueError(f"cores, gpus: expected at least one core, and one for each GPU; got {cores} and {gpus}")
    processes = gpus or cores
    lines = [f"export {name}={cores // processes}" for name in THREADS]
    if gpus:
        # Several processes share the job's GPUs: none may take all of a GPU's memory when it starts.
        lines.append("export XLA_PYTHON_CLIENT_PREALLOCATE=false")
    directives = [f"--gres=gpu:{gpus}"] * bool(gpus) + options.pop("job_extra_directives", [])
    return SLURMCluster(
        queue=partition,
        account=account,
        cores=processes,  # dask's threads: one for each process
        job_cpu=cores,
        processes=processes,
        memory=memory,
        walltime=walltime,
        job_extra_directives=directives,
        job_script_prologue=[*lines, *(prologue or [])],
        **options,
    )
