"""Data larger than memory: tokens in a file, read block by block, and the objective as a sum over
blocks.

Memory holds one block of tokens (`BLOCK_BYTES`), the scalar products of all samples and a few
arrays of the size of the weights, whatever n and d are. What is drawn is what `sample` draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.files import written_whole
from ...scenario.attentions.attention import matrices
from ..training.objective import Objective, _Data
from .instance import Instance
from .sampling import BLOCK, Grams, Sample, _aligned, _fill
from .source import source_of

BLOCK_BYTES = 1 << 28  # of tokens in memory


@dataclass(frozen=True)
class TokenFile:
    """x̃ of n samples, (L, n, d), in a file: blocks of samples one after the other, each (L,
    samples, d)."""

    path: Path
    shape: tuple[int, int, int]
    precision: str

    @property
    def step(self) -> int:
        """Samples in a block."""
        length, count, d = self.shape
        return min(count, max(1, BLOCK_BYTES // (length * d * np.dtype(self.precision).itemsize)))

    def is_complete(self) -> bool:
        size = int(np.prod(self.shape)) * np.dtype(self.precision).itemsize
        return self.path.exists() and self.path.stat().st_size == size

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Which samples, and their tokens, in memory that the next block is written to."""
        length, count, d = self.shape
        whole = _aligned((length * self.step * d,), self.precision)
        with open(self.path, "rb", buffering=0) as file:
            for first in range(0, count, self.step):
                size = min(self.step, count - first)
                tokens = whole[: length * size * d]
                if file.readinto(memoryview(tokens).cast("B")) < tokens.nbytes:  # type: ignore[operator]
                    raise OSError(f"{self.path} is shorter than it was")
                yield slice(first, first + size), tokens.reshape(length, size, d)


def sample_to_file(instance: Instance, tokens: TokenFile) -> tuple[np.ndarray, Grams]:
    """Draw the samples of an instance, tokens into a file; returns the teacher's answers and the
    scalar products."""
    length, count, d = tokens.shape
    fields = np.empty((length, instance.scenario.teacher.rank, count))
    grams = Grams(*np.empty((3, length, length, count)))
    source = source_of(instance, "tokens", count)
    with written_whole(tokens.path) as unfinished, open(unfinished, "wb") as file:
        for first in range(0, count, tokens.step):
            inside = slice(first, min(first + tokens.step, count))
            block = np.empty((length, inside.stop - first, d), tokens.precision)
            for start in range(first, inside.stop, max(1, BLOCK // (length * d))):
                part = slice(start, min(start + max(1, BLOCK // (length * d)), inside.stop))
                _fill(instance, source, part, _Shifted(block, first), fields, grams)
            block.tofile(file)
    return matrices(instance.scenario.teacher, fields), grams


class _Shifted:
    """An array of samples `first` and on, written to by their numbers among all samples."""

    def __init__(self, block: np.ndarray, first: int) -> None:
        self.block, self.first = block, first

    def __setitem__(self, place: tuple[slice, slice], values: np.ndarray) -> None:
        tokens, samples = place
        self.block[tokens, samples.start - self.first : samples.stop - self.first] = values


class BlockObjective(Objective):
    """`Objective` whose tokens are in a file: each pass reads them once."""

    def __init__(self, sample: Sample, tokens: TokenFile) -> None:
        self._target = self._prepare(sample)
        self.tokens = tokens

    def _run(self, function: Callable, *arrays: np.ndarray) -> Any:
        import jax

        found = []
        with jax.enable_x64(True):
            for samples, tokens in self.tokens.blocks():
                grams, numbers = self.sample.grams, self.sample.scenario.student.values
                data = _Data(tokens, self._target[..., samples], grams.seen[..., samples], numbers)
                part = function(data, *self._cut(function, arrays, samples))
                part = jax.tree.map(np.array, part)  # the block's memory is used again
                found = self._joined(function, found, part)
        return np.concatenate(found, 2) if function is self._passes.fields else found[0]

    def _joined(self, function: Callable, found: list, part: Any) -> list:
        import jax

        if function is self._passes.fields:
            return [*found, part]
        return [jax.tree.map(np.add, found[0], part)] if found else [part]

    def _cut(
        self, function: Callable, arrays: tuple[np.ndarray, ...], samples: slice
    ) -> list[np.ndarray]:
        """The arguments, that one of them which is per sample cut to these samples."""
        per_sample = {self._passes.pull_back: 0, self._passes.curvature: 1}.get(function)
        return [
            array[..., samples] if at == per_sample else array for at, array in enumerate(arrays)
        ]
