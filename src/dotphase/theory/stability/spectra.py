"""The whole linear map around a fixed point: pooled, and of every replicate at its own fixed point.

On a branch that keeps the symmetries H only one node per coset of H is evaluated. With s the
derivative of those nodes' moments, (F, coordinates), the derivative over the whole orbit,
symmetry-breaking directions included, is

    S = mean over h in H of A_h s B_hᵀ,

A_h and B_h the actions of h on moments and on coordinates. So a branch's stability against
everything needs no more nodes than the branch itself.

The replicon's map sends Δ = {Δ_l} to B E[J Δ Jᵀ] with B the response to a variance of g, (B X)_l =
⟨γ_l R (Σ_κ γ_κ α X_κκ) R⟩; what jumps of the prox add to the variance is in `breaking.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ...inner.loss import loss_derivatives
from ...numerics.elimination import eliminate
from ...numerics.kept_programs import kept
from ...numerics.precision import in_double
from ...numerics.small_matrices import inverse
from ...numerics.threads import in_parallel
from ...overlaps.gauge import tangents
from ...overlaps.symmetric import coordinate_action, moment_average, response_action
from ...scenario.scenario import Structure
from ..state_evolution.averages import Block, BlockMinima
from ..state_evolution.evaluator import Evaluator
from ..state_evolution.half_steps import along_groups, compiled_evaluate, conjugates, fields
from .breaking import Jumps, compiled_jumps, joined
from .linearised import Linearised


class Spectra(NamedTuple):
    """Linear maps around a fixed point.

    - `jacobian`: ∂map/∂x in every direction but the gauge's, (n, n);  `jacobians`: of each
      replicate at its own fixed point, (R, n, n).
    - `responses`: B, pooled and then of each replicate at its own fixed point, (1 + R, L r_s², L
      r_s²); likewise `squares`, the map Δ ↦ E[J Δ Jᵀ], and `jumps`, where the prox jumps.
    """

    jacobian: np.ndarray
    jacobians: np.ndarray
    responses: np.ndarray
    squares: np.ndarray
    jumps: list[Jumps]

    @property
    def replicon(self) -> float:
        """The spectral radius of the replicon's map."""
        return _radius(self.responses[0] @ self.squares[0])

    @property
    def replicons(self) -> np.ndarray:
        """The same of each replicate, (R,)."""
        return np.array([_radius(map_) for map_ in self.responses[1:] @ self.squares[1:]])


@in_double
def spectra(at: Linearised, directions: bool = True) -> Spectra:
    """The linear maps around a linearised fixed point; without `directions` the replicon alone, at
    half the cost."""
    x, pool = at.point.x, at.evaluator.rule.pool
    places = [x, *(x + at.deviations.coordinates @ at.evaluator.basis)]
    pools = [pool, *np.eye(len(pool))]
    blocks, minima = at.evaluator.ensemble.blocks, at.point.minima.blocks
    jobs = [
        (*where, *what)
        for where in zip(places, pools, strict=True)
        for what in zip(blocks, minima, strict=True)
    ]
    work = lambda job: _block(at, directions, *job)
    found = [work(jobs[0]), *in_parallel(work, jobs[1:])]  # the first alone, since it may compile
    each = [found[k : k + len(blocks)] for k in range(0, len(found), len(blocks))]
    maps = [_maps(at, place, *parts) for place, parts in zip(places, each, strict=True)]
    jacobians, responses, squares, jumps = zip(*maps, strict=True)
    return Spectra(
        jacobians[0], np.array(jacobians[1:]), np.array(responses), np.array(squares), list(jumps)
    )


def _radius(matrix: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max()) if np.isfinite(matrix).all() else np.nan


class _Part(NamedTuple):
    """What one block adds: `moments`, (F,), `slopes`, (n, F), `squares`, E[J J], and its `jumps`."""

    moments: np.ndarray
    slopes: np.ndarray
    squares: np.ndarray
    jumps: Jumps


def _block(at: Linearised, directions: bool, x, pool, block: Block, minima: BlockMinima) -> _Part:
    """What one block adds at coordinates x, replicates weighed as `pool` says."""
    evaluator, structure = at.evaluator, at.evaluator.structure
    evaluate, square = compiled_evaluate(structure), compiled_squares(structure)
    values, block = evaluator.values, block._replace(pool=pool)
    slopes, moments = [], np.zeros(())
    for part in _portions(evaluator, directions):
        out = evaluate(values, x, part, block, minima, at.point.minima.blur)
        minima, moments = out.minima, pool @ np.asarray(out.moments)
        slopes.append(np.asarray(out.slopes))
    jumps = Jumps(*map(np.asarray, compiled_jumps(structure)(values, x, block, minima)))
    return _Part(moments, np.vstack(slopes), np.asarray(square(values, x, block, minima.z)), jumps)


