"""Finite d: data, training, message passing, the exact test error, the linear baseline, and the landscape."""

from .baseline import LinearFits, fit_linear, linear_test_error
from .gamp import Gamp, Messages, gamp
from .instance import Instance
from .landscape import Curvature, Path, lowest_curvatures, nearest_image, relaxed_path, straight_path
from .objective import Objective
from .optimisers import LBFGS, Adam, Descent, GradientDescent, Optimiser
from .overlaps import Overlaps, overlaps
from .runs import Run, Runs, Trajectory
from .sampling import Grams, Sample, sample
from .starts import Random, start_weights
from .test_error import exact_test_error
from .training import train

__all__ = [
    "LBFGS",
    "Adam",
    "Curvature",
    "Descent",
    "Gamp",
    "GradientDescent",
    "Grams",
    "Instance",
    "LinearFits",
    "Messages",
    "Objective",
    "Optimiser",
    "Overlaps",
    "Path",
    "Random",
    "Run",
    "Runs",
    "Sample",
    "Trajectory",
    "exact_test_error",
    "fit_linear",
    "gamp",
    "linear_test_error",
    "lowest_curvatures",
    "nearest_image",
    "overlaps",
    "relaxed_path",
    "sample",
    "start_weights",
    "straight_path",
    "train",
]
