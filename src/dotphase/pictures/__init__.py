"""The one style of all pictures, and quick pictures of results."""

from .quick import draw_curves, draw_messages, draw_path, draw_runs, draw_solutions, draw_trajectories, plot

__all__ = [
    "draw_curves",
    "draw_messages",
    "draw_path",
    "draw_runs",
    "draw_solutions",
    "draw_trajectories",
    "plot",
]
