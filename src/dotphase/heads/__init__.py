"""Heads of real transformers: position or meaning?

`measure.py`: the shares of any head. `loading.py`, `layouts.py`: first-layer heads from files.
`adapters.py`: heads of a loaded Hugging Face model. `reading.py`: token ids from text.
`language_model.py`, `training.py`: a small causal language model of ours. `teacher.py`: a head as the
teacher of the solvable model. `plots.py`: pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
