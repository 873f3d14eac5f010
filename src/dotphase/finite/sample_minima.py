"""Which minimum does every sample of a trained model sit in?

At a minimum Q of the training objective sample μ has the field z = x̃Q/√d. Without it in the
training set its field would have been

    w = z − V g,   g = −∇ℓ_μ(z),   V_l = Σ_i γ_li R_i/d,   R_i = (λ + Σ_l γ_li V̂_l)⁻¹,   V̂_l = −Σ_μ ∂g_l^μ/∂w_l^μ/d,

and z is a minimum of ½ (z − w)ᵀV⁻¹(z − w) + ℓ_μ(z): the lowest one, or another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..inner.minimiser import APART
from .message_passing.local_problem import LocalProblem
from .message_passing.response import Coupling
from .training.objective import Objective

STEPS, KEPT, SETTLED = 200, 0.5, 1e-6  # of the iteration for V, which keeps a half of the old one


class Cavity(NamedTuple):
    """`response`: V, as in `Gamp`;  `centres`: w, `fields`: z, `lowest`: the lowest minima, (L,
    r_s, n)."""

    response: np.ndarray
    centres: np.ndarray
    fields: np.ndarray
    lowest: np.ndarray

    @property
    def higher(self) -> np.ndarray:
        """Which samples sit in another minimum than their lowest, (n,)."""
        return np.abs(self.fields - self.lowest).max((0, 1)) > APART


def cavity(objective: Objective, weights: np.ndarray) -> Cavity:
    """The cavity fields of all samples at `weights`, a minimum of `objective`.

    **Example**: `cavity(objective, train(…).runs[0].weights).higher.mean()`.
    """
    local, z = LocalProblem(objective), objective.fields(weights)
    coupling, g = Coupling(objective.sample), -local.slopes(z)
    V, centres = coupling.first(1.0), lambda V: z - coupling.felt(V, g)
    for _ in range(STEPS):
        V_hat = -local.prox(centres(V), V, z, "nearest").slope_response / objective.dimension
        new = coupling.response(np.linalg.inv(coupling.precision(objective.ridge, V_hat)))
        moved, V = np.abs(new - V).max(), KEPT * V + (1 - KEPT) * new
        if moved < SETTLED * np.abs(new).max():
            break
    return Cavity(V, centres(V), z, local.prox(centres(V), V, z, "lowest").fields)
