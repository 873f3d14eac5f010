from .quick import plot as plot
