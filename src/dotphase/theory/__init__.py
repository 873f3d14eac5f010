"""The theory as d → ∞: state evolution, its fixed points, and what they predict."""

from ..overlaps import Overlaps
from .baseline import Baseline, linear_baseline
from .solution import OUTCOMES, Solution, SolveError
from .solve import solve, solve_many

__all__ = ["OUTCOMES", "Baseline", "Overlaps", "Solution", "SolveError", "linear_baseline", "solve", "solve_many"]
