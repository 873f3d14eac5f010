"""Single samples of a solution: their fields, and the minima of their inner problems, lowest and
reached."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

from ...inner.loss import Problem, applied, energy, energy_and_gradient, scaled
from ...inner.minima import Reached
from ...inner.minimiser import APART
from ...numerics.precision import in_double
from ...overlaps.coordinates import coordinates_of
from ...overlaps.symmetric import stabiliser
from ...scenario.attentions.symmetry import symmetries
from ...scenario.scenario import Structure
from ..solver.solution import Solution
from ..state_evolution.evaluator import evaluator_of
from ..state_evolution.half_steps import fields, signal


class Samples(NamedTuple):
    """Some nodes of a solution as samples, on the last axis.

    - `w`: fields, `start`: their signal part E[w | u], `lowest`, `reached`: minima, (L, r_s, N);
      `u`: (L, r_t, N).
    - `response`: V, (L, r_s, r_s), or (1, D, D) of all tokens;  `problem`: their inner problems.
    """

    structure: Structure
    w: np.ndarray
    u: np.ndarray
    start: np.ndarray
    lowest: np.ndarray
    reached: np.ndarray
    response: np.ndarray
    problem: Problem

    @property
    def higher(self) -> np.ndarray:
        """Which of them training leaves in another minimum than the lowest, (N,)."""
        return np.abs(self.reached - self.lowest).max((0, 1)) > APART

    def only(self, chosen: np.ndarray) -> Samples:
        """Some of them."""
        parts = {
            name: getattr(self, name)[..., chosen]
            for name in ("w", "u", "start", "lowest", "reached")
        }
        return self._replace(**parts, problem=self.problem.only(chosen))

    @in_double
    def energy(self, z: np.ndarray) -> np.ndarray:
        """E(z) of one sample at many places z, (L, r_s, M)."""
        problem = self.problem.only(np.zeros(z.shape[-1], int))
        return np.asarray(energy(self.structure.student, problem, z))

    @in_double
    def path(self, step: float = 0.05, steps: int = 400) -> np.ndarray:
        """The flow ż = −V ∇E of every sample from its signal, (steps + 1, L, r_s, N)."""
        move = jax.jit(lambda z: self._moved(z, step))
        places = [self.start]
        for _ in range(steps):
            places.append(np.asarray(move(places[-1])))
        return np.array(places)

    def _moved(self, z, step: float):
        _, gradient = energy_and_gradient(self.structure.student, self.problem, z)
        return z - step * scaled(
            applied(self.response, scaled(gradient, self.problem.scale)), self.problem.scale
        )


@in_double
def samples(solution: Solution) -> Samples:
    """The nodes of a solution as samples, with both minima of each."""
    scenario = solution.scenario
    group = symmetries(scenario)
    evaluator = evaluator_of(
        scenario, solution.rule, group, stabiliser(group, solution.state), Reached()
    )
    structure, values = evaluator.structure, evaluator.values
    x = np.asarray(coordinates_of(solution.state, scenario.distribution.joint_rho))
    at = [fields(structure, values, x, block) for block in evaluator.ensemble.blocks]
    starts, responses = zip(*(signal(structure, values, x, each) for each in at), strict=True)
    count = at[0].u.shape[-1]
    minima = lambda found: _joined([block.z[..., :count] for block in found.blocks])
    target, w = (
        _joined([each.problem.target for each in at]),
        _joined([each.problem.centre for each in at]),
    )
    scale = _joined([each.problem.scale for each in at]) if structure.scaled else None
    return Samples(
        structure=structure,
        w=w,
        u=_joined([each.u for each in at]),
        start=_joined(starts),
        lowest=minima(evaluator.lowest(x)),
        reached=minima(evaluator.search(x)),
        response=np.asarray(responses[0]),
        problem=at[0].problem._replace(target=target, centre=w, scale=scale),
    )


def _joined(parts) -> np.ndarray:
    return np.concatenate([np.asarray(part) for part in parts], axis=-1)
