"""Rules for averages over independent standard normals, E[f(ζ)] ≈ Σ_i w_i f(ζ_i).

A rule gives several replicates of its nodes: from how the replicates differ it tells the error of
anything computed from them. Scrambled Sobol' points are for everything, jumps included; tensor
Gauss–Hermite is for smooth integrands, where it converges exponentially, and errs by per cents
where the integrand jumps (as the prox does).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..results.estimate import Estimate
from ..scenario.arguments import checked


class Nodes(NamedTuple):
    """`points`: (replicates, dimension, n); `weights`: (replicates, n), each row summing to one."""

    points: np.ndarray
    weights: np.ndarray


@runtime_checkable
class Rule(Protocol):
    """What a rule offers: nodes in any dimension, a way to pool replicates, and a finer version of
    itself."""

    def nodes(self, dimension: int, images: int = 1) -> Nodes: ...

    @property
    def pool(self) -> np.ndarray:
        """The share of each replicate in the pooled value, (replicates,)."""
        ...

    def error(self, deviations: np.ndarray) -> np.ndarray:
        """The standard error of the pooled value, from `deviations` (replicates, …) of each
        replicate from it."""
        ...


@checked
@dataclass(frozen=True)
class Sobol:
    """Randomised quasi-Monte Carlo: independent scrambles of Sobol' points, mapped to normals.

    **Arguments**

    - `count`: nodes in all, over replicates and symmetry images (a power of two).
    - `replicates`: independent scrambles; their scatter is the error bar.
    - `seed`: which scrambles.
    """

    count: int = 2**13
    replicates: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if self.replicates < 4:
            raise ValueError(
                f"replicates: at least 4 are needed for an error bar, got {self.replicates}"
            )
        if self.count < 4 * self.replicates:
            raise ValueError(
                f"count: at least {4 * self.replicates} nodes are needed, got {self.count}"
            )
        if self.count != 2 ** round(np.log2(self.count)):
            near = 2 ** round(np.log2(self.count))
            raise ValueError(
                f"count: nodes come in powers of two, {self.count} is none; take {near}"
            )

    def nodes(self, dimension: int, images: int = 1) -> Nodes:
        """Nodes before symmetrisation: each stands for `images` of the `count` nodes."""
        log2 = int(np.round(np.log2(self.count / (self.replicates * images))))
        points = _scrambled(dimension, max(log2, 2), self.replicates, self.seed)
        return Nodes(points, np.full((self.replicates, points.shape[-1]), 1 / points.shape[-1]))

    @property
    def pool(self) -> np.ndarray:
        return np.full(self.replicates, 1 / self.replicates)

    def error(self, deviations: np.ndarray) -> np.ndarray:
        """√(Σ_r δ_r² / (R (R − 3))): the standard error of the mean over R scrambles.

        With R − 1 instead of R − 3 a deviation in units of the error would follow Student's t, of
        variance (R − 1)/(R − 3), since few scrambles do not know their own scatter well. With R − 3
        that variance is one.
        """
        return np.sqrt(
            (np.asarray(deviations) ** 2).sum(0) / (self.replicates * (self.replicates - 3))
        )

    def refined(self, excess: float, budget: int, most: int) -> Sobol:
        """The same scrambles with more nodes, for an error `excess` times smaller: at most 2^`most`
        times as many, and no more than `budget`."""
        # Errors fall about as the power 0.65 of the count.
        factor = 2 ** int(np.clip(np.ceil(np.log2(excess) / 0.65), 1, most))
        while factor > 1 and self.count * factor > budget:
            factor //= 2
        return replace(self, count=self.count * factor)


@checked
@dataclass(frozen=True)
class GaussHermite:
    """Tensor Gauss–Hermite of `order` nodes per dimension; the error is the largest change from the
    next lower orders.

    Two of them are compared, one of the other parity: rules of one parity can agree on a jump and
    both be wrong.
    """

    order: int = 20

    def __post_init__(self) -> None:
        if self.order < 4:
            raise ValueError(f"order: at least 4, got {self.order}")

    def nodes(self, dimension: int, images: int = 1) -> Nodes:
        size = self.order**dimension
        if size > 2**24:
            raise ValueError(
                f"order: {self.order}^{dimension} nodes are too many; use Sobol in {dimension} dimensions"
            )
        points, weights = np.zeros((3, dimension, size)), np.zeros((3, size))
        for replicate, order in enumerate((self.order, self.order - 1, self.order - 2)):
            grid, weight = _tensor(order, dimension)
            points[replicate, :, : len(weight)], weights[replicate, : len(weight)] = grid, weight
        return Nodes(points, weights)

    @property
    def pool(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0])

    def error(self, deviations: np.ndarray) -> np.ndarray:
        return np.abs(np.asarray(deviations)).max(0)


def pooled(rule: Rule, values: np.ndarray) -> Estimate:
    """One estimate of what each replicate of a rule says, (replicates, …)."""
    values = np.asarray(values)
    mean = np.tensordot(rule.pool, values, axes=1)
    return Estimate(mean, rule.error(values - mean))


def for_smooth(dimension: int, most: int, order: int) -> Rule:
    """A rule for smooth integrands: tensor Gauss–Hermite of the highest order that `most` nodes
    allow if that is at least `order`, else scrambled Sobol' points."""
    highest = int(most ** (1 / dimension) + 1e-9)
    return GaussHermite(min(highest, 40)) if highest >= order else Sobol(2 * most)


