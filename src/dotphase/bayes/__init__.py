"""The Bayes-optimal limit: the best that anyone can do with the same data.

`channel.py`: what the teacher's output reveals of its fields. `limit.py`: state evolution and its
fixed point. `message_passing.py`: the algorithm that reaches it at finite d.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
