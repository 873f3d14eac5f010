"""The normals of every path: ξ of each mode and token, uncorrelated with everything before it.

N paths stand for all samples. Each mode adds a normal ξ_l for every token of a path, independent of
what was there before. Drawn at random, it would be correlated with that by chance, and over many
modes these errors add up. So the correlation is projected out, exactly, on these N paths, and the
variance is set to one.
"""

from __future__ import annotations

import numpy as np

from ...numerics.rules import Sobol

# signs of ξ on four paths, by what the mode is
IMAGES = {"teacher": (1, -1, 1, -1), "encoding": (1, 1, 1, 1), "other": (1, 1, -1, -1)}


class Noise:
    """The source of ξ for R replicates of N paths.

    **Arguments**

    - `rule`: scrambled Sobol' points; each replicate has its own scramble.
    - `length`: L, tokens of a path.
    - `leading`: how many modes have Sobol' points; the modes after them have random numbers.
    - `images`: paths come in fours that differ in the signs of ξ (`IMAGES`). E[g], E[g u] and E[g
      ξ] of the encodings are then free of noise where m = θ = 0, so that a small m or θ grows from
      what it is.
    """

    def __init__(self, rule: Sobol, length: int, leading: int, images: bool = False) -> None:
        points = rule.nodes(leading * length, 4 if images else 1).points
        self._images = IMAGES if images else dict.fromkeys(IMAGES, (1,))
        drawn = points.shape[-1]
        paths = drawn * len(self._images["other"])
        self.shape = (rule.replicates, length, paths)
        self._leading = points.reshape(rule.replicates, leading, length, drawn)
        self._random = np.random.default_rng([rule.seed, leading])
        self._drawn = 0
        self._basis = np.full((rule.replicates, 1, paths), paths**-0.5)  # orthonormal rows

    @property
    def full(self) -> bool:
        """Whether another mode (its c and its ξ) would take more than half of all directions of
        R^N."""
        _, length, paths = self.shape
        return self._basis.shape[1] + 2 * length > paths // 2

    def fresh(self, role: str = "other") -> np.ndarray:
        """ξ of a new mode, (R, L, N), of mean zero, variance one, and uncorrelated with all rows
        before; `role`: a word of `IMAGES`."""
        if self._drawn < self._leading.shape[1]:
            drawn = self._leading[:, self._drawn]
        else:
            drawn = self._random.standard_normal((*self.shape[:2], self._leading.shape[-1]))
        self._drawn += 1
        rows = np.concatenate([sign * drawn for sign in self._images[role]], axis=-1)
        return np.sqrt(self.shape[-1]) * self.remember(rows)

    def remember(self, rows: np.ndarray) -> np.ndarray:
        """Make later noise uncorrelated with `rows`, (R, V, N); returns them orthonormal."""
        before = self._basis.shape[1]
        for index in range(rows.shape[1]):
            row = rows[:, index : index + 1]
            for _ in range(2):  # twice, because of rounding
                row = row - (row @ self._basis.swapaxes(1, 2)) @ self._basis
            norm = np.linalg.norm(row, axis=2, keepdims=True)
            row = row / np.where(norm > 0, norm, 1.0)
            self._basis = np.concatenate([self._basis, row], axis=1)
        return self._basis[:, before:]
