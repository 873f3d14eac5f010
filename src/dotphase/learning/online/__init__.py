"""One-pass learning: differential equations of the overlaps, and their simulation at finite d.

`decomposition.py`: the weights in terms of teacher, encodings and noise. `averages.py`,
`equations.py`: the equations. `one_pass.py`: their solution. `phase_portrait.py`: the flow in the
plane of m and θ. `escape.py`: how a small random start is left. `simulation.py`, `agreement.py`:
finite d, and the comparison with it.
"""
