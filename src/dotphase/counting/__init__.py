"""The counting task: one small transformer, two ways to solve it, both minima of one landscape.

`transformer.py`: the network. `data.py`: the task. `epochs.py`, `training.py`: training. `runs.py`:
results in files. `surgery.py`: lift a restriction and train on. `metrics.py`, `summary.py`: what
attention looks at. `plots.py`, `show.py`: pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
