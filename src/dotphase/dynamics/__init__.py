"""One-pass learning: the equations of the overlaps when no sample is seen twice, and their simulation."""

from .makeup import Makeup, Start
from .one_pass import OnePass, one_pass
from .simulation import Simulation, simulate

__all__ = ["Makeup", "OnePass", "Simulation", "Start", "one_pass", "simulate"]
