"""A number and how sure we are of it: one type, for theory and experiment alike."""

from .estimate import Estimate, plus_minus
from .plain import plain
from .statistics import over_seeds

__all__ = ["Estimate", "over_seeds", "plain", "plus_minus"]
