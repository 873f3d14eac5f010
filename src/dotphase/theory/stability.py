"""Is a solution stable? Two questions: the replicon's, and the branch's own.

*Replicon.* Replica symmetry is locally stable iff the spectral radius of this linear map on Δ = {Δ_l} is
below one:

    Δ_l ↦ ⟨γ_l R (Σ_κ γ_κ α E[(J diag(Δ) Jᵀ)_κκ]) R⟩,   J = ∂g/∂w = −(1 + ∇²ℓ V)⁻¹ ∇²ℓ at z*,

R = (λ + Σ_κ γ_κ V̂_κ)⁻¹. This is the regular part: where the prox jumps, ∂g/∂w has a singular part that the
formula does not see. How many samples could jump, those with several minima, is reported beside it.

*Branch.* The eigenvalues of ∂map/∂x in all directions, those that break the solution's symmetries included.
Each is named after the overlap its direction has most of: at the positional point, where θ = 0, the one named
θ tells whether an infinitesimal semantic signal grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..compilation import compiled
from ..gaussian import Estimate, Rule
from ..precision import in_double
from ..prox.linear import eliminate
from ..prox.loss import loss_derivatives
from ..scenario.scenario import Structure
from ..scenario.symmetry import Symmetry
from .linearised import Linearised, linearise
from .solution import Solution
from .state_evolution import Block, _moments, compiled_settle, conjugates, fields

PARTS = ("q", "V", "m", "theta")


@dataclass(frozen=True)
class Stability:
    """How stable a solution is.

    - `replicon`: the spectral radius, regular part; `several_minima`: the share of samples whose prox may
      jump.
    - `eigenvalues`: of ∂map/∂x, the largest in modulus along each of q, V, m, θ (absent where none is named
      after it).
    """

    replicon: Estimate
    several_minima: float
    eigenvalues: dict[str, complex]

    def __str__(self) -> str:
        letters = {"theta": "θ"}
        along = ", ".join(f"{letters.get(part, part)} {value:.3g}" for part, value in self._real().items())
        several = f"{self.several_minima:.2%} of samples with several minima"
        return f"replicon {self.replicon} (regular part; {several}); eigenvalues of the map along {along}"

    def _real(self) -> dict[str, complex | float]:
        return {part: v.real if abs(v.imag) < 1e-9 else v for part, v in self.eigenvalues.items()}

    @property
    def replica_symmetric(self) -> bool:
        """Whether the replicon's regular part is below one by more than two errors."""
        return bool(self.replicon.value + 2 * self.replicon.error < 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for `dotphase solve --stability --json`; an eigenvalue is [real, imaginary]."""
        return {
            "replicon": {"value": float(self.replicon.value), "error": float(self.replicon.error)},
            "several_minima": self.several_minima,
            "eigenvalues": {part: [value.real, value.imag] for part, value in self.eigenvalues.items()},
        }

    def grows(self, part: str) -> bool:
        """Whether a small deviation along q, V, m or θ grows when the map is iterated: |eigenvalue| > 1.

        An eigenvalue below −1 makes the plain iteration oscillate but not a damped one; above +1 no damping
        helps.
        """
        return abs(self.eigenvalues.get(part, 0.0)) > 1

    def leaves(self, part: str) -> bool:
        """Whether it grows however much the iteration is damped: Re eigenvalue > 1."""
        return complex(self.eigenvalues.get(part, 0.0)).real > 1


def stability(solution: Solution, rule: Rule | None = None) -> Stability:
    """The replicon and the eigenvalues of a solution.

    **Example**

        at = stability(dotphase.solve(dotphase.paper(alpha=1.25), "positional"))
        print(at.replicon, at.eigenvalues["theta"])
    """
    return Stability(*replicon(linearise(solution, rule)), eigenvalues(solution, rule))


def eigenvalues(solution: Solution, rule: Rule | None = None) -> dict[str, complex]:
    """The eigenvalue of ∂map/∂x of largest modulus along each kind of direction."""
    slope = linearise(solution, rule, every_direction=True).point.slope
    values, vectors = np.linalg.eig(slope + np.eye(len(slope)))
    length, r_s, r_t = solution.scenario.structure.shape
    triangle = r_s * (r_s + 1) // 2
    owner = np.repeat(range(4), length * np.array([triangle, triangle, r_s, r_s * r_t]))
    # log q, log V and θ are pure numbers; m is measured in units of √q.
    unit = np.where(owner == 2, np.sqrt(np.abs(solution.overlaps.q).max()), 1.0)
    size = np.abs(vectors / unit[:, None]) ** 2
    weight = np.array([size[owner == part].sum(0) for part in range(4)])
    named: dict[str, complex] = {}
    for value, part in sorted(zip(values, weight.argmax(0), strict=True), key=lambda pair: abs(pair[0])):
        named[PARTS[part]] = complex(value)
    return named


@in_double
def replicon(at: Linearised) -> tuple[Estimate, float]:
    """The replicon's spectral radius with its error, and the share of samples that have several minima.

    Each replicate is taken at its own fixed point, so that its nodes' error in V̂ counts as well as that in
    E[J Δ Jᵀ].
    """
    rule, x = at.evaluator.rule, at.point.x
    pooled = _radius(at, x, rule.pool)
    if not np.isfinite(pooled):
        raise ArithmeticError("the replicon is not finite at this fixed point")
    places = x + at.shifts @ at.evaluator.basis
    own = np.array([_radius(at, place, alone) for place, alone in zip(places, np.eye(len(places)), strict=True)])
    return Estimate(pooled, float(rule.error(own - pooled))), at.evaluator.several


def _radius(at: Linearised, x: np.ndarray, pool: np.ndarray) -> float:
    """The spectral radius at coordinates x, expectations over the replicates as weighted by `pool`."""
    evaluator, structure = at.evaluator, at.evaluator.structure
    settle, expect = compiled_settle(structure), compiled_expectations(structure)
    squares = moments = np.zeros(())
    assert evaluator.minima is not None
    for block, (z, rival_of) in zip(evaluator.ensemble.blocks, evaluator.minima, strict=True):
        rest = settle(evaluator.values, x, block, z, rival_of)
        out = expect(evaluator.values, x, block, pool, rest.z, rest.inverse, rival_of, evaluator.blur)
        squares, moments = squares + np.asarray(out[0]), moments + np.asarray(out[1])
    actions = [_action(g, structure.shape) for g in at.kept]
    squares = sum(action @ squares @ action.T for action in actions) / len(actions)
    respond = compiled_response(structure)
    return float(respond(evaluator.values, x, evaluator.ensemble.average @ moments, squares))


def _action(g: Symmetry, shape: tuple[int, int, int]) -> np.ndarray:
    """How a symmetry acts on Δ, as a signed permutation of its L r_s² entries."""
    length, r_s, _ = shape
    s = np.array(g.student)
    source = np.arange(length * r_s * r_s).reshape(length, r_s, r_s)[list(g.order)].ravel()
    action = np.zeros((len(source), len(source)))
    action[np.arange(len(source)), source] = np.tile(np.outer(s, s).ravel(), length)
    return action


@lru_cache(maxsize=64)
def compiled_expectations(structure: Structure):
    """`(values, x, block, pool, z, inverse, rival_of, blur) -> (E[J_ka,lb J_kc,ld], moments)` of one block.

    The first is a matrix from (l, b, d) to (k, a, c), entries of Δ; the second has V̂ in it.
    """
    length, r_s, _ = structure.shape
    size = length * r_s

    def run(values, x, block: Block, pool, z, inverse, rival_of, blur):
        f, _, problem = fields(structure, values, x, block)
        count = block.xi.shape[-1]
        _, _, H = loss_derivatives(structure.student, problem, z[..., :count])
        precision = jnp.zeros((length, r_s, length, r_s))
        for l in range(length):
            precision = precision.at[l, :, l].set(f.precision[l])
        precision = precision.reshape(size, size)
        moved, _ = eliminate(precision[..., None] + H, H)
        J = -jnp.einsum("ij,jkn->ikn", precision, moved).reshape(length, r_s, length, r_s, count)
        weights = (pool[:, None] * block.weights).reshape(-1)
        squares = jnp.einsum("kalbn,kcldn,n->kaclbd", J, J, weights).reshape(length * r_s**2, -1)
        return squares, pool @ _moments(structure, values, x, block, z, inverse, rival_of, blur)

    return compiled(run)


@lru_cache(maxsize=64)
def compiled_response(structure: Structure):
    """`(values, x, moments, squares) -> ` the spectral radius of Δ_l ↦ ⟨γ_l R (Σ_κ γ_κ α E[J Δ Jᵀ]_κκ) R⟩."""
    length, r_s, _ = structure.shape

    def run(values, x, moments, squares):
        law = values["law"]
        V_hat = conjugates(structure, values, x, moments).V
        R = jnp.linalg.inv(values["ridge"] * jnp.eye(r_s) + jnp.einsum("kl,lab->kab", law["gamma"], V_hat))
        back = jnp.einsum("n,nl,nk,nea,nfc->lefkac", law["weight"], law["gamma"], law["gamma"], R, R)
        whole = values["sample_ratio"] * back.reshape(length * r_s**2, -1) @ squares
        return jnp.abs(jnp.linalg.eigvals(whole)).max()

    return compiled(run)
