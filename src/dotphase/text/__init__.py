"""Real text: sentences as data, the distribution of their tokens, and their phase.

`reading.py`, `words.py`, `arrays.py`, `embedding.py`: words as vectors. `sentences.py`: sentences
as data. `distribution.py`, `lengths.py`: covariances and lengths measured, `covariances.py`: given. `phase.py`: which
mechanism the theory predicts. `universality.py`: real words against Gaussian tokens.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
