"""Pictures: `style.py`, the one style; `picture.py`, a figure that notebooks display; `quick.py`,
quick plots of results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
