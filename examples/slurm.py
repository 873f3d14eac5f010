"""A study on a SLURM cluster: run this on the login node, in a terminal that stays open (tmux).

    python examples/slurm.py STUDY.toml RUN.zarr

It submits jobs, gives units of work to them as they start, and writes the results. After an
interruption run it again.
"""

import sys

from dotphase.studies import read_study, run_study
from dotphase.studies.run.certificates import make_certificates
from dotphase.studies.run.slurm import slurm_cluster


def main(study: str, store: str) -> None:
    options = {
        "cores": 32,
        "memory": "64GB",
        "walltime": "04:00:00",
        "prologue": ["source .venv/bin/activate"],
    }
    # Without certificates, anyone who can reach the scheduler can run code under your account.
    keys = make_certificates("keys")
    with slurm_cluster("cpu", **options, security=keys) as cluster:
        print(cluster.job_script())
        cluster.adapt(maximum_jobs=8)
        dataset = run_study(
            read_study(study), store, scheduler=cluster.scheduler_address, security=keys
        )
        print(dataset)


if __name__ == "__main__":
    main(*sys.argv[1:])
