"""New sentences as d → ∞: an attention depends on them only through its fields, which are jointly
normal, u for the teacher and h for a student with

    u_l ~ N(0, ρ_l),    E[h_l | u] = m_l + θ_l ρ_l⁻¹ u_l,    Cov[h_l | u] = q_l − θ_l ρ_l⁻¹ θ_lᵀ.

The fields of correlated tokens form one group; with random scales u_l and h_l − m_l are multiplied
by s_l. Sentences are on the last axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..inner.loss import applied, scaled
from ..numerics.matrix_root import symmetric_root
from ..overlaps.correlated import group, grouped
from ..scenario.scenario import Scenario
from .solver.solution import Solution


class Sentences(NamedTuple):
    """New sentences: `u`, (L, r_t, count), and `noise`, standard normals (L, r_s, count) for the part
    of h that is independent of u, both before the tokens are scaled; `scale`, s, (L, count)."""

    u: np.ndarray
    noise: np.ndarray
    scale: np.ndarray | None

    @property
    def teacher_fields(self) -> np.ndarray:
        return scaled(self.u, self.scale)


def new_sentences(scenario: Scenario, count: int, rng: np.random.Generator) -> Sentences:
    """So many random sentences of a scenario."""
    (r_s, r_t), length, scales = scenario.ranks, scenario.length, scenario.tokens.scales
    roots = np.linalg.cholesky(grouped(scenario.distribution.joint_rho))
    u = np.einsum("gab,gbn->gan", roots, rng.standard_normal((*roots.shape[:2], count)))
    noise = rng.standard_normal((length, r_s, count))
    scale = None if scales is None else scales.draw(rng, count, length)
    return Sentences(u.reshape(length, r_t, count), noise, scale)


def student_fields(solution: Solution, sentences: Sentences) -> np.ndarray:
    """h of new sentences, (L, r_s, count)."""
    rho, (q, _, m, theta) = grouped(solution.scenario.distribution.joint_rho), group(solution.state)
    gain = theta @ np.linalg.inv(rho)
    root = symmetric_root(q - gain @ np.swapaxes(theta, 1, 2))
    mean = m.reshape(*sentences.noise.shape[:2], 1)
    moving = applied(gain, sentences.u) + applied(root, sentences.noise)
    return mean + scaled(moving, sentences.scale)
