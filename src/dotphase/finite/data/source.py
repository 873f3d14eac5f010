"""Where the tokens of an instance come from: drawn from its distribution, or taken from sentences that are
given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from .instance import Instance

SCALES = {
    "tokens": "scales",
    "test": "test scales",
}  # the random numbers of the scales, by those of the tokens


class Data(Protocol):
    """Sentences that are given: `count` of them, `length` L tokens each, in `dimension` d
    directions.

    `tokens(rows)` are x of some of them, (L, n, d), in the eigenbasis of the scenario's tokens,
    kind by kind.
    """

    @property
    def count(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def dimension(self) -> int: ...
    def tokens(self, rows: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class ArrayData:
    """An array of sentences x, (n, L, d), in the eigenbasis of the scenario's tokens."""

    x: np.ndarray

    @property
    def count(self) -> int:
        return len(self.x)

    @property
    def length(self) -> int:
        return self.x.shape[1]

    @property
    def dimension(self) -> int:
        return self.x.shape[2]

    def tokens(self, rows: np.ndarray) -> np.ndarray:
        return np.moveaxis(self.x[rows], 1, 0)


def as_data(data: Data | np.ndarray) -> Data:
    """Sentences as training takes them: an array (n, L, d), or what has `tokens` of its own."""
    if hasattr(data, "tokens"):
        return data  # type: ignore[return-value]
    x = np.asarray(data)
    if x.ndim != 3 or x.dtype.kind not in "fiu":
        raise ValueError(
            f"data: expected sentences, an array of numbers (n, L, d), got shape {x.shape} of {x.dtype}"
        )
    if not np.isfinite(x).all():
        raise ValueError("data: every entry must be finite")
    return ArrayData(x)


class Source(Protocol):
    """`tokens(block)`: x of consecutive sentences, (L, n, d), called once for each block in order;
    `scales`: s of all of them, (L, n), or None where all are one."""

    scales: np.ndarray | None

    def tokens(self, block: slice) -> np.ndarray: ...


class Drawn:
    """x_l = s_l Σ_k (Γ^{1/2})_lk ζ_k along every direction, with ζ_k ~ N(0, 1) and s from the distribution
    of the scales.

    Each token has its own stream of normals, so the size of the blocks does not change what is
    drawn.
    """

    def __init__(self, instance: Instance, stream: str, count: int) -> None:
        self.length, self.dimension = instance.gamma.shape
        self.deviation, self.root = np.sqrt(instance.gamma), instance.root
        self.random = instance.random(stream).spawn(self.length)
        distribution = instance.scenario.tokens.scales
        self.scales = (
            None
            if distribution is None
            else distribution.draw(instance.random(SCALES[stream]), count, self.length)
        )

    def tokens(self, block: slice) -> np.ndarray:
        x = np.empty((self.length, block.stop - block.start, self.dimension))
        for l, random in enumerate(self.random):
            random.standard_normal(out=x[l])
            if self.root is None:
                x[l] *= self.deviation[l]
        if self.root is not None:
            x = np.einsum("lki,kni->lni", self.root, x)
        if self.scales is not None:
            x *= self.scales[:, block, None]
        return x


class Taken:
    """Sentences of the data without replacement: for training the first n of a shuffled list, for
    tests the others.

    The scale of a token is its measured length: s_l² = |x_l|²/Tr Σ_l.
    """

    def __init__(self, instance: Instance, data: Data, stream: str, count: int) -> None:
        shuffled = instance.random("sentences").permutation(data.count)
        left = (
            shuffled[: instance.sample_count]
            if stream == "tokens"
            else shuffled[instance.sample_count :]
        )
        if len(left) < count:
            raise ValueError(
                f"data: {count} sentences wanted for {'training' if stream == 'tokens' else 'tests'}, {len(left)} of "
                f"{data.count} are there; lower α, or give more text"
            )
        self.data, self.rows = data, left[:count]
        self.scales = None
        if instance.scenario.tokens.scales is not None:
            self.scales = np.concatenate(
                [self._lengths(instance.gamma, part) for part in self._parts()], axis=1
            )

    def tokens(self, block: slice) -> np.ndarray:
        return np.asarray(self.data.tokens(self.rows[block]), dtype=np.float64)

    def _parts(self) -> list[slice]:
        return [slice(k, min(k + 1024, len(self.rows))) for k in range(0, len(self.rows), 1024)]

    def _lengths(self, gamma: np.ndarray, block: slice) -> np.ndarray:
        return np.sqrt((self.tokens(block) ** 2).sum(-1) / gamma.sum(1)[:, None])


def source_of(instance: Instance, stream: str, count: int) -> Source:
    """The tokens of `count` sentences of an instance, for training (`"tokens"`) or for tests
    (`"test"`)."""
    if instance.data is None:
        return Drawn(instance, stream, count)
    return Taken(instance, instance.data, stream, count)
