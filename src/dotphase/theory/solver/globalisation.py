"""The way to a fixed point: from a named start or from nearby, on a given set of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...inner.minima import InnerMinimum
from ...numerics.rules import Rule, Sobol
from ...overlaps.coordinates import coordinates_of, overlaps_at
from ...overlaps.overlaps import Overlaps
from ...overlaps.symmetric import Group, stabiliser
from ...scenario.attentions.symmetry import symmetries
from ...scenario.scenario import Scenario
from ..state_evolution.evaluator import Evaluator, evaluator_of, finite
from .newton import Trail, fixed_point, slowly, step
from .starts import mechanism

COARSE = 2**13  # nodes on which a fixed point is first located
# residual from which a step of Newton's leads as close to a fixed point as few nodes can tell
IN_SIGHT = 0.15
WIDER = (0.5, 2.0, 8.0, 32.0)  # variance added to the fields of a start, in units of the teacher's
LARGER = (
    3.0,
    10.0,
    30.0,
    100.0,
)  # excess of a ridge to come down from, in units of the ridge asked for
LEAST_RIDGE = 1e-3  # or of this, if that is smaller
LAST = 0.1  # excess from which the ridge asked for is tried
DOWN, SHORTEST = (
    0.3,
    0.9,
)  # of the excess are kept in the first step down that is tried, and in the shortest
SHORT_STEPS = 5  # times the evaluations of another attempt
ATTEMPTS = (
    (1.0, 2.0),
    (1.0, 0.3),
    (4.0, 2.0),
    (0.2, 2.0),
    (30.0, 2.0),
)  # times the start's V, and the first δ


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
    scenario: Scenario,
    start: Overlaps,
    minimum: InnerMinimum,
    tolerance: float = 1e-8,
    most: int = 60,
) -> Task:
    """The task of finding the fixed point of a scenario that has the symmetries of a start."""
    group = symmetries(scenario)
    return Task(scenario, minimum, group, stabiliser(group, start), tolerance, most)


def levels(rule: Rule) -> list[Rule]:
    """The sets of nodes on the way to `rule`: a fixed point is first located on few."""
    if isinstance(rule, Sobol) and rule.count > COARSE:
        return [replace(rule, count=COARSE), rule]
    return [rule]


def from_nearby(
    task: Task, rule: Rule, x: np.ndarray, patient: bool = False
) -> tuple[Evaluator, Trail]:
    """The fixed point close to x, by Newton's method; if `patient`, in short steps."""
    evaluator = task.on(rule)
    if patient:
        return evaluator, slowly(evaluator, x, task.tolerance, SHORT_STEPS * task.most)
    return evaluator, fixed_point(evaluator, x, task.tolerance, task.most, near=True)


def from_start(task: Task, rule: Rule, overlaps: Overlaps) -> tuple[Evaluator, Trail]:
    """Iterate from a start; where that leads nowhere, with another response V, or more carefully;
    in the end by a way around, from a larger ridge, or in short steps."""
    evaluator = task.on(rule)
    trail = _attempted(task, evaluator, overlaps)
    for other in (_from_larger_ridge, _in_short_steps):
        if trail.converged:
            break
        end = other(task, evaluator, overlaps)
        spent = trail.evaluations + end.evaluations
        trail = (end if end.converged else trail)._replace(evaluations=spent)
    return evaluator, trail


def _attempted(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> Trail:
    trail, spent = _by_scout(task, evaluator, overlaps)
    for factor, delta in ATTEMPTS if trail is None else ():
        walk = partial(
            fixed_point, evaluator, tolerance=task.tolerance, most=task.most, delta=delta
        )
        trail = _where_defined(evaluator, overlaps._replace(V=factor * overlaps.V), walk)
        spent += trail.evaluations
        if trail.converged:
            break
    assert trail is not None
    return trail._replace(evaluations=spent)


def _where_defined(
    evaluator: Evaluator, overlaps: Overlaps, iterate: Callable[[np.ndarray], Trail]
) -> Trail:
    """`iterate` from a start, with as much noise in its fields as it takes for the map to be
    defined there.

    Where w has less room than the minima z* of its samples are apart, they follow it in jumps that
    are larger than its own moves, E[∂z*/∂w] > 1, and the response V̂ = αV⁻¹(1 − E[∂z*/∂w]) is
    negative. Wider fields have E[∂z*/∂w] < 1.
    """
    rho, rank = evaluator.rho, evaluator.structure.student.rank
    rooms = np.trace(rho, axis1=-2, axis2=-1)
    # Noise in the weights is felt by all tokens: by correlated ones as they are correlated.
    room = (rooms[..., None, None] if evaluator.structure.joint else float(rooms.mean())) * np.eye(
        rank
    )
    from_noise = lambda noise: iterate(
        np.asarray(coordinates_of(overlaps._replace(q=overlaps.q + noise * room), rho))
    )
    trail = from_noise(0.0)
    for noise in WIDER:
        if finite(trail.point):
            break
        wider = from_noise(noise)
        trail = wider._replace(evaluations=trail.evaluations + wider.evaluations)
    return trail


def _by_scout(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> tuple[Trail | None, int]:
    """A fixed point located on the first block of the nodes, then on all of them.

    The result is None if that fails, or if the mechanism found is not that of the start: few nodes
    can lose a weak signal. The second value is the number of evaluations.
    """
    if not evaluator.has_parts:
        return None, 0
    scout = evaluator.part()
    walk = partial(fixed_point, scout, tolerance=IN_SIGHT, most=task.most // 3, delta=5.0)
    way = _where_defined(scout, overlaps, walk)
    if not way.converged:
        return None, way.evaluations
    there = way.point.x + step(scout, way.point, np.inf)
    trail = fixed_point(evaluator, there, task.tolerance, task.most // 3, near=True)
    rho, rank = task.scenario.law.joint_rho, task.scenario.student.rank
    kind = lambda overlaps: mechanism(overlaps, rho)
    same = trail.converged and kind(overlaps_at(trail.point.x, rho, rank)) == kind(overlaps)
    return trail if same else None, way.evaluations + trail.evaluations


def _from_larger_ridge(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> Trail:
    """The fixed point of a larger ridge, where the response is positive, followed down to the ridge
    asked for."""
    ridge, spent = task.scenario.ridge, 0
    at = lambda excess: evaluator.with_values(
        task.scenario.vary(ridge=ridge + max(ridge, LEAST_RIDGE) * excess)
    )
    excess, trail = 0.0, None
    for excess in LARGER:
        walk = partial(fixed_point, at(excess), tolerance=task.tolerance, most=task.most)
        trail = _where_defined(at(excess), overlaps, walk)
        spent += trail.evaluations
        if trail.converged:
            break
    assert trail is not None
    kept = DOWN
    while trail.converged and excess > 0:
        lower = 0.0 if excess <= LAST and kept == DOWN else kept * excess
        there = fixed_point(at(lower), trail.point.x, task.tolerance, task.most // 3, near=True)
        spent += there.evaluations
        if there.converged:
            trail, excess, kept = there, lower, DOWN
        elif kept > SHORTEST:
            return there._replace(evaluations=spent)
        else:
            kept = 0.5 * (1 + kept)
    return trail._replace(evaluations=spent)


def _in_short_steps(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> Trail:
    walk = lambda x: slowly(evaluator, x, task.tolerance, SHORT_STEPS * task.most)
    return _where_defined(evaluator, overlaps, walk)
