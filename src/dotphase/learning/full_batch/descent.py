"""Gradient descent on N paths that stand for all samples, one step after the other.

    h_l = m_l + Σ_j A_j Φ_jl,   g_l = −∂ℓ/∂h_l,
    A_j(t+1) = A_j(t) + η_t (force along mode j − λ A_j(t)) + β (A_j(t) − A_j(t−1)),

forces and fields as in `modes.py`; what of the forces is along no mode waits in `pending.py`. Only
ℓ and its gradient are compiled: numpy and XLA take the same time for the products with the fields.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...numerics.progress import Report
from ...numerics.rules import Sobol
from ...overlaps.overlaps import WeightOverlaps
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from ..online.decomposition import Decomposition, conserved
from .loss import SampleLoss
from .modes import Modes
from .noise import Noise
from .pending import Pending
from .schedule import Schedule
from .signals import Signals, signals_of


class History(NamedTuple):
    """What was found at every step, by replicate: `overlaps`, each (T + 1, R, …); `loss`: α E[ℓ],
    and `ridge`: (λ/2)⟨Q²⟩, (T + 1, R). `modes`: how many there were at the end; `overflow`: paths
    were too few for more; `blown_up`: the loss left all bounds, so the history ends early.
    `correlation`: Tr C(t, s) at the steps that were asked for, (K, K, R)."""

    overlaps: WeightOverlaps
    loss: np.ndarray
    ridge: np.ndarray
    modes: int
    overflow: bool
    blown_up: bool
    correlation: np.ndarray


class Descent:
    """The state of all replicates: modes, what is pending, and the target of every path."""

    def __init__(
        self,
        scenario: Scenario,
        first: Decomposition,
        distribution: Distribution,
        loss: SampleLoss,
        rule: Sobol,
    ) -> None:
        self.alpha, self.ridge = scenario.sample_ratio, scenario.ridge
        self.loss, self.distribution = loss, distribution
        self.signals = signals_of(distribution)
        self.moving = _moving(scenario, first, self.signals, distribution)
        leading, images = _leading(self.signals, scenario), _nearly_symmetric(first, distribution)
        noise = Noise(rule, scenario.length, leading, images)
        self.modes = Modes(distribution, self.signals, noise, scenario.student.rank)
        self.targets = loss.targets(self._fill(first))

    def _fill(self, first: Decomposition) -> np.ndarray:
        """Make the modes of the start; returns u of every path, (R, r_t, L, N)."""
        replicates = self.modes.noise.shape[0]
        everywhere = lambda vector: np.repeat(vector[None], replicates, axis=0)
        u = np.zeros((replicates, self.signals.teacher.shape[1], self.modes.fields.shape[-1]))
        for k, load, teacher in zip(*self.signals[:2], self.signals.teacher, strict=True):
            xi = self.modes.add(k, everywhere(first.shares[k] @ load))
            part = np.sqrt(self.distribution.weight[k]) * self.modes.deviations[k] * xi
            u += teacher[:, None] * part[:, None]
        for k, noise in enumerate(first.noise):
            for value, vector in zip(*_eigen(noise), strict=True):
                self.modes.add(k, everywhere(np.sqrt(value) * vector))
        return self._by_token(u)

    def _by_token(self, fields: np.ndarray) -> np.ndarray:
        """(R, r, L N) → (R, r, L, N)."""
        return fields.reshape(*fields.shape[:2], *self.modes.noise.shape[1:])

    def run(
        self, schedule: Schedule, cut: float, report: Report, kept: tuple[int, ...] = ()
    ) -> History:
        pending = Pending(self.modes, self.alpha, cut)
        found, losses, sizes, amplitudes = [], [], [], []
        highest = np.inf
        for step, size in enumerate([*schedule.sizes, None]):
            overlaps = self.modes.overlaps()
            h = self._by_token(self.modes.amplitudes @ self.modes.fields)
            loss, g = self.loss.on_paths(h + overlaps.m.swapaxes(1, 2)[..., None], self.targets)
            total = self.alpha * loss + 0.5 * self.ridge * self.modes.size
            if not (np.isfinite(total).all() and np.isfinite(g).all() and total.max() <= highest):
                break
            highest = 1e6 * total.max() if step == 0 else highest  # as in training
            found.append(overlaps)
            if step in kept:
                amplitudes.append(self.modes.amplitudes)
            losses.append(self.alpha * loss)
            sizes.append(0.5 * self.ridge * self.modes.size)
            report(step)
            if size is not None:
                self._step(g, size, schedule.momentum, pending)
        if not found:
            raise ValueError("start: the loss is not finite at the first weights")
        overlaps = WeightOverlaps.stacked(found)
        ending = len(self.modes.group), pending.overflow, len(found) <= len(schedule.sizes)
        correlation = self._correlation(amplitudes)
        return History(overlaps, np.array(losses), np.array(sizes), *ending, correlation)

    def _correlation(self, amplitudes: list[np.ndarray]) -> np.ndarray:
        """Tr C_l(t, s) = Σ_j ν γ_l A_j(t)·A_j(s), averaged over tokens l, (K, K, R)."""
        weight = (self.distribution.weight[:, None] * self.distribution.gamma)[
            self.modes.group
        ].mean(1)
        rooted = [part * np.sqrt(weight[: part.shape[-1]]) for part in amplitudes]
        product = lambda a, b: (a[..., : b.shape[-1]] * b[..., : a.shape[-1]]).sum((1, 2))
        return np.array([[product(a, b) for b in rooted] for a in rooted])

    def _step(self, g: np.ndarray, size: float, momentum: float, pending: Pending) -> None:
        modes = self.modes
        flat = g.reshape(*g.shape[:2], -1)
        force = modes.forces(flat, self.alpha)
        force[..., : len(self.signals.group)] *= self.moving
        moved = size * (force - self.ridge * modes.amplitudes) + momentum * modes.velocities
        modes.velocities = moved
        modes.amplitudes = modes.amplitudes + moved
        pending.push(flat, size, self.ridge, momentum)


def _moving(
    scenario: Scenario, first: Decomposition, signals: Signals, distribution: Distribution
) -> np.ndarray:
    """One for amplitudes of signals that may move, zero for those that a symmetry keeps at zero,
    (r_s, A)."""
    if distribution is not scenario.distribution:
        return np.ones((scenario.student.rank, len(signals.group)))
    kept = conserved(scenario, first).shares
    return np.stack([kept[:, load != 0].max(1) for load in signals.loads], axis=1)


def _nearly_symmetric(first: Decomposition, distribution: Distribution) -> bool:
    """Whether the start has some signal, but less than noise."""
    along = first.shares @ distribution.moment @ np.swapaxes(first.shares, 1, 2)
    signal, noise = (
        float(distribution.weight @ np.trace(part, axis1=1, axis2=2))
        for part in (along, first.noise)
    )
    return 0 < signal < 0.25 * noise


def _leading(signals: Signals, scenario: Scenario) -> int:
    """Modes with Sobol' points: those of the start and four more, or as many as 16 dimensions
    hold."""
    first = len(signals.group) + len(scenario.distribution.weight) * scenario.student.rank
    return max(first + 4, 16 // scenario.length)


def _eigen(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues above zero, and their vectors as rows."""
    values, vectors = np.linalg.eigh(covariance)
    present = values > 1e-14 * max(np.abs(values).max(), 1e-300)
    return values[present], vectors.T[present]
