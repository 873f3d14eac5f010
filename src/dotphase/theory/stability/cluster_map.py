"""The map of one step of breaking on fixed nodes: outer ones (ξ_0, η) and, around each of them,
inner ones ξ_1.

A state is made of the coordinates of (q_0, V, m, θ), as in the replica-symmetric theory, and of Δ,
as those of q. The outer nodes are the theory's own, symmetries included. The inner ones are Sobol'
points, shifted at random around each outer node, so that their errors average out over the outer
ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from ...inner.minima import Lowest
from ...numerics.rules import Sobol
from ...numerics.threads import at_once
from ...overlaps.coordinates import coordinates_of, factors, overlaps_at
from ...overlaps.gauge import tangents
from ...overlaps.overlaps import Moments, Overlaps, coordinate_layout
from ...overlaps.symmetric import Group
from ...scenario.attentions.symmetry import symmetries
from ...scenario.scenario import Scenario
from ..state_evolution.evaluator import Evaluator, evaluator_of
from .clusters import (
    TOGETHER,
    Averages,
    Clusters,
    compiled_clusters,
    compiled_conjugates,
    complexity,
    free_energy,
    overlaps_from,
    per_group,
    positive,
)

NUDGE = (
    1e-3  # the part of a deviation that is followed, to tell where all of it leads to first order
)
TRACE = 1e-6  # of q_1, added to Δ, so that its logarithm has a fixed point where Δ vanishes


class Place(NamedTuple):
    """The map at one state.

    - `overlaps`: q_0, Δ, V, m, θ there;  `change`: F(state), in invariant coordinates, (k,),
      without its part along the gauge orbit, `gauge`;  `change_scatter`: F of each replicate minus
      the pooled one, (R, k).
    - `numbers`: f, Σ, e;  `number_scatter`: those of each replicate minus the pooled ones, (R, 3),
      all at the pooled overlaps: f is stationary, so what the overlaps are off by matters to second
      order only.
    """

    y: float
    state: np.ndarray
    overlaps: Clusters
    change: np.ndarray
    change_scatter: np.ndarray
    gauge: np.ndarray
    numbers: np.ndarray
    number_scatter: np.ndarray


@dataclass(frozen=True, eq=False)
class ClusterMap:
    """The map of a scenario.

    - `evaluator`: whose outer nodes, those of `rule`, are used.
    - `inner`: points of the unit cube, (L r_s, I);  `shifts`: of each outer node, (L r_s, N) per
      block.
    - `basis`: of the invariant coordinates of a state.
    """

    scenario: Scenario
    evaluator: Evaluator
    rule: Sobol
    inner: np.ndarray
    shifts: list[np.ndarray]
    basis: np.ndarray

    def first_minima(self) -> list[np.ndarray]:
        """Where descents may begin when nothing is known."""
        size, (length, rank) = (
            self.inner.shape[-1],
            (self.scenario.length, self.scenario.student.rank),
        )
        some = TOGETHER // size
        counts = [block.xi.shape[-1] for block in self.evaluator.ensemble.blocks]
        return [np.zeros((count // some, length, rank, some * size)) for count in counts]

    def __call__(
        self, y: float, state: np.ndarray, known: list[Any]
    ) -> tuple[Place | None, list[Any]]:
        """The map at a state, None where it is not defined; and all minima, found anew with `known`
        ones as a start."""
        rows, known = self._averages(y, state, known)
        here = clusters_at(state, self.scenario)
        hats = [self._hats(y, state, Averages(*row)) for row in zip(*rows, strict=True)]
        distribution, ridge = self.scenario.distribution, float(self.scenario.ridge)
        at = [per_group(distribution, ridge, y, each) for each in hats]
        if not all(map(positive, at)):
            return None, known
        pooled, *each = map(overlaps_from, at)
        image, gauge = state_of(pooled, self.scenario), self._gauge(state)
        if not np.isfinite(image).all():
            return None, known
        change = self.basis @ (image - state)
        scatter = np.array([self.basis @ self._apart(pooled, image, other) for other in each])
        numbers = np.array([self._numbers(y, at[0], here, hats[0], row) for row in rows.within])
        change = change - gauge.T @ (gauge @ change)
        return Place(
            y, state, here, change, scatter, gauge, numbers[0], numbers[1:] - numbers[0]
        ), known

    def _apart(self, pooled: Clusters, image: np.ndarray, other: Clusters) -> np.ndarray:
        """How far a replicate's image lies from the pooled one, to first order: a Δ from few jumps
        may be tiny, and its logarithm anything."""
        nudged = Clusters(*(a + NUDGE * (b - a) for a, b in zip(pooled, other, strict=True)))
        return (state_of(nudged, self.scenario) - image) / NUDGE

    def _averages(
        self, y: float, state: np.ndarray, known: list[Any]
    ) -> tuple[Averages, list[Any]]:
        """Pooled averages and then those of each replicate, (1 + R, F), symmetrised; and the
        minima."""
        evaluator, D = self.evaluator, _root(state, self.scenario)
        run, x = compiled_clusters(evaluator.structure), state[: evaluator.basis.shape[1]]
        jobs = list(zip(evaluator.ensemble.blocks, self.shifts, known, strict=True))
        work = lambda job: jax.block_until_ready(
            run(evaluator.values, evaluator.spread, x, D, y, job[0], self.inner, *job[1:])
        )
        found = [work(jobs[0]), *at_once(work, jobs[1:])]  # the first alone, since it may compile
        summed = jax.tree.map(
            lambda *parts: np.sum(parts, axis=0), *(averages for _, averages in found)
        )
        totals = [total @ evaluator.ensemble.average.T for total in summed]
        return Averages(*(np.vstack([evaluator.rule.pool @ total, total]) for total in totals)), [
            z for z, _ in found
        ]

    def _hats(self, y: float, state: np.ndarray, row: Averages) -> Clusters:
        evaluator = self.evaluator
        hats = compiled_conjugates(evaluator.structure)(
            evaluator.values, state[: evaluator.basis.shape[1]], y, row
        )
        return Clusters(*map(np.asarray, hats))

    def _numbers(
        self, y: float, at, here: Clusters, hats: Clusters, row: np.ndarray
    ) -> tuple[float, float, float]:
        """f, Σ and e from conjugates and one replicate's averages."""
        average, alpha = (
            Moments.unflat(row, self.evaluator.structure.shape),
            float(self.scenario.sample_ratio),
        )
        f = free_energy(at, y, here, hats, alpha, float(average.loss))
        sigma = complexity(at, y, here, hats, alpha, float(average.loss), float(average.energy))
        return f, sigma, f + (sigma / y if y > 0 else 0.0)

    def _gauge(self, state: np.ndarray) -> np.ndarray:
        evaluator = self.evaluator
        gauge = tangents(
            state[: evaluator.basis.shape[1]], evaluator.rho, evaluator.turns, evaluator.basis
        )
        return np.hstack([gauge, np.zeros((len(gauge), len(self.basis) - gauge.shape[1]))])


