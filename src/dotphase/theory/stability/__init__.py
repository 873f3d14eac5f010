"""Is a fixed point stable, and does replica symmetry hold there?

`linearised.py`: the map around a fixed point. `spectra.py`: its eigenvalues and the replicon.
`stability.py`: the verdict. `breaking.py`: how strongly replica symmetry is broken. `one_step.py`,
`clusters.py`, `cluster_map.py`, `one_step_result.py`: one step of replica-symmetry breaking.
`one_sample.py`: one inner problem as a landscape.
"""
