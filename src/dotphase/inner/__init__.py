"""One sample: its loss as a function of its fields, and the minima of its inner problem, lowest and reached."""

from .linear import eliminate
from .loss import (
    Problem,
    energy,
    energy_and_gradient,
    energy_derivatives,
    loss_derivatives,
    mismatch,
    pull,
    sample_loss,
)
from .minima import InnerMinimum, Lowest, Reached, as_minimum, flow
from .minimiser import Minimum, descend
from .search import Minima, search

__all__ = [
    "InnerMinimum",
    "Lowest",
    "Minima",
    "Minimum",
    "Problem",
    "Reached",
    "as_minimum",
    "descend",
    "eliminate",
    "energy",
    "energy_and_gradient",
    "energy_derivatives",
    "flow",
    "loss_derivatives",
    "mismatch",
    "pull",
    "sample_loss",
    "search",
]
