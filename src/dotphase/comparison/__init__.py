"""Theory, message passing and training laid over each other."""

from .compare import Comparison, Entry, compare
from .pictures import draw_clusters, draw_comparison, draw_sizes, draw_trajectories
from .trajectories import NoisyStart, Trajectories, follow, message_passing

__all__ = [
    "Comparison",
    "Entry",
    "NoisyStart",
    "Trajectories",
    "compare",
    "draw_clusters",
    "draw_comparison",
    "draw_sizes",
    "draw_trajectories",
    "follow",
    "message_passing",
]
