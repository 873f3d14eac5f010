"""What an attention does, measured: how much of its scores follows from positions, how much from
words.

`entries.py`: the scores that enter, and their words. `fit.py`: the joint fit. `shares.py`: shares
of the variance and their errors. `permutation.py`: what happens to scores when words change places.
`verdict.py`: one word, with its margin. `distance.py`: how far two attentions are apart.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
