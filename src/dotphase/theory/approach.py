"""The way to a fixed point: from a named start or from nearby, on a given set of nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import numpy as np

from ..gaussian import Rule, Sobol
from ..inner import InnerMinimum
from ..overlaps import Overlaps, from_coordinates, to_coordinates
from ..overlaps.symmetric import Group, stabiliser
from ..scenario.scenario import Scenario
from ..scenario.symmetry import symmetries
from .evaluator import Evaluator, evaluator_of
from .fixed_points import Trail, fixed_point, step
from .starts import mechanism

COARSE = 2**13  # nodes on which a fixed point is first located
IN_SIGHT = 0.15  # residual from which a step of Newton's leads as close to a fixed point as few nodes can tell
ATTEMPTS = ((1.0, 2.0), (1.0, 0.3), (4.0, 2.0), (0.2, 2.0), (30.0, 2.0))  # times the start's V, and the first δ


@dataclass(frozen=True)
class Task:
    """What is to be solved, and how: all that does not change while the nodes are refined.

    - `group`, `kept`: the scenario's symmetries, and those of the start, which the answer keeps.
    - `tolerance`: on the undamped residual; `most`: evaluations of the map in one attempt.
    """

    scenario: Scenario
    minimum: InnerMinimum
    group: Group
    kept: Group
    tolerance: float
    most: int

    def on(self, rule: Rule) -> Evaluator:
        return evaluator_of(self.scenario, rule, self.group, self.kept, self.minimum)


def task_of(
    scenario: Scenario, start: Overlaps, minimum: InnerMinimum, tolerance: float = 1e-8, most: int = 60
) -> Task:
    """The task of finding the fixed point of a scenario that has the symmetries of a start."""
    group = symmetries(scenario)
    return Task(scenario, minimum, group, stabiliser(group, start), tolerance, most)


def levels(rule: Rule) -> list[Rule]:
    """The sets of nodes on the way to `rule`: a fixed point is first located on few."""
    if isinstance(rule, Sobol) and rule.count > COARSE:
        return [replace(rule, count=COARSE), rule]
    return [rule]


def from_nearby(task: Task, rule: Rule, x: np.ndarray) -> tuple[Evaluator, Trail]:
    """The fixed point close to x, by Newton's method."""
    evaluator = task.on(rule)
    return evaluator, fixed_point(evaluator, x, task.tolerance, task.most, near=True)


def from_start(task: Task, rule: Rule, overlaps: Overlaps) -> tuple[Evaluator, Trail]:
    """Iterate from a start; where that leads nowhere, with another response V, or more carefully."""
    evaluator, rho = task.on(rule), task.scenario.law.joint_rho
    trail, spent = _by_scout(task, evaluator, np.asarray(coordinates_of(overlaps, rho)))
    for factor, delta in ATTEMPTS if trail is None else ():
        x = np.asarray(coordinates_of(overlaps._replace(V=factor * overlaps.V), rho))
        trail = fixed_point(evaluator, x, task.tolerance, task.most, delta=delta)
        spent += trail.evaluations
        if trail.converged:
            break
    assert trail is not None
    return evaluator, trail._replace(evaluations=spent)


def _by_scout(task: Task, evaluator: Evaluator, x: np.ndarray) -> tuple[Trail | None, int]:
    """Few nodes show the way to a fixed point as well as many. Should it be of another kind than the start, that may be
    for their fewness: then there is no trail. Also tells how many evaluations this took."""
    if not evaluator.has_parts:
        return None, 0
    scout = evaluator.part()
    way = fixed_point(scout, x, IN_SIGHT, task.most // 3, delta=5.0)
    if not way.converged:
        return None, way.evaluations
    there = way.point.x + step(scout, way.point, np.inf)
    trail = fixed_point(evaluator, there, task.tolerance, task.most // 3, near=True)
    rho, rank = task.scenario.law.joint_rho, task.scenario.student.rank
    kind = lambda place: mechanism(overlaps_at(place, rho, rank), rho)
    same = trail.converged and kind(trail.point.x) == kind(x)
    return trail if same else None, way.evaluations + trail.evaluations


coordinates_of = jax.jit(to_coordinates)
_overlaps = jax.jit(from_coordinates, static_argnums=2)


def overlaps_at(x: np.ndarray, rho: np.ndarray, rank: int) -> Overlaps:
    """The overlaps at coordinates x, as numpy arrays."""
    return Overlaps(*map(np.asarray, _overlaps(x, rho, rank)))