BITS = 30  # of a coordinate
KEPT = Path(__file__).with_name("directions.npy")


@lru_cache(maxsize=64)
def _scrambled(dimension: int, log2: int, replicates: int, seed: int) -> np.ndarray:
    """Normals from scrambled Sobol' points, (replicates, dimension, 2^log2).

    A scramble multiplies the binary digits of each coordinate by a random lower triangular matrix,
    modulo 2, and adds random digits. Points and random numbers are those of
    `scipy.stats.qmc.Sobol`, which takes longer for few points.
    """
    from scipy.special import ndtri

    directions, steps = _directions(dimension, log2)
    draws = [_draws(source, dimension) for source in np.random.SeedSequence(seed).spawn(replicates)]
    shifts, matrices = (np.array(digits) for digits in zip(*draws, strict=True))
    weights = 2 ** np.arange(BITS, dtype=np.uint32)
    below = np.arange(BITS)[:, None] - np.arange(log2)
    lower = np.where(below > 0, matrices[..., :log2], below == 0)
    # As binary numbers, (replicates, dimension, log2).
    columns = (lower * weights[::-1, None]).sum(-2, dtype=np.uint32)
    turned = np.bitwise_xor.reduce(directions * columns[..., None, :], axis=-1)
    integers = np.empty((replicates, dimension, 2**log2), np.uint32)
    integers[..., 0] = shifts @ weights
    integers[..., 1:] = turned[..., steps]
    np.bitwise_xor.accumulate(integers, axis=-1, out=integers)
    points = ndtri(np.clip(integers * 2.0**-BITS, 2.0**-53, 1 - 2.0**-53))
    points.setflags(write=False)
    return points


def _draws(source: np.random.SeedSequence, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """The random digits of one scramble: a shift, (dimension, BITS), and a matrix, (dimension,
    BITS, BITS)."""
    rng = np.random.default_rng(source.spawn(1)[0])
    digits = lambda *shape: rng.integers(2, size=(dimension, *shape), dtype=np.uint32)
    return digits(BITS), digits(BITS, BITS)


@lru_cache(maxsize=16)
def _directions(dimension: int, log2: int) -> tuple[np.ndarray, np.ndarray]:
    """What takes one Sobol' point to the next: a direction's leading binary digits are added to it,
    modulo 2.

    Digits of the directions, (dimension, directions, digits), and which direction is added at each
    step.
    """
    counted = np.arange(1, 2**log2)
    steps = np.log2(counted & -counted).astype(np.intp)  # as Gray's code counts
    kept = np.load(KEPT)
    directions = (
        kept[:dimension, :log2] if dimension <= len(kept) else direction_numbers(dimension, log2)
    )
    places = np.arange(BITS - 1, BITS - 1 - log2, -1, dtype=np.uint32)
    return directions[..., None] >> places & 1, steps


def direction_numbers(dimension: int, count: int) -> np.ndarray:
    """The first directions of Sobol' points as binary numbers, (dimension, count): direction k
    leads to point 2^k.

    Those of few dimensions are kept, as `direction_numbers(16, BITS)` gives them: loading
    scipy.stats takes a second.
    """
    from scipy.stats import qmc

    def direction(k: int) -> np.ndarray:
        sequence = qmc.Sobol(dimension, scramble=False, bits=BITS)
        points = (sequence.fast_forward(2**k - 1) if k else sequence).random(2) * 2.0**BITS
        return np.bitwise_xor(*points.astype(np.uint32))

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The balance properties of Sobol")
        return np.stack([direction(k) for k in range(count)], axis=1)


@lru_cache(maxsize=16)
def _tensor(order: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(order)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(*[nodes] * dimension, indexing="ij")).reshape(dimension, -1)
    product = np.prod(np.meshgrid(*[weights] * dimension, indexing="ij"), axis=0).ravel()
    return grid, product
