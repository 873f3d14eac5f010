"""One sample: its loss as a function of its fields, and the proximal point of that loss, found globally."""

from .linear import eliminate
from .loss import Problem, energy, energy_derivatives, loss_derivatives, mismatch, pull, sample_loss
from .minimiser import Minimum, descend
from .search import Minima, search

__all__ = [
    "Minima",
    "Minimum",
    "Problem",
    "descend",
    "eliminate",
    "energy",
    "energy_derivatives",
    "loss_derivatives",
    "mismatch",
    "pull",
    "sample_loss",
    "search",
]
