"""Running a study: `runner.py` the loop; `work.py` one unit; `workers.py` threads; `dask.py`,
`sent.py`, `slurm.py`, `certificates.py` worker processes here and on a cluster.
"""
