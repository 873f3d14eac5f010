"""The plain iteration of state evolution: what message passing follows step by step, however far it
leads."""

from __future__ import annotations

from functools import lru_cache

import jax
import numpy as np

from ...inner.minima import InnerMinimum, as_minimum
from ...numerics.precision import in_double
from ...numerics.rules import Rule, Sobol
from ...overlaps.coordinates import to_coordinates
from ...overlaps.overlaps import Overlaps
from ...overlaps.symmetric import stabiliser
from ...scenario.arguments import checked
from ...scenario.attentions.symmetry import symmetries
from ...scenario.scenario import Scenario, Structure
from .evaluator import evaluator_of
from .half_steps import conjugates, input_step


@checked
@in_double
def iterate(
    scenario: Scenario,
    start: Overlaps,
    steps: int,
    rule: Rule | None = None,
    minimum: str | InnerMinimum = "lowest",
) -> list[Overlaps]:
    """The undamped iterates of the theory's map from given overlaps, the start first.

    **Arguments**: `scenario`; `start`, the overlaps to begin at; `steps`, how many; `rule` and
    `minimum` as in `solve`.

    **Returns**: a list of `Overlaps`, the start first.

    **Example**

        from dotphase.comparison.trajectories import NoisyStart

        iterate(dotphase.paper(), NoisyStart().overlaps(dotphase.paper()), steps=3)
    """
    group = symmetries(scenario)
    kept = stabiliser(group, start)
    evaluator = evaluator_of(scenario, rule or Sobol(2**14), group, kept, as_minimum(minimum))
    iterates = [start]
    for _ in range(steps):
        x = np.asarray(to_coordinates(iterates[-1], scenario.distribution.joint_rho))
        moments = evaluator(x, evaluator.search(x)).moments
        # From the moments, not from `change`: for the solver that has no part along the gauge
        # orbit.
        moved = _step(scenario.structure)(scenario.values, x, moments)
        iterates.append(Overlaps(*map(np.asarray, moved)))
    return iterates


@lru_cache(maxsize=64)
def _step(structure: Structure):
    return jax.jit(
        lambda values, x, moments: input_step(values, conjugates(structure, values, x, moments))[0]
    )
