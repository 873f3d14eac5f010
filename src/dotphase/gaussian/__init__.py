"""Gaussian averages: node rules behind one interface, each with an honest error."""

from .rules import GaussHermite, Nodes, Rule, Sobol

__all__ = ["GaussHermite", "Nodes", "Rule", "Sobol"]
