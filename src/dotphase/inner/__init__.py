"""The inner problem of one sample: its loss, its energy, and the minima of that.

`loss.py`: ℓ and E with derivatives. `minimiser.py`: damped Newton. `search.py`: the lowest minimum
and its closest rivals. `minima.py`: which minimum a theory takes, the lowest or the one that
training reaches.
"""
