"""A study on a SLURM cluster: run this on the login node, in a terminal that stays open (tmux).

    python examples/slurm.py STUDY.toml RUN.zarr

It asks for jobs, hands units of work to them as they start, and writes what they find. Interrupted,
it goes on when it is run again.
"""

import sys

from dotphase.studies.run.certificates import make_certificates
from dotphase.studies.run.runner import run_study
from dotphase.studies.run.slurm import slurm_cluster
from dotphase.studies.study.study import read_study


def main(study: str, store: str) -> None:
    options = {
        "cores": 32,
        "memory": "64GB",
        "walltime": "04:00:00",
        "prologue": ["source .venv/bin/activate"],
    }
    keys = make_certificates(
        "keys"
    )  # without them whoever reaches the scheduler can run code as you
    with slurm_cluster("cpu", **options, security=keys) as cluster:
        print(cluster.job_script())
        cluster.adapt(maximum_jobs=8)
        dataset = run_study(
            read_study(study), store, scheduler=cluster.scheduler_address, security=keys
        )
        print(dataset)


if __name__ == "__main__":
    main(*sys.argv[1:])
