"""Where named parts lie in a flat array: owned here, so that nobody counts offsets."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Layout:
    """Named parts of given shapes, one after the other on the last axis of a flat array.

    **Example**

        Layout(("q", (2, 1)), ("m", (2,))).split(np.arange(4))     # [[[0], [1]], [2, 3]]
    """

    parts: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def sizes(self) -> list[int]:
        return [prod(shape) for _, shape in self.parts]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def owner(self) -> np.ndarray:
        """Which part each entry belongs to, as an index into `parts`, (size,)."""
        return np.repeat(np.arange(len(self.parts)), self.sizes)

    def split(self, flat: Any) -> list[Any]:
        """The parts of `flat`, (…, size), each (…, *shape)."""
        ends = np.cumsum(self.sizes)
        slices = zip([0, *ends[:-1]], ends, self.parts, strict=True)
        return [
            flat[..., start:end].reshape((*flat.shape[:-1], *shape))
            for start, end, (_, shape) in slices
        ]
