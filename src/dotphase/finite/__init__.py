"""Finite d: data, training, message passing.

`data/` instances and samples; `training/` objective, optimisers, runs; `message_passing/` GAMP;
`test_error.py` the exact test error of given weights; `linear_fit.py` the linear baseline;
`landscape.py` curvatures and paths between minima; `sample_minima.py` which inner minimum every
sample sits in.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
