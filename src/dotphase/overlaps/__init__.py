"""q, m, V, θ, their conjugates and moments: their layout, their coordinates, and what symmetries do to them."""

from .coordinates import distance, factors, from_coordinates, to_coordinates
from .overlaps import (
    Factors,
    Moments,
    Overlaps,
    Shape,
    WeightOverlaps,
    coordinate_layout,
    moment_layout,
    overlap_layout,
)

__all__ = [
    "Factors",
    "Moments",
    "Overlaps",
    "Shape",
    "WeightOverlaps",
    "coordinate_layout",
    "distance",
    "factors",
    "from_coordinates",
    "moment_layout",
    "overlap_layout",
    "to_coordinates",
]
