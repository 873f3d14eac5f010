"""The counting task: a small transformer that learns one of two mechanisms, both minima of the same
loss.

`transformer.py`: the network. `data.py`: the task. `epochs.py`, `training.py`: training. `runs.py`:
results in files. `surgery.py`: remove a restriction and continue training. `metrics.py`,
`summary.py`: which mechanism the attention shows. `plots.py`, `show.py`: pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
