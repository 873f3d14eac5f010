"""One realisation of a scenario at finite d, in the shared eigenbasis of the tokens' covariances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...numerics.matrix_root import symmetric_root
from ...scenario.arguments import checked
from ...scenario.distribution import Table, table_of
from ...scenario.scenario import Scenario
from ...scenario.validation import whole_number
from .source import Data, as_data

# Independent random numbers of one seed, by purpose.
STREAMS = ("teacher", "start", "tokens", "test", "scales", "test scales", "sentences")


@checked
@dataclass(frozen=True, eq=False)
class Instance:
    """A scenario whose d directions have been laid out, for one seed.

    Row k of the scenario's table of directions is given to its share of the d coordinates. Along
    coordinate i the covariance of token l has eigenvalue γ_li, the encoding is p_li = τ_kl/√d, and
    the teacher's row is Q*_i: row k of the scenario's `teacher_weights`, or drawn from N(0, I).

    **Arguments**

    - `scenario`: what is learned.
    - `dimension`: d.
    - `seed`: which teacher, which data, which random start.
    - `data`: sentences to take instead of drawing them from the scenario's distribution: an array
      (n, L, d), or `dotphase.text.Sentences`.
    """

    scenario: Scenario
    dimension: int
    seed: int = 0
    data: Data | None = None

    def __post_init__(self) -> None:
        if self.data is not None:
            object.__setattr__(self, "data", as_data(self.data))
            _check_data(self.data, self.scenario, self.dimension)
        dimension = whole_number("d", self.dimension, least=max(self.scenario.ranks))
        object.__setattr__(self, "dimension", dimension)
        if self.sample_count < 1:
            alpha = self.scenario.sample_ratio
            raise ValueError(
                f"d: n = αd = {alpha:g}·{self.dimension} rounds to no sample; raise α or d"
            )
        object.__setattr__(self, "seed", whole_number("seed", self.seed, least=0))

    @property
    def sample_count(self) -> int:
        """n = αd, rounded."""
        return round(self.scenario.sample_ratio * self.dimension)

    @cached_property
    def kind(self) -> np.ndarray:
        """Which row of the table each coordinate belongs to, (d,)."""
        share = self._table.share
        return np.repeat(np.arange(len(share)), shares_of(share, self.dimension))

    @cached_property
    def gamma(self) -> np.ndarray:
        """γ: the eigenvalues of the Σ_l, (L, d)."""
        return np.ascontiguousarray(self._table.gamma[self.kind].T)

    @cached_property
    def Gamma(self) -> np.ndarray | None:
        """Γ: the covariances of the tokens with each other, (L, L, d); None where there are none."""
        return self._by_direction(self._table.Gamma)

    @cached_property
    def root(self) -> np.ndarray | None:
        """Γ^{1/2}, symmetric, (L, L, d); None where Γ is diagonal."""
        if self._table.Gamma is None:
            return None
        return self._by_direction(symmetric_root(self._table.Gamma))

    def _by_direction(self, table: np.ndarray | None) -> np.ndarray | None:
        return None if table is None else np.ascontiguousarray(np.moveaxis(table[self.kind], 0, -1))

    @cached_property
    def positions(self) -> np.ndarray:
        """p: the encodings, (L, d)."""
        return np.ascontiguousarray(self._table.tau[self.kind].T) / np.sqrt(self.dimension)

    @cached_property
    def teacher_weights(self) -> np.ndarray:
        """Q*, (d, r_t)."""
        pi = self._table.pi
        if pi is not None:
            return np.ascontiguousarray(pi[self.kind])
        return self.random("teacher").standard_normal((self.dimension, self.scenario.teacher.rank))

    @property
    def teacher_excess(self) -> float:
        """How much longer this teacher is than expected: Σ_l Tr[Q*ᵀΣ_lQ*/d] / Σ_l Tr ρ_l − 1.

        Its expectation is zero. It is the largest fluctuation from seed to seed, of order 1/√d, and
        its share in any average can be removed.
        """
        seen = (self.gamma @ self.teacher_weights**2).sum() / self.dimension
        return float(seen / np.trace(self.scenario.distribution.rho, axis1=1, axis2=2).sum() - 1)

    def random(self, stream: str) -> np.random.Generator:
        """The generator of this seed for one purpose, so that no two purposes share numbers."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, STREAMS.index(stream)]))

    @cached_property
    def _table(self) -> Table:
        return table_of(self.scenario.tokens, self.scenario.positions, self.scenario._pi)


def _check_data(data: Data, scenario: Scenario, dimension: int) -> None:
    if data.length != scenario.length:
        raise ValueError(
            f"data: sentences of {data.length} tokens, but the scenario's have {scenario.length}"
        )
    if data.dimension != dimension:
        raise ValueError(f"d: the data have {data.dimension} dimensions, got {dimension!r}")


def shares_of(weights: np.ndarray, count: int) -> np.ndarray:
    """Whole numbers proportional to `weights` that sum to `count`: the largest remainders are
    rounded up."""
    exact = np.asarray(weights) * count
    whole = np.floor(exact + 1e-9).astype(int)
    largest = np.argsort(whole - exact, kind="stable")[: count - whole.sum()]
    whole[largest] += 1
    return whole
