"""Overlaps q, m, V, θ and their conjugates.

`overlaps.py`: the types. `layout.py`: where each lies in a flat array. `coordinates.py`:
unconstrained coordinates, in which the equations are solved; `correlated.py` the same for
correlated tokens. `symmetric.py`: how symmetries act. `gauge.py`: rotations of the student's
columns that change nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
