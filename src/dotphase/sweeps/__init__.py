"""Sweeps: a study declared once, run anywhere, and never lost."""

from .engine.check import check_sweep
from .engine.kind import Kind, Point
from .engine.layout import Variable
from .engine.runner import run_sweep
from .engine.study import Study, read_study
from .engine.view import open_sweep

__all__ = ["Kind", "Point", "Study", "Variable", "check_sweep", "open_sweep", "read_study", "run_sweep"]
