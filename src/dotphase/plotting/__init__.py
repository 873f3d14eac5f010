"""Pictures: `style.py`, the one style; `picture.py`, a figure that notebooks display; `quick.py`,
quick plots of results; `datasets.py`, the dataset of a study over one of its axes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
