"""Training as a process, as d → ∞.

`full_batch/`: gradient descent on a fixed data set, step by step. `online/`: one-pass learning,
every sample seen once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