def cluster_map(scenario: Scenario, kept: Group, rule: Sobol, inner: int) -> ClusterMap:
    """The map for overlaps that have the symmetries `kept`, on `rule`'s outer nodes with `inner`
    ones around each."""
    from scipy.stats import qmc

    evaluator = evaluator_of(scenario, rule, symmetries(scenario), kept, Lowest())
    size = scenario.length * scenario.student.rank
    cube = qmc.Sobol(size, scramble=False).random_base2(int(np.log2(inner))).T + 0.5 / inner
    counts = [block.xi.shape[-1] for block in evaluator.ensemble.blocks]
    shifts = [
        np.random.default_rng([rule.seed, k]).random((size, count))
        for k, count in enumerate(counts)
    ]
    B, of_q = evaluator.basis, _of_q(scenario)
    of_spread = B[(B[:, ~of_q] == 0).all(1)][:, of_q]
    across = np.zeros((len(B), of_q.sum()))
    basis = np.block([[B, across], [np.zeros((len(of_spread), B.shape[1])), of_spread]])
    return ClusterMap(scenario, evaluator, rule, cube, shifts, basis)


def state_of(overlaps: Clusters, scenario: Scenario) -> np.ndarray:
    """The state at which the overlaps are these, a trace of q_1 added to Δ; not finite if there is
    none."""
    rho, (V, m, theta) = scenario.distribution.rho, overlaps[2:]
    x = np.asarray(coordinates_of(Overlaps(overlaps.q_0, V, m, theta), rho))
    wide = Overlaps(overlaps.spread + TRACE * overlaps.q_1, V, m, 0 * theta)
    return np.concatenate([x, np.asarray(coordinates_of(wide, rho))[_of_q(scenario)]])


def clusters_at(state: np.ndarray, scenario: Scenario) -> Clusters:
    """The overlaps at a state."""
    x, D = state[: len(_of_q(scenario))], _root(state, scenario)
    q_0, V, m, theta = overlaps_at(x, scenario.distribution.rho, scenario.student.rank)
    return Clusters(q_0, D @ np.swapaxes(D, 1, 2), V, m, theta)


def _root(state: np.ndarray, scenario: Scenario) -> np.ndarray:
    """D with Δ = D Dᵀ: its coordinates put in the place of q's."""
    of_q = _of_q(scenario)
    x = np.zeros(len(of_q))
    x[of_q] = state[len(of_q) :]
    return np.asarray(_factors(x, scenario.distribution.rho, scenario.student.rank).C)


def _of_q(scenario: Scenario) -> np.ndarray:
    """Which coordinates are q's."""
    return coordinate_layout(scenario.structure.shape).owner == 0


_factors = partial(jax.jit, static_argnums=2)(factors)
