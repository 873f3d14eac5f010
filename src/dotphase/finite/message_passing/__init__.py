"""Generalised approximate message passing.

`gamp.py`: the algorithm. `local_problem.py`: the inner problem of every sample. `response.py`: V,
and how samples and directions are coupled.
"""
