"""Sweeps: a study declared once, run anywhere, and never lost."""

from .kind import Kind, Point, Variable
from .runner import run_sweep
from .store import open_sweep
from .study import Study, read_study

__all__ = ["Kind", "Point", "Study", "Variable", "open_sweep", "read_study", "run_sweep"]
