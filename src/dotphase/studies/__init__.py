"""Studies: a computation over axes of parameters, run anywhere, kept in a store.

`study/` what to compute; `computations/` what can be computed at a point; `store/` where results
are kept; `run/` who computes: threads, worker processes, a cluster; `phase_diagram.py` the phase
diagram as a study.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
