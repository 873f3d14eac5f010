"""Fixed points along a parameter.

`continuation.py`: a branch, from one scenario to the next. `curves.py`: several branches over a
parameter. `search.py`: all fixed points of a scenario. `phases.py`: which mechanism wins.
`transitions.py`: where that changes, `roots.py`: as a root, or `node_sets.py`: as a mean over node
sets. `spinodals.py`: where a branch ends. `rows.py`: rows of phase diagrams. `sensitivity.py`:
derivatives with respect to the scenario's numbers.
"""
