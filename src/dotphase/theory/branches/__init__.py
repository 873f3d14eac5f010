"""Fixed points along a parameter.

`continuation.py`: follow a branch, find all fixed points, find where a branch ends. `curves.py`:
several branches over a parameter. `phases.py`: which mechanism wins. `transitions.py`, `roots.py`:
where that changes. `rows.py`: rows of phase diagrams. `sensitivity.py`: derivatives with respect to the
scenario's numbers.
"""
