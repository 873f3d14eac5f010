from .overlaps import Overlaps as Overlaps
from .overlaps import WeightOverlaps as WeightOverlaps
