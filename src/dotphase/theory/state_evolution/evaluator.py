"""The state-evolution map of one scenario on one set of nodes.

The nodes are fixed, so with their inner minima in hand the map is a smooth deterministic function
of the coordinates, and the minima found at one point are excellent starts at the next one. The
evaluator holds no state: minima are handed in, and come back with every point, followed to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from ...inner.minima import InnerMinimum, Lowest, Reached
from ...inner.minimiser import APART
from ...numerics.compilation import on_device
from ...numerics.kept_programs import kept
from ...numerics.rules import Rule, Sobol
from ...numerics.threads import at_once
from ...overlaps.coordinates import distance, from_coordinates
from ...overlaps.gauge import generators, tangents
from ...overlaps.symmetric import Group
from ...scenario.scenario import Scenario, Structure
from .averages import BlockMinima
from .half_steps import (
    Image,
    compiled_evaluate,
    compiled_first,
    compiled_input,
    compiled_lowest,
    compiled_reached,
)
from .nodes import BLOCK, Ensemble, ensemble

RIVALS = BLOCK // 8
_compiled: set = set()  # what this process has compiled already
NO_BLUR = 1e-30


class NodeMinima(NamedTuple):
    """The inner minima of all nodes, block by block.

    - `blur`: the energy over which a rival takes over.
    - `several`: the share of nodes with more than one minimum, and `higher`: that of nodes in
      another one than the lowest, as far as a search has told.
    - `unsettled`: the share of nodes whose last descent did not come to rest.
    """

    blocks: list[BlockMinima]
    blur: float = NO_BLUR
    several: float = 0.0
    higher: float = 0.0
    unsettled: float = 0.0


class Point(NamedTuple):
    """The map at coordinates x, with the inner minima there.

    - `change`: F(x) = map(x) − x in the invariant coordinates, (n,);  `slope`: ∂F/∂x, (n, n).
    - `observables`: ε_g, ε_t, (2,);  `observable_slope`: their derivatives, (n, 2).
    - `residual`: the undamped residual, in units of the overlaps, without its part along the gauge
      orbit.
    - `gauge`: orthonormal directions of that orbit, (k, n); `change` has no component along them.
    - `scatter`, `observable_scatter`: F and the observables of each replicate minus the pooled
      ones, (replicates, n) and (replicates, 2);  `energy_scatter`: the same of α E[E(z*)],
      (replicates,).
    - `moments`: the pooled moments, flattened.
    """

    x: np.ndarray
    minima: NodeMinima
    change: np.ndarray
    slope: np.ndarray
    observables: np.ndarray
    observable_slope: np.ndarray
    residual: float
    gauge: np.ndarray
    scatter: np.ndarray
    observable_scatter: np.ndarray
    energy_scatter: np.ndarray
    moments: np.ndarray


@dataclass(frozen=True, eq=False)
class Evaluator:
    """The map in the coordinates that the symmetries of `ensemble` leave alone.

    - `rule`, `ensemble`: the nodes;  `minimum`: which inner minimum is taken.
    - `values`: the scenario's numbers;  `directions`: the basis of the invariant coordinates, and a
      few more.
    - `rho`: ρ_l, or ρ_ll';  `turns`: generators of the gauge.
    """

    structure: Structure
    minimum: InnerMinimum
    rule: Rule
    ensemble: Ensemble
    values: Any
    spread: Any
    directions: Any
    rho: np.ndarray
    turns: np.ndarray

    @property
    def basis(self) -> np.ndarray:
        return self.ensemble.basis

    @property
    def has_parts(self) -> bool:
        return isinstance(self.rule, Sobol) and len(self.ensemble.blocks) > 1

    def part(self) -> Evaluator:
        """The same map on the first block of the nodes only: rougher, and cheaper by as much."""
        return replace(self, ensemble=self.ensemble._replace(blocks=[self.ensemble.rough]))

    def with_values(self, scenario: Scenario) -> Evaluator:
        """The map of another scenario of the same structure, on the same nodes."""
        return replace(self, values=on_device(scenario.values))

    def first_minima(self, x: np.ndarray) -> NodeMinima:
        """Where descents at x may begin when nothing is known: the fields themselves, or, where the
        reached minima are meant, their signal part, in whose basins those are."""
        first = compiled_first(self.structure, RIVALS, isinstance(self.minimum, Reached))
        return NodeMinima([first(self.values, x, block) for block in self.ensemble.blocks])

    def search(
        self, x: np.ndarray, known: NodeMinima | None = None, new_blur: bool = True
    ) -> NodeMinima:
        """The inner minima at x, found anew at every node."""
        if isinstance(self.minimum, Reached):
            return self._reached(x, self.minimum)
        return self.lowest(x, known, new_blur)

    def lowest(
        self, x: np.ndarray, known: NodeMinima | None = None, new_blur: bool = True
    ) -> NodeMinima:
        """The lowest minima at x, with their closest rivals."""
        self._prepare(x)
        known = known or self.first_minima(x)
        run = compiled_lowest(self.structure, RIVALS)
        work = lambda block, minima: _fetched(run(self.values, self.spread, x, block, minima))
        found = self._over_blocks(work, known.blocks)
        several = float(sum(block.several for block in found))
        gaps = np.concatenate([block.gap[np.isfinite(block.gap)] for block in found])
        blur = known.blur
        if new_blur:
            blur = max(self._blur * float(np.median(gaps)), NO_BLUR) if len(gaps) else NO_BLUR
        return NodeMinima([block.minima for block in found], blur, several)

    def apart(self, one: NodeMinima, other: NodeMinima) -> float:
        """The share of nodes that are in different minima."""
        share = 0.0
        for block, here, there in zip(self.ensemble.blocks, one.blocks, other.blocks, strict=True):
            gap = np.abs(np.asarray(here.z - there.z)[..., : block.xi.shape[-1]]).max((0, 1))
            share += float(np.asarray(block.pooled) @ (gap > APART))
        return share

    def _reached(self, x: np.ndarray, method: Reached) -> NodeMinima:
        self._prepare(x)
        run = compiled_reached(self.structure, RIVALS, method)
        work = lambda block, _: jax.block_until_ready(run(self.values, x, block))
        return NodeMinima(self._over_blocks(work, [None] * len(self.ensemble.blocks)))

    @property
    def _blur(self) -> float:
        """In units of the median gap between a minimum and its rival. On more nodes it is narrower,
        so that its bias falls as one over their number (see `averages.rival_share`)."""
        nodes = self.rule.count if isinstance(self.rule, Sobol) else 0
        return 0.1 * max(nodes / 2**13, 1) ** -0.25

    def __call__(self, x: np.ndarray, minima: NodeMinima | None = None) -> Point:
        """The map at x, the given inner minima followed there."""
        self._prepare(x)
        minima = minima or self.first_minima(x)
        evaluate, blur = compiled_evaluate(self.structure), minima.blur
        work = lambda block, known: _fetched(
            evaluate(self.values, x, self.directions, block, known, blur)
        )
        found = self._over_blocks(work, minima.blocks)
        followed, *parts = zip(*found, strict=True)
        moments, slopes, unsettled = (np.sum(part, axis=0) for part in parts)
        minima = minima._replace(blocks=list(followed), unsettled=float(unsettled) / len(found))
        return self._point(
            x, minima, moments @ self.ensemble.average.T, slopes @ self.ensemble.average.T
        )

    def _over_blocks(self, work: Callable, known: list) -> list:
        """`work` on every block and what is known of its minima."""
        return at_once(lambda job: work(*job), list(zip(self.ensemble.blocks, known, strict=True)))

    def _prepare(self, x: np.ndarray) -> None:
        """Compile what this map needs, all at once, by a first call of each program, on one block."""
        block = self.ensemble.blocks[0]
        key = (self.structure, self.minimum, len(self.directions), block.weights.shape)
        if key in _compiled:
            return
        _compiled.add(key)
        known = self.first_minima(x).blocks[0]
        rows, slopes = (
            np.ones((count, len(self.ensemble.average))) for count in (len(self.rule.pool) + 1, 1)
        )
        programs: list[Callable] = [
            lambda: compiled_evaluate(self.structure)(
                self.values, x, self.directions, block, known, NO_BLUR
            ),
            lambda: self.images(x, rows, np.repeat(slopes, len(self.directions), axis=0)),
        ]
        if isinstance(self.minimum, Reached):
            reached = compiled_reached(self.structure, RIVALS, self.minimum)
            programs.insert(0, lambda: reached(self.values, x, block))
        else:
            lowest = compiled_lowest(self.structure, RIVALS)
            programs.insert(0, lambda: lowest(self.values, self.spread, x, block, known))
        at_once(lambda program: jax.block_until_ready(program()), programs)

    def _point(
        self, x: np.ndarray, minima: NodeMinima, moments: np.ndarray, slopes: np.ndarray
    ) -> Point:
        rows = np.vstack([self.rule.pool @ moments, moments])
        image, apart, pushed, residual = self.images(x, rows, slopes)
        count, B = len(self.basis), self.basis
        change, gauge = B @ (image.coordinates - x), np.zeros((0, count))
        if len(self.turns) and np.isfinite(change).all():
            gauge = tangents(x, self.rho, self.turns, B)
            change = change - gauge.T @ (gauge @ change)
            residual = _compiled_distance(self.structure.student.rank)(
                x, x + B.T @ change, self.rho
            )
        return Point(
            x=x,
            minima=minima,
            change=change,
            slope=B @ pushed.coordinates[:count].T - np.eye(count),
            observables=np.array([image.test_error, image.train_loss]),
            observable_slope=np.column_stack([pushed.test_error, pushed.train_loss])[:count],
            residual=float(residual),
            gauge=gauge,
            scatter=apart.coordinates @ B.T,
            observable_scatter=np.column_stack([apart.test_error, apart.train_loss]),
            energy_scatter=apart.energy,
            moments=rows[0],
        )

    def images(
        self, x: np.ndarray, rows: np.ndarray, slopes: np.ndarray, directions: Any = None
    ) -> tuple[Image, Image, Image, float]:
        """What the input half-step makes of moments `rows` at x, the pooled ones first, of how the
        others differ from them, and of their `slopes`."""
        directions = self.directions if directions is None else directions
        return jax.device_get(
            compiled_input(self.structure)(self.values, x, rows, directions, slopes)
        )


def evaluator_of(
    scenario: Scenario, rule: Rule, group: Group, kept: Group, minimum: InnerMinimum | None = None
) -> Evaluator:
    """The map of a scenario with symmetries `group`, in the coordinates that `kept`, a subgroup,
    leaves alone."""
    structure = scenario.structure
    nodes = ensemble(rule, group, kept, structure.shape, scenario.tokens.scales)
    # A few more directions than needed, all zero, so that branches of different symmetry share a
    # compilation.
    missing = -len(nodes.basis) % 3
    directions = np.vstack([nodes.basis, np.zeros((missing, nodes.basis.shape[1]))])
    values, spread, directions = on_device(
        (scenario.values, np.asarray(scenario.student.spread), directions)
    )
    turns = generators(scenario)
    rho = scenario.distribution.joint_rho
    return Evaluator(
        structure, minimum or Lowest(), rule, nodes, values, spread, directions, rho, turns
    )


def finite(point: Point) -> bool:
    """Whether the map is defined at a point."""
    return bool(
        np.isfinite(point.change).all()
        and np.isfinite(point.slope).all()
        and np.isfinite(point.residual)
    )


def _fetched(result: Any) -> Any:
    """A result of a block with all but its minima as numpy arrays: those are handed back to the
    device."""
    return type(result)(result.minima, *map(np.asarray, result[1:]))


@lru_cache(maxsize=16)
def _compiled_distance(r_s: int):
    def run(x, y, rho):
        return distance(from_coordinates(x, rho, r_s), from_coordinates(y, rho, r_s), rho)

    return kept(run, r_s, small=True)
