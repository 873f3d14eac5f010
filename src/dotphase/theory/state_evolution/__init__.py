"""The state-evolution map of one scenario on fixed nodes.

`nodes.py`: the nodes and their symmetric images. `half_steps.py`: the output and the input
half-step. `averages.py`: the averages of the output half-step with derivatives. `evaluator.py`:
both half-steps as one map with its Jacobian. `iteration.py`: the map applied again and again,
undamped.
"""
