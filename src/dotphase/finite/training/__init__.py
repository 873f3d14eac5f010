"""Training at finite d.

`objective.py`: the loss and its gradient. `optimisers.py`: gradient descent, Adam, L-BFGS.
`starts.py`: first weights. `training.py`: `train`. `runs.py`: its results. `checkpoint.py`: runs
that can be interrupted.
"""
