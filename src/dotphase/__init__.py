"""dotphase: when does attention learn position, and when does it learn meaning?

One frozen `Scenario` goes, unchanged, to the theory (`solve`), to message passing (`gamp`), to
training (`train`) and to data (`sample`).

The public names stand in `__init__.pyi`, for editors, type checkers and this file alike. They are
loaded on first use, so that importing dotphase costs nothing.
"""

import lazy_loader

__version__ = "1.0.0rc1"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
