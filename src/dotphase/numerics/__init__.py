"""Numerical tools that know nothing of the model.

`rules.py`: nodes for Gaussian averages. `small_matrices.py`, `elimination.py`, `matrix_root.py`:
linear algebra on many small matrices. `compilation.py`, `kept_programs.py`, `cache.py`,
`precision.py`: how JAX compiles, keeps and rounds. `threads.py`, `progress.py`: many jobs, and how
far they are. `files.py`: files that appear whole. `extras.py`: optional packages.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
