"""The theory as d → ∞. Read the folders in this order:

`state_evolution/` the map from overlaps to overlaps; `solver/` its fixed points, with errors;
`branches/` fixed points followed along a parameter, transitions and phases; `stability/`
eigenvalues and replica symmetry; `baseline.py` the best predictor that sees positions only;
`fields.py` the fields of new sentences.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
