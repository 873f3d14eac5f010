"""The state-evolution map of one scenario on one set of nodes, with the prox of every node remembered.

The nodes are fixed, so the map is a smooth deterministic function of the coordinates, and the minima found at the last
point are excellent starts at the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from ..compilation import on_device
from ..gaussian import Rule, Sobol
from ..scenario.scenario import Scenario
from ..scenario.symmetry import Symmetry
from ..threads import at_once
from .gauge import generators, tangents
from .nodes import BLOCK, ensemble
from .overlaps import distance, from_coordinates
from .state_evolution import (
    compiled_centres,
    compiled_evaluate,
    compiled_input,
    compiled_search,
)

RIVALS = BLOCK // 8
_compiled: set = set()  # what this process has compiled already
BLUR = 0.1  # of the median gap between a minimum and its rival


class Point(NamedTuple):
    """The map at coordinates x.

    - `change`: F(x) = map(x) − x in the invariant coordinates, (n,);  `slope`: ∂F/∂x, (n, n).
    - `observables`: ε_g, ε_t;  `observable_slope`: their derivatives, (n, 2).
    - `residual`: the undamped residual, in units of the overlaps, without its part along the gauge orbit.
    - `gauge`: orthonormal directions of that orbit, (k, n); `change` has no component along them.
    - `scatter`: F and the observables of each replicate minus the pooled ones, (replicates, n + 2).
    - `loss_scatter`: how the training loss of each replicate's own fixed point differs from the pooled one,
      (replicates,). The training loss is the stationary value of the free energy, so to first order it moves only with
      the average α E[E(z*)] itself and not with the overlaps.
    - `moments`: the pooled moments.
    """

    x: np.ndarray
    change: np.ndarray
    slope: np.ndarray
    observables: np.ndarray
    observable_slope: np.ndarray
    residual: float
    gauge: np.ndarray
    scatter: np.ndarray
    loss_scatter: np.ndarray
    moments: np.ndarray


class Evaluator:
    """Evaluates the map in the coordinates that `stabiliser`, a subgroup of the symmetries `group`, leaves alone."""

    def __init__(self, scenario: Scenario, rule: Rule, group: tuple[Symmetry, ...], stabiliser: tuple[Symmetry, ...]):
        self.structure = scenario.structure
        self.rule = rule
        self.rho = scenario.law.rho
        self.turns = generators(scenario)
        self.ensemble = ensemble(rule, group, stabiliser, self.structure.shape)
        self.basis = self.ensemble.basis
        # A few more directions than needed, all zero, so that branches of different symmetry share a compilation.
        missing = -len(self.basis) % 3
        directions = np.vstack([self.basis, np.zeros((missing, self.basis.shape[1]))])
        given = (scenario.values, np.asarray(scenario.student.spread), directions, rule.pool)
        self.values, self.spread, self.directions, self.pool = on_device(given)
        self.minima: list | None = None
        self.blur = 1e-30
        self.several = 0.0
        self.unsettled = 0.0
        self.evaluations = 0

    @property
    def has_parts(self) -> bool:
        return isinstance(self.rule, Sobol) and len(self.ensemble.blocks) > 1

    def part(self) -> Evaluator:
        """The same map on the first block of the nodes only: rougher, and cheaper by as much."""
        rough = copy(self)
        rough.ensemble = self.ensemble._replace(blocks=[self.ensemble.rough])
        return rough

    def search(self, x: np.ndarray, new_blur: bool = True) -> None:
        """Find the global minima at every node anew; `several` is then the share of nodes with more than one."""
        run = compiled_search(self.structure, RIVALS)

        def work(job):
            block, (z, _) = job
            found = run(self.values, self.spread, x, block, self.pool, z)
            return (found.z, found.rival_of), np.asarray(found.told)

        found = self._over_blocks("search", work, self._known(x))
        self.minima = [minima for minima, _ in found]
        told = np.array([told for _, told in found])
        self.several = float(told[:, -1].sum())
        gaps = told[:, :-1][np.isfinite(told[:, :-1])]
        if new_blur:
            self.blur = max(BLUR * float(np.median(gaps)), 1e-30) if len(gaps) else 1e-30

    def __call__(self, x: np.ndarray) -> Point:
        evaluate = compiled_evaluate(self.structure)

        def work(job):
            block, (z, rival_of) = job
            out = evaluate(self.values, x, self.directions, block, self.pool, z, rival_of, self.blur)
            return (out.z, rival_of), np.asarray(out.rows)

        found = self._over_blocks(f"evaluate {len(self.directions)}", work, self._known(x))
        self.minima = [minima for minima, _ in found]
        rows = np.sum([rows for _, rows in found], axis=0)
        self.unsettled = float(rows[-1, 0]) / len(found)
        self.evaluations += 1
        rows, count = rows[:-1] @ self.ensemble.average.T, len(self.rule.pool)
        return self._point(x, rows[:count], rows[count:])

    def _over_blocks(self, name: str, work: Callable, known: list) -> list:
        """`work` on every block and what is known of its minima; the very first alone, since it compiles."""
        jobs = list(zip(self.ensemble.blocks, known, strict=True))
        key = (self.structure, name, self.ensemble.blocks[0].weights.shape)
        first = [] if key in _compiled else [work(jobs[0])]
        _compiled.add(key)
        return [*first, *at_once(work, jobs[len(first) :])]

    def _point(self, x, moments, slopes) -> Point:
        rows = np.vstack([self.rule.pool @ moments, moments])
        run = compiled_input(self.structure)
        results = np.asarray(run(self.values, x, rows, self.directions, slopes))
        results, slopes, residual = results[: len(rows)], results[len(rows) : -1], results[-1, 0]
        count, B = len(self.basis), self.basis
        scatter = results[1:] - results[0]
        change, gauge = B @ (results[0, :-3] - x), np.zeros((0, count))
        if len(self.turns) and np.isfinite(change).all():
            gauge = tangents(x, self.rho, self.turns, B)
            change = change - gauge.T @ (gauge @ change)
            residual = _distance(x, x + B.T @ change, self.rho, self.structure.student.rank)
        return Point(
            x=x,
            change=change,
            slope=B @ slopes[:count, :-3].T - np.eye(count),
            observables=results[0, -3:-1],
            observable_slope=slopes[:count, -3:-1],
            residual=float(residual),
            gauge=gauge,
            scatter=np.hstack([scatter[:, :-3] @ B.T, scatter[:, -3:-1]]),
            loss_scatter=scatter[:, -1],
            moments=rows[0],
        )

    def _known(self, x: np.ndarray) -> list:
        if self.minima is None:
            centres = compiled_centres(self.structure, RIVALS)
            self.minima = [centres(self.values, x, block) for block in self.ensemble.blocks]
        return self.minima


@partial(jax.jit, static_argnums=3)
def _distance(x, y, rho, r_s: int):
    return distance(from_coordinates(x, rho, r_s), from_coordinates(y, rho, r_s), rho)
