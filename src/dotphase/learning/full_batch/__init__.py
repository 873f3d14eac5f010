"""Learning curves: full-batch gradient descent on αd samples as d → ∞, step by step.

`learning_curve.py`: the answer. `schedule.py`: the steps. `starts.py`: the first weights.
`signals.py`, `modes.py`: the weights as sums of orthonormal modes. `noise.py`: the normals of
every path. `loss.py`: the loss of a sample. `descent.py`: one step after the other. `plots.py`:
the picture. The derivation is in docs/explanation/learning-curves.md.
"""
