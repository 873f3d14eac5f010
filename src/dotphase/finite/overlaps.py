"""What a set of weights has learned: its overlaps with the teacher, with the positions, and with
itself."""

from __future__ import annotations

import numpy as np

from ..overlaps.overlaps import WeightOverlaps
from .data.instance import Instance


def overlaps(instance: Instance, weights: np.ndarray) -> WeightOverlaps:
    """The overlaps of `weights` Q, (d, r_s), in `instance`."""
    d, weighted = instance.dimension, instance.gamma[:, :, None] * weights
    q = np.einsum("lia,ib->lab", weighted, weights) / d
    theta = np.einsum("lia,ib->lab", weighted, instance.teacher_weights) / d
    return WeightOverlaps(q, instance.positions @ weights / np.sqrt(d), theta)
