"""Data of a scenario at finite d: what the student sees, and the little more it takes to know the
loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...scenario.arguments import checked_with, kind, word
from ...scenario.attentions.attention import matrices
from ...scenario.scenario import Scenario
from ..checks import check_memory, check_precision
from .instance import Instance
from .source import Source, source_of

BLOCK = 2**22  # numbers generated at once: 32 MB in double precision


class Grams(NamedTuple):
    """Scalar products of the tokens of each sample, divided by d; (L, L, n), samples last.

    - `true`: G^{xx}_{ll'} = x_l·x_l'/d.
    - `mixed`: G^{xx̃}_{ll'} = x_l·x̃_l'/d.
    - `seen`: G^{x̃x̃}_{ll'} = x̃_l·x̃_l'/d.
    """

    true: Any
    mixed: Any
    seen: Any


@dataclass(frozen=True, eq=False)
class Sample:
    """n samples of one instance.

    For use elsewhere, sample by sample:

    - `x`: the sentences, (n, L, d);  `positions`: p, (L, d), which the student sees added to x;
      `y`: T[x Q*/√d] x, what the student is to put out, (n, L, d).

    As training uses them, samples behind tokens:

    - `instance`: the realisation they were drawn from.
    - `tokens`: x̃ = x + p, (L, n, d): all the student sees.
    - `answers`: T[x Q*/√d], the teacher's attention, (L, L, n).
    - `grams`: the scalar products of the tokens within each sample.
    - `scales`: s, (L, n), where tokens have random scales.
    """

    instance: Instance
    tokens: np.ndarray
    answers: np.ndarray
    grams: Grams
    scales: np.ndarray | None = None

    @property
    def scenario(self) -> Scenario:
        return self.instance.scenario

    @property
    def count(self) -> int:
        return self.tokens.shape[1]

    @property
    def positions(self) -> np.ndarray:
        """p, (L, d)."""
        return self.instance.positions

    @property
    def x(self) -> np.ndarray:
        """The sentences without their positions, (n, L, d)."""
        return np.moveaxis(self.tokens, 0, 1) - self.positions

    @property
    def y(self) -> np.ndarray:
        """T[x Q*/√d] x, (n, L, d)."""
        return np.einsum("lkn,nki->nli", self.answers, self.x)

    def __repr__(self) -> str:
        length, count, d = self.tokens.shape
        sizes = f"{count} sentences of {length} tokens in {d} dimensions"
        return f"Sample({sizes}, seed {self.instance.seed}: .x, .y, .positions)"

    def _repr_html_(self) -> str:
        from ...results.tables import html_table

        (length, count, d), rank = self.tokens.shape, self.scenario.ranks[1]
        shapes = {".x": (count, length, d), ".y": (count, length, d), ".positions": (length, d)}
        shapes |= {".instance.teacher_weights": (d, rank)}
        return html_table(repr(self), [{name: str(shape) for name, shape in shapes.items()}])


@checked_with(
    scenario=kind("Scenario", "Instance", example="dotphase.paper()"), stream=word("tokens", "test")
)
def sample(
    scenario: Scenario | Instance,
    d: int | None = None,
    seed: int = 0,
    *,
    precision: str = "float64",
    count: int | None = None,
    stream: str = "tokens",
) -> Sample:
    """n = αd sentences x ∈ R^{L×d}, x_l = s_l × N(0, Σ_l), with the teacher's attention on each.

    Each token has its own stream of random numbers, drawn in double precision block by block, so
    neither the block size nor the precision changes what is drawn: single precision is the same
    data, rounded.

    **Arguments**

    - `scenario`: what is learned, or an `Instance` of it (then `d` and `seed` are those of the
      instance).
    - `d`, `seed`: the dimension, and which realisation.
    - `precision`: `"float64"` or `"float32"`, of the stored tokens only; scalar products are always
      double.
    - `count`: n, if not αd.
    - `stream`: `"tokens"` for training data, `"test"` for data independent of them.

    **Returns**: a `Sample`: tokens, the teacher's fields and attention, scalar products, and the
    `Instance` that they are drawn from.

    **Example**

        sample(paper(alpha=2.0), d=1000, seed=0).tokens.shape   # (2, 2000, 1000)
    """
    if isinstance(scenario, Instance):
        instance = scenario
    elif d is None:
        raise ValueError("d: give the dimension; it can be left out only with an instance")
    else:
        instance = Instance(scenario, d, seed)
    check_precision(precision)
    count = instance.sample_count if count is None else count
    check_memory(instance, count, precision)
    length, dimension = instance.gamma.shape
    seen = _aligned((length, count, dimension), precision)
    fields = np.empty((length, instance.scenario.teacher.rank, count))
    grams = Grams(*np.empty((3, length, length, count)))
    source = source_of(instance, stream, count)
    step = max(1, BLOCK // (length * dimension))
    for first in range(0, count, step):
        block = slice(first, min(first + step, count))
        _fill(instance, source, block, seen, fields, grams)
    return Sample(instance, seen, matrices(instance.scenario.teacher, fields), grams, source.scales)


def _fill(instance: Instance, source: Source, block: slice, seen, fields, grams: Grams) -> None:
    """Draw the sentences `block` and write what is kept of them."""
    d, x = instance.dimension, source.tokens(block)
    fields[:, :, block] = np.swapaxes(x @ instance.teacher_weights, 1, 2) / np.sqrt(d)
    x_seen = x + instance.positions[:, None, :]
    for gram, found in zip(grams, grams_of(x, x_seen), strict=True):
        gram[:, :, block] = found
    seen[:, block] = x_seen


def grams_of(x: np.ndarray, seen: np.ndarray) -> Grams:
    """The scalar products of tokens x and x̃, both (L, n, d)."""
    length, count, d = x.shape
    grams = Grams(*np.empty((3, length, length, count)))
    for gram, left, right in zip(grams, (x, x, seen), (x, seen, seen), strict=True):
        for l in range(length):
            for k in range(length):
                gram[l, k] = np.einsum("ni,ni->n", left[l], right[k]) / d
    return grams


def _aligned(shape: tuple[int, ...], precision: str) -> np.ndarray:
    # Aligned to a cache line, an array can be handed to the compiled passes without a copy.
    dtype = np.dtype(precision)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size].view(dtype).reshape(shape)
