"""Fixed points along a parameter.

`continuation.py`: follow a branch, find all fixed points, find where a branch ends. `curves.py`:
several branches over a parameter. `transitions.py`, `roots.py`: which mechanism wins, and where
that changes. `rows.py`: rows of phase diagrams. `sensitivity.py`: derivatives with respect to the
scenario's numbers.
"""
