"""Weights as sums of orthonormal modes, and the field that every mode makes on every path.

In group k of directions (share ν, variances γ_l of the tokens) the weights are Q = Σ_j A_j n_j. A
mode n_j is a signal (encodings, teacher), noise of the start, or a direction that the samples' own
forces have made. Its field on token l of a path is

    Φ_jl = √γ_l (√ν ξ_jl + ν c_jl),

ξ_jl a fresh normal, c_jl the share that this path had in making the mode (zero for signals and
start): the memory. So h_l = m_l + Σ_j A_j Φ_jl, and the force of all samples along n_j is

    (α/ν) Σ_l E[Φ_jl g_l] + α Σ_l P_jl E[g_l],    P_jl: the load of τ_l on mode j.
"""

from __future__ import annotations

import numpy as np

from ...overlaps.overlaps import WeightOverlaps
from ...scenario.distribution import Distribution
from .noise import Noise
from .signals import Signals


class Modes:
    """The modes of R replicates with N paths each; J of them, of which the signals come first.

    - `fields`: Φ, (R, J, L N); `amplitudes`: A, (R, r_s, J); `velocities`: of A, for momentum;
    - `group`: k of every mode, (J,); `pushes`: c of the modes made by forces, by group,
      (R, J_k, L N), with α Σ_l E[c_il c_jl] = δ_ij.
    """

    def __init__(
        self, distribution: Distribution, signals: Signals, noise: Noise, rank: int
    ) -> None:
        replicates, length, paths = noise.shape
        self.distribution, self.signals, self.noise = distribution, signals, noise
        self.fields = np.zeros((replicates, 0, length * paths))
        self.amplitudes = np.zeros((replicates, rank, 0))
        self.velocities = np.zeros((replicates, rank, 0))
        self.group = np.zeros(0, int)
        self.pushes = [self.fields for _ in distribution.weight]

    @property
    def deviations(self) -> np.ndarray:
        """√γ_l on every path, by group, (K, L N)."""
        return np.repeat(np.sqrt(self.distribution.gamma), self.noise.shape[-1], axis=1)

    def add(self, k: int, amplitude: np.ndarray, push: np.ndarray | None = None) -> np.ndarray:
        """A new mode in group k with A = `amplitude`, (R, r_s), made by the forces `push`, c, (R, L
        N), or by none; returns its fresh ξ, (R, L N)."""
        share = self.distribution.weight[k]
        if push is not None:
            self.noise.remember(push.reshape(self.noise.shape))
            self.pushes[k] = np.concatenate([self.pushes[k], push[:, None]], axis=1)
        xi = self.noise.fresh(self._role()).reshape(len(self.fields), -1)
        memory = 0.0 if push is None else share * push
        field = self.deviations[k] * (np.sqrt(share) * xi + memory)
        self.fields = np.concatenate([self.fields, field[:, None]], axis=1)
        self.amplitudes = np.concatenate([self.amplitudes, amplitude[..., None]], axis=2)
        self.velocities = np.concatenate([self.velocities, 0 * amplitude[..., None]], axis=2)
        self.group = np.append(self.group, k)
        return xi

    def _role(self) -> str:
        """What the next mode is; signals come first."""
        index = len(self.group)
        if index >= len(self.signals.group):
            return "other"
        return "encoding" if self.signals.encodings[index].any() else "teacher"

    @property
    def size(self) -> np.ndarray:
        """‖Q‖²/d = Σ_k ν_k Σ_j |A_j|², (R,)."""
        return (self.distribution.weight[self.group] * self.amplitudes**2).sum((1, 2))

    def forces(self, g: np.ndarray, alpha: float) -> np.ndarray:
        """The force of all samples along every mode, (R, r_s, J), where they push with g, (R, r_s,
        L N)."""
        paths = self.noise.shape[-1]
        share = self.distribution.weight[self.group]
        force = alpha / (share * paths) * (g @ self.fields.swapaxes(1, 2))
        mean = g.reshape(*g.shape[:2], -1, paths).mean(-1)
        force[..., : len(self.signals.group)] += alpha * mean @ self.signals.encodings.T
        return force

    def overlaps(self) -> WeightOverlaps:
        """q_l, m_l, θ_l of every replicate."""
        distribution, signals, A = self.distribution, self.signals, self.amplitudes
        along = A[:, :, : len(signals.group)]
        share = distribution.weight[signals.group]
        weight = (distribution.weight[:, None] * distribution.gamma)[self.group]
        q = np.einsum("jl,raj,rbj->rlab", weight, A, A, optimize=True)
        m = np.einsum("j,raj,jl->rla", share, along, signals.encodings)
        theta = np.einsum("jl,raj,jt->rlat", weight[: len(share)], along, signals.teacher)
        return WeightOverlaps(q, m, theta)
