"""What weights are made of: along every group of directions, a share of the encodings, a share of the
teacher, and noise.

Within group k of directions, with X = (τ_1 … τ_L, π) ∈ R^{L+r_t} the encodings and the teacher along
a direction,

    Q = F_k X + noise of covariance Δ_k,

so that with M_k = ⟨X Xᵀ⟩ and shares ν_k the overlaps are

    q_l = Σ_k ν_k γ_kl (F_k M_k F_kᵀ + Δ_k),   θ_l = Σ_k ν_k γ_kl F_k M_k[:, π],   m_l = Σ_k ν_k F_k M_k[:, τ_l].

Any weights can be written so: F is their regression on X, and only second moments matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...finite.data.instance import Instance
from ...finite.training.starts import NAMES, RANDOM_SCALE
from ...numerics.matrix_root import symmetric_root
from ...overlaps.overlaps import WeightOverlaps
from ...scenario.arguments import checked
from ...scenario.attentions.symmetry import symmetries
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from ...scenario.validation import shown, thaw


class Decomposition(NamedTuple):
    """`shares`: F, (K, r_s, L + r_t); `noise`: Δ, (K, r_s, r_s). Further axes (replicates, times)
    come first."""

    shares: Any
    noise: Any


def signals_at(instance: Instance) -> np.ndarray:
    """X along every direction of an instance, (d, L + r_t)."""
    encodings = np.sqrt(instance.dimension) * instance.positions.T
    return np.hstack([encodings, instance.teacher_weights])


def overlaps_of(decomposition: Decomposition, distribution: Distribution) -> WeightOverlaps:
    """q, m, θ of weights made so."""
    length = distribution.gamma.shape[1]
    along = decomposition.shares @ distribution.moment  # ⟨Q Xᵀ⟩
    square = along @ decomposition.shares.swapaxes(-1, -2) + decomposition.noise
    q = _sum_groups(distribution.weight[:, None] * distribution.gamma, square)
    theta = _sum_groups(distribution.weight[:, None] * distribution.gamma, along[..., length:])
    m = (distribution.weight[:, None, None] * along[..., :length]).sum(-3).swapaxes(-1, -2)
    return WeightOverlaps(q, m, theta)


def _sum_groups(weight, matrices):
    """Σ_k weight_kl A_k, (…, L, a, b)."""
    return (weight[:, :, None, None] * matrices[..., :, None, :, :]).sum(-4)


@checked
@dataclass(frozen=True)
class Start:
    """Q = a Q* + b √d p_1 + N(0, c²), over the columns that `Attention.spread` fills.

    **Arguments**: `semantic` a, `positional` b, `noise` c; `apart`: of several columns, the encoding
    in the last and the teacher in the others.
    """

    semantic: float = 0.0
    positional: float = 0.0
    noise: float = 0.0
    apart: bool = False

    def __post_init__(self) -> None:
        if self.semantic == self.positional == self.noise == 0:
            raise ValueError(
                "start: Q = 0 does not move; make semantic, positional or noise nonzero"
            )

    def decomposition(self, scenario: Scenario) -> Decomposition:
        r_s, groups = scenario.student.rank, len(scenario.distribution.weight)
        shares = np.concatenate([self._encodings(scenario), self._teacher(scenario)], axis=1)
        noise = self.noise**2 * np.eye(r_s)
        return Decomposition(
            np.repeat(shares[None], groups, axis=0), np.repeat(noise[None], groups, axis=0)
        )

    def weights(self, instance: Instance) -> np.ndarray:
        """Such weights at finite d, (d, r_s)."""
        scenario, d = instance.scenario, instance.dimension
        shares = np.concatenate([self._encodings(scenario), self._teacher(scenario)], axis=1)
        noise = instance.random("start").standard_normal((d, scenario.student.rank))
        return signals_at(instance) @ shares.T + self.noise * noise

    def _encodings(self, scenario: Scenario) -> np.ndarray:
        shares = np.zeros((scenario.student.rank, scenario.length))
        row = -1 if self.apart else 0
        shares[:, 0] = self.positional * thaw(scenario.student.spread)[row]  # type: ignore[arg-type]
        return shares

    def _teacher(self, scenario: Scenario) -> np.ndarray:
        spread = thaw(scenario.student.spread)  # type: ignore[arg-type]
        shares = np.zeros((scenario.student.rank, scenario.teacher.rank))
        free = len(spread) - (self.apart and len(spread) > 1)
        kept = min(free, scenario.teacher.rank)
        shares[:, :kept] = self.semantic * spread[:kept].T
        return shares


def as_start(start: str | Start) -> Start:
    """The start of a name: Q = Q*, Q = √d p_1, both of them, or Q_i ~ 0.1 N(0, 1)."""
    if isinstance(start, Start):
        return start
    named = {
        "semantic": Start(semantic=1),
        "positional": Start(positional=1),
        "mixed": Start(semantic=1, positional=1, apart=True),
        "random": Start(noise=RANDOM_SCALE),
    }
    if not isinstance(start, str) or start not in named:
        raise ValueError(f"start: expected {', '.join(NAMES)} or a Start, got {shown(start)}")
    return named[start]


def at_dimension(
    decomposition: Decomposition, distribution: Distribution, d: int, seed: int
) -> Decomposition:
    """Noise of d entries has overlaps of order 1/√d with everything: F + (Δ/νd)^{1/2} G M^{-1/2}, G
    normal.

    With them a random start can leave the uninformed point, which it cannot at d = ∞.
    """
    rng = np.random.default_rng(seed)
    drawn = (
        rng.standard_normal(decomposition.shares.shape)
        / np.sqrt(distribution.weight * d)[:, None, None]
    )
    values, vectors = np.linalg.eigh(distribution.moment)
    present = values > 1e-12 * values.max(-1, keepdims=True)
    inverse_root = (
        np.where(present, 1 / np.sqrt(np.where(present, values, 1.0)), 0.0)[:, None, :] * vectors
    )
    moved = symmetric_root(decomposition.noise) @ drawn @ inverse_root.swapaxes(-1, -2)
    return Decomposition(decomposition.shares + moved, decomposition.noise)


def measured(instance: Instance, weights: np.ndarray) -> tuple[Decomposition, Distribution]:
    """What given weights, (d, r_s), are made of, and the distribution of directions of this very instance."""
    gamma, kind = np.unique(instance.gamma.T, axis=0, return_inverse=True)
    joint = signals_at(instance)
    weight, moment, shares, noise = [], [], [], []
    for k in range(len(gamma)):
        X, Q = joint[kind.ravel() == k], weights[kind.ravel() == k]
        F = np.linalg.lstsq(X, Q, rcond=1e-10)[0].T
        rest = Q - X @ F.T
        weight.append(len(X) / instance.dimension)
        moment.append(X.T @ X / len(X))
        shares.append(F)
        noise.append(rest.T @ rest / len(X))
    return Decomposition(np.array(shares), np.array(noise)), Distribution(
        np.array(weight), gamma, np.array(moment)
    )


def conserved(scenario: Scenario, decomposition: Decomposition) -> Decomposition:
    """Ones for entries that may move, zeros for those that a symmetry of the scenario and of
    `decomposition` keeps at zero.

    A change of signs s of the student's and t of the teacher's columns turns F_τ into s F_τ, F_π
    into s F_π t, Δ into s Δ s. What is zero by it must not grow from rounding where it is unstable.
    """
    identity = tuple(range(scenario.length))
    shares, noise = (np.ones(np.shape(part)[-2:]) for part in decomposition)
    for g in symmetries(scenario):
        s = np.array(g.student)
        turned = np.outer(s, np.concatenate([np.ones(scenario.length), g.teacher])), np.outer(s, s)
        unchanged = all(
            ((part * sign) == part).all() for part, sign in zip(decomposition, turned, strict=True)
        )
        if g.order == identity and unchanged:
            shares, noise = np.minimum(shares, turned[0] > 0), np.minimum(noise, turned[1] > 0)
    return Decomposition(shares, noise)
