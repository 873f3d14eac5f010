"""New sentences as d → ∞: an attention depends on them only through its fields, which are jointly
normal, u for the teacher and h for a student with

    u_l ~ N(0, ρ_l),    E[h_l | u] = m_l + θ_l ρ_l⁻¹ u_l,    Cov[h_l | u] = q_l − θ_l ρ_l⁻¹ θ_lᵀ.

The fields of correlated tokens form one group; sentences are on the last axis.
"""

from __future__ import annotations

import numpy as np

from ..inner.loss import applied
from ..numerics.matrix_root import symmetric_root
from ..overlaps.correlated import group, grouped
from ..scenario.scenario import Scenario
from .solver.solution import Solution


def teacher_fields(
    scenario: Scenario, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """u, (L, r_t, count), and standard normals (L, r_s, count) for the part of h that is
    independent of u."""
    r_s, r_t = scenario.ranks
    roots = np.linalg.cholesky(grouped(scenario.distribution.joint_rho))
    u = np.einsum("gab,gbn->gan", roots, rng.standard_normal((*roots.shape[:2], count)))
    return u.reshape(scenario.length, r_t, count), rng.standard_normal(
        (scenario.length, r_s, count)
    )


def student_fields(solution: Solution, u: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """h given u, (L, r_s, count)."""
    rho, (q, _, m, theta) = grouped(solution.scenario.distribution.joint_rho), group(solution.state)
    gain = theta @ np.linalg.inv(rho)
    root = symmetric_root(q - gain @ np.swapaxes(theta, 1, 2))
    mean = m.reshape(*noise.shape[:2], 1)
    return mean + applied(gain, u) + applied(root, noise)
