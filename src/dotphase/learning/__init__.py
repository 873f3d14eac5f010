"""Training as a process, as d → ∞.

`online/`: one-pass learning, every sample seen once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
