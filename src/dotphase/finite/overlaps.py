"""What a set of weights has learned: its overlaps with the teacher, with the positions, and with itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .instance import Instance


class Overlaps(NamedTuple):
    """Overlaps per token l, with the signs they have.

    - `q`: q_l = QᵀΣ_lQ/d, (L, r_s, r_s).
    - `m`: m_l = Qᵀp_l/√d, (L, r_s).
    - `theta`: θ_l = QᵀΣ_lQ*/d, (L, r_s, r_t).
    """

    q: np.ndarray
    m: np.ndarray
    theta: np.ndarray

    @property
    def sizes(self) -> dict[str, np.ndarray]:
        """Tr q_l, ‖m_l‖, ‖θ_l‖ per token, which Q → QO does not change. At rank one: q_l, |m_l|, |θ_l|."""
        return {
            "q": np.trace(self.q, axis1=-2, axis2=-1),
            "m": np.linalg.norm(self.m, axis=-1),
            "theta": np.linalg.norm(self.theta, axis=(-2, -1)),
        }


def overlaps(instance: Instance, weights: np.ndarray) -> Overlaps:
    """The overlaps of `weights` Q, (d, r_s), in `instance`."""
    d, weighted = instance.dimension, instance.gamma[:, :, None] * weights
    q = np.einsum("lia,ib->lab", weighted, weights) / d
    theta = np.einsum("lia,ib->lab", weighted, instance.teacher_weights) / d
    return Overlaps(q, instance.positions @ weights / np.sqrt(d), theta)
