"""Forces that have no mode yet.

The force of step t in group k is Σ_l √γ_l g_l on every path. Its part along the pushes c of the
modes moves these. The rest is summed over steps, as the weights sum it, until it has moved the
weights by more than a fraction `cut` of ‖Q‖²; then its sum S becomes a mode,

    ν = α Σ_l E[S_l²],    c = S/√ν,    A = √ν.

So no force is lost, but small ones arrive late. (Dropping the small ones of each step instead takes
a third more modes at the same `cut`, and a lasting force below it never counts.)
"""

from __future__ import annotations

import numpy as np

from .modes import Modes


class Pending:
    """S of every group and column of the weights, (K, R, r_s, L N), and its velocity."""

    def __init__(self, modes: Modes, alpha: float, cut: float) -> None:
        replicates, rank, _ = modes.amplitudes.shape
        shape = (len(modes.distribution.weight), replicates, rank, modes.fields.shape[-1])
        self.sums, self.velocities = np.zeros(shape), np.zeros(shape)
        self.modes, self.cut = modes, cut
        self.scale = alpha / modes.noise.shape[-1]  # α E[·] is this times a sum over paths
        self.age, self.wait = 0, 1
        self.overflow = False

    def push(self, g: np.ndarray, step: float, ridge: float, momentum: float) -> None:
        """One step of the sums under the forces g, (R, r_s, L N), as one of the weights."""
        for k, deviations in enumerate(self.modes.deviations):
            moved = step * (deviations * g - ridge * self.sums[k])
            if momentum:
                moved += momentum * self.velocities[k]
                self.velocities[k] = moved
            self.sums[k] += moved
        self.age += 1
        self.wait -= 1
        if self.wait <= 0:
            self._make_modes()

    def _make_modes(self) -> None:
        largest = max(self._make_in(k, a) for k, a in np.ndindex(*self._columns))
        if largest >= 1:
            self.age = 0
        # The sum grows about in proportion to its age: look again when it may be half way there.
        ahead = 0.5 * self.age * (largest**-0.5 - 1) if 0 < largest < 1 else 1.0
        self.wait = int(np.clip(ahead, 1, 16))

    @property
    def _columns(self) -> tuple[int, int]:
        return len(self.sums), self.sums.shape[2]

    def _make_in(self, k: int, column: int) -> float:
        """A mode of one column's sum, if that is large enough; returns its size in units of the
        cut."""
        rest = self._across(k, self.sums[k][:, column : column + 1])
        size = self.scale * (rest**2).sum((1, 2))
        share = self.modes.distribution.weight[k]
        ratio = share * size.mean() / max(self.cut * self.modes.size.mean(), 1e-300)
        if ratio < 1:
            return float(ratio)
        if self.modes.noise.full:
            self.overflow = True
            return 0.0
        rest = self._across(k, rest)  # twice, or the c do not stay orthogonal
        norm = np.sqrt(self.scale * (rest**2).sum(2, keepdims=True))
        push = rest / np.where(norm > 0, norm, 1.0)
        amplitude = self._taken(self.sums[k], push)
        velocity = self._taken(self.velocities[k], push)
        self.modes.add(k, amplitude, push[:, 0])
        self.modes.velocities[:, :, -1] = velocity
        return float(ratio)

    def _across(self, k: int, rows: np.ndarray) -> np.ndarray:
        """What of `rows`, (R, a, L N), is not along the pushes of group k."""
        pushes = self.modes.pushes[k]
        return rows - (self.scale * rows @ pushes.swapaxes(1, 2)) @ pushes

    def _taken(self, sums: np.ndarray, push: np.ndarray) -> np.ndarray:
        """Take the part along a new push out of the sums, in place; returns its amplitude, (R,
        r_s)."""
        along = self.scale * sums @ push.swapaxes(1, 2)
        sums -= along @ push
        return along[..., 0]
