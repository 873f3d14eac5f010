"""What every answer offers: a number with an error, a table, a file.

`estimate.py`: `Estimate`, a value with its standard error. `result.py`: `Result`, the base of
everything computed. `tables.py` and `json.py`: results as text, HTML, pandas, xarray, JSON.
`archive.py`: save and load. `statistics.py`: means over seeds.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
