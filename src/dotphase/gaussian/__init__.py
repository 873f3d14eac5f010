"""Gaussian averages: node rules behind one interface, each with an honest error."""

from .estimate import Estimate
from .rules import GaussHermite, Nodes, Rule, Sobol

__all__ = ["Estimate", "GaussHermite", "Nodes", "Rule", "Sobol"]
