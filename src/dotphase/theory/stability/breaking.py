"""How broken is replica symmetry? Jumps of the prox, and the Δ they keep up.

Take two minima of the loss whose overlap falls short of q by Δ: their fields differ, w' = w +
Δ^{1/2}ξ, and where that carries a sample across a jump its g differs by a finite step, however
small Δ is. With ∂E/∂w = −g at a minimum, the energy gap between the lowest minimum and its rival
moves by δg·dw, δg = g' − g. Over the fields' own spread it has the standard deviation s(q), over
that of w' the standard deviation s(Δ), s(X)² = Σ_l δg_lᵀ X_l δg_l. So a sample is x = gap/s(q) away
from its jump, in standard deviations of the field, and jumps add to the variance of g

    Σ_jumps = p(0) E[δg δgᵀ s(Δ)/s(q) | x = 0] / √π,      p the density of the signed x.

The one-step equation for Δ at y → 0 is then Δ = B (E[J Δ Jᵀ] + Σ_jumps(Δ)), (B X)_l = ⟨γ_l R(Σ_κ
γ_κ α X_κκ)R⟩. The jumps' part grows as √Δ: wherever there are jumps Δ = 0 is unstable, and while
the regular part alone contracts there is one Δ > 0. Its size against q, Δ/q, tells how broken the
symmetry is. (For the equation itself, which holds for large Δ too, see `one_step.py`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...inner.loss import energy, prox_force, scaled
from ...inner.minimiser import APART
from ...numerics.kept_programs import kept
from ...numerics.rules import Rule
from ...results.estimate import Estimate
from ...scenario.scenario import Structure
from ..state_evolution.averages import Block, BlockMinima, with_rivals
from ..state_evolution.half_steps import fields

# of the kernel that estimates p(0), in units of x; as wide as Δ/q of a twentieth makes the fields
WIDTH = 0.25
SURE = 2.0  # errors by which a number must differ from one
COMPARABLE = 0.5  # Δ/q from which the symmetry is called broken, not weakly so


class Jumps(NamedTuple):
    """Samples whose lowest minimum has a rival.

    - `weight`: of the sample, (K,);  `gap`: how much higher the rival's energy is, (K,).
    - `step`: δg = g' − g, (L, r_s, K), or (1, D, K) for correlated tokens; times the
      scales, if any.
    """

    weight: Any
    gap: Any
    step: Any


@lru_cache(maxsize=64)
def compiled_jumps(structure: Structure):
    """`(values, x, block, minima) -> Jumps` of one block; the weight is zero where there is no
    rival."""

    def run(values, x, block: Block, minima: BlockMinima) -> Jumps:
        problem, rival_of = fields(structure, values, x, block).problem, minima.rival_of
        both, count = with_rivals(problem, rival_of), block.xi.shape[-1]
        height, g = (
            energy(structure.student, both, minima.z),
            scaled(prox_force(both, minima.z), both.scale),
        )
        g = g.reshape(*structure.shape[:2], -1)
        apart = jnp.abs(minima.z[..., count:] - minima.z[..., rival_of]).max((0, 1)) > APART
        weight = jnp.where(apart, block.pooled[rival_of], 0.0)
        return Jumps(weight, height[count:] - height[rival_of], g[..., count:] - g[..., rival_of])

    return kept(run, structure)


def joined(parts: Sequence[Jumps]) -> Jumps:
    """The jumps of several blocks, those of no weight left out."""
    every = Jumps(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))
    there = every.weight > 0
    return Jumps(*(part[..., there] for part in every))


def at_jumps(jumps: Jumps, q: np.ndarray, width: float) -> np.ndarray:
    """What each sample adds to p(0), (K,): its weight times a kernel of `width` in x, of fourth
    order.

    The gap found is the size of the signed one, and either minimum may be the lower: the kernel is
    two-sided.
    """
    t = jumps.gap / (width * deviation(jumps, q))
    return jumps.weight * 0.5 * (3 - t**2) * np.exp(-0.5 * t**2) / (np.sqrt(2 * np.pi) * width)


def deviation(jumps: Jumps, spread: np.ndarray) -> np.ndarray:
    """s(X) = √(Σ_l δg_lᵀ X_l δg_l) of each sample, (K,), for a `spread` X of the fields, (L, r_s,
    r_s)."""
    return np.sqrt(np.maximum(np.einsum("lak,lab,lbk->k", jumps.step, spread, jumps.step), 0))


@dataclass(frozen=True)
class Breaking:
    """How far replica symmetry holds at a solution.

    - `regular`: the regular part of the replicon; `several`: the share of samples with more than
      one minimum.
    - `density`: p(0), of samples at a jump, per standard deviation of the field; `squared_jump`:
      E[|δg|² | x = 0]. Both None where they are not known, `squared_jump` also where there are no
      jumps.
    - `ratio`: Δ/q of the token where it is largest, at y → 0, to leading order in Δ; None where it
      is not known.
    """

    regular: Estimate
    several: float
    density: Estimate | None
    squared_jump: Estimate | None
    ratio: Estimate | None

    @property
    def verdict(self) -> str:
        """`replica symmetric`, `weakly broken`, `broken` or `undecided`, and why."""
        above, unsure = self.regular.value - 1, SURE * self.regular.error
        if above > unsure:
            return f"broken: replicon {self.regular}"
        if not above < -unsure:
            return f"undecided: replicon {self.regular}, within two errors of one"
        if self.density is None:
            return "undecided: changes of basin are not counted"
        if self.squared_jump is None:
            return "replica symmetric"
        if self.ratio is None:
            return f"undecided: {self.several:.2%} of samples have several minima"
        if self.ratio.value >= COMPARABLE:
            return f"broken: Δ/q = {self.ratio}, above {COMPARABLE:g}"
        return f"weakly broken: Δ/q = {self.ratio}, below {COMPARABLE:g}"

    def to_dict(self) -> dict[str, Any]:
        estimates = ("regular", "density", "squared_jump", "ratio")
        numbers = {name: getattr(self, name) for name in estimates}
        shown = {name: None if at is None else at.to_dict() for name, at in numbers.items()}
        return {"verdict": self.verdict, **shown, "several_minima": self.several}


class Variance(NamedTuple):
    """The variance of g that a spread Δ of the fields causes, and what it comes back as, at one
    fixed point.

    - `response`: B, and `squares`: Δ ↦ E[J Δ Jᵀ], on flattened Δ;  `average`: over the symmetries
      kept, likewise.
    - `jumps`, the `weight` of each at x = 0, (K,), and s(q), `unit`, (K,).
    """

    response: np.ndarray
    squares: np.ndarray
    average: np.ndarray
    jumps: Jumps
    weight: np.ndarray
    unit: np.ndarray

    def next(self, spread: np.ndarray) -> np.ndarray:
        """B (E[J Δ Jᵀ] + Σ_jumps(Δ)), (L, r_s, r_s)."""
        step, share = self.jumps.step, self.weight * deviation(self.jumps, spread) / self.unit
        leap = np.einsum("k,lak,lbk->lab", share, step, step) / np.sqrt(np.pi)
        flat = self.squares @ spread.ravel() + self.average @ leap.ravel()
        return (self.response @ flat).reshape(spread.shape)

    @property
    def density_and_jump(self) -> tuple[float, float]:
        """p(0), and p(0) E[|δg|² | x = 0]."""
        return float(self.weight.sum()), float(self.weight @ (self.jumps.step**2).sum((0, 1)))


def settled_spread(variance: Variance, q: np.ndarray) -> np.ndarray | None:
    """The Δ > 0 that reproduces itself, (L, r_s, r_s); None if there is none."""
    most_iterations = 400
    runaway = 1e6  # of q, beyond which no Δ reproduces itself
    spread = 0.05 * q
    for _ in range(most_iterations):
        last, spread = spread, variance.next(spread)
        if np.abs(spread - last).max() < 1e-10 * np.abs(spread).max():
            return spread
        if np.abs(spread).max() > runaway * np.abs(q).max():
            return None
    return None


def breaking_of(
    rule: Rule, variances: Sequence[Variance], q: np.ndarray, regular: Estimate, several: float
) -> Breaking:
    """The report, from the pooled variance of g and that of each replicate.

    Replicate r maps Δ to G_r(Δ) instead of G(Δ); to first order its own Δ is off by dΔ_r = (1 −
    ∂G/∂Δ)⁻¹ (G_r − G).
    """
    pooled, *each = variances
    if not len(pooled.jumps.gap):
        return Breaking(regular, several, Estimate(0.0), None, Estimate(0.0))
    sums = np.array([one.density_and_jump for one in variances])
    density = Estimate(sums[0, 0], rule.error(sums[1:, 0] - sums[0, 0]))
    mean = sums[0, 1] / sums[0, 0]
    squared = Estimate(mean, rule.error((sums[1:, 1] - mean * sums[1:, 0]) / sums[0, 0]))
    spread = settled_spread(pooled, q) if density.value > 0 else None
    if spread is None:
        return Breaking(regular, several, density, squared, None)
    apart = np.array([one.next(spread) - spread for one in each]).reshape(len(each), -1)
    moved = np.linalg.solve(np.eye(spread.size) - _slope(pooled, spread), apart.T).T
    ratios = [_size(spread + dev.reshape(spread.shape), q) - _size(spread, q) for dev in moved]
    return Breaking(
        regular, several, density, squared, Estimate(_size(spread, q), rule.error(np.array(ratios)))
    )


def _slope(variance: Variance, spread: np.ndarray) -> np.ndarray:
    """∂G/∂Δ, on flattened Δ, by central differences; the spread is symmetric, so only Δ's symmetric
    part matters."""
    step = 1e-4 * np.abs(spread).max()
    columns = []
    for k in range(spread.size):
        move = np.zeros(spread.size)
        move[k] = step
        ahead, behind = (
            variance.next(spread + sign * move.reshape(spread.shape)) for sign in (1, -1)
        )
        columns.append((ahead - behind).ravel() / (2 * step))
    return np.array(columns).T


def _size(spread: np.ndarray, q: np.ndarray) -> float:
    """Tr Δ_l / Tr q_l, the largest of them."""
    trace = lambda matrix: np.trace(matrix, axis1=-2, axis2=-1)
    return float((trace(spread) / trace(q)).max())