def _portions(evaluator: Evaluator, directions: bool) -> list[np.ndarray]:
    """All directions, as many at a time as the evaluator takes, so that nothing is compiled anew."""
    size, n = evaluator.directions.shape
    every = np.eye(n) if directions else np.zeros((1, n))
    padded = np.vstack([every, np.zeros((-len(every) % size, n))])
    return [padded[k : k + size] for k in range(0, len(padded), size)]


def _maps(at: Linearised, x, *parts: _Part) -> tuple[np.ndarray, np.ndarray, np.ndarray, Jumps]:
    """∂map/∂x without its part along the gauge orbit, B and E[J J], all symmetrised; and the jumps."""
    evaluator, structure, n = at.evaluator, at.evaluator.structure, len(x)
    moments, slopes, squares = (np.sum(each, axis=0) for each in list(zip(*parts, strict=True))[:3])
    moments = evaluator.ensemble.average @ moments
    turned = [response_action(h, structure.shape) for h in at.kept]
    squares = np.mean([D @ squares @ D.T for D in turned], axis=0)
    response = np.asarray(compiled_response(structure)(evaluator.values, x, moments))
    jumps = joined([part.jumps for part in parts])
    if len(slopes) < n:
        return np.zeros((n, n)), response, squares, jumps
    actions = [
        (moment_average((h,), structure.shape), coordinate_action(h, structure.shape))
        for h in at.kept
    ]
    slopes = np.mean([B @ slopes[:n] @ A.T for A, B in actions], axis=0)
    portions = _portions(evaluator, True)
    slopes = np.vstack([slopes, np.zeros((sum(map(len, portions)) - n, slopes.shape[1]))])
    rows = np.tile(
        moments, (len(evaluator.rule.pool) + 1, 1)
    )  # as many as the evaluator has, and no new compilation
    size = len(portions[0])
    images = [
        evaluator.images(x, rows, slopes[k * size : (k + 1) * size], d)
        for k, d in enumerate(portions)
    ]
    along = [pushed.coordinates for _, _, pushed, _ in images]
    gauge = tangents(x, evaluator.rho, evaluator.turns, np.eye(n))
    off = np.eye(n) - gauge.T @ gauge
    return off @ np.vstack(along)[:n].T @ off, response, squares, jumps


@lru_cache(maxsize=64)
def compiled_squares(structure: Structure):
    """`(values, x, block, z) -> E[J_ka,lb J_kc,ld]`, J = −(1 + ∇²ℓ V)⁻¹ ∇²ℓ, of one block.

    A matrix from (l, b, d) to (k, a, c), entries of Δ.
    """
    groups, inside, _ = structure.shape
    size = groups * inside

    def run(values, x, block: Block, z):
        f, _, problem = fields(structure, values, x, block)
        count = block.xi.shape[-1]
        _, _, H = loss_derivatives(structure.student, problem, z[..., :count])
        if block.scale is not None:  # the force ĝ = s g, with fields that carry s
            s = jnp.repeat(block.scale, size // structure.length, axis=0)
            H = s[:, None] * H * s
        precision = jnp.zeros((groups, inside, groups, inside))
        for l in range(groups):
            precision = precision.at[l, :, l].set(f.precision[l])
        precision = precision.reshape(size, size)
        moved, _ = eliminate(precision[..., None] + H, H)
        J = -jnp.einsum("ij,jkn->ikn", precision, moved).reshape(
            groups, inside, groups, inside, count
        )
        return jnp.einsum("kalbn,kcldn,n->kaclbd", J, J, block.pooled).reshape(
            groups * inside**2, -1
        )

    return kept(run, structure)


@lru_cache(maxsize=64)
def compiled_response(structure: Structure):
    """`(values, x, moments) -> B`, the matrix of X ↦ {⟨γ_l R (Σ_κ γ_κ α X_κκ) R⟩}, or of the same
    with Γ_ll'."""
    length, r_s = structure.length, structure.student.rank

    def run(values, x, moments):
        distribution = values["distribution"]
        weight, gamma, Gamma = (distribution[name] for name in ("weight", "gamma", "Gamma"))
        gather, _ = along_groups(distribution)
        V_hat = conjugates(structure, values, x, moments).V
        R = inverse(values["ridge"] * jnp.eye(r_s) + gather(V_hat))
        if structure.joint:
            back = jnp.einsum("n,nlm,nkj,nea,nfc->lemfkajc", weight, Gamma, Gamma, R, R)
            return values["sample_ratio"] * back.reshape((length * r_s) ** 2, -1)
        back = jnp.einsum("n,nl,nk,nea,nfc->lefkac", weight, gamma, gamma, R, R)
        return values["sample_ratio"] * back.reshape(length * r_s**2, -1)

    return kept(run, structure)
