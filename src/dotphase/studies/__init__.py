"""Studies: computations over axes of parameters, run on one machine or a cluster, with results in a
store.

`study/` what to compute; `computations/` what can be computed at a point; `store/` where results
are kept; `run/` threads, worker processes, a cluster; `phase_diagram.py` the phase
diagram as a study.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
