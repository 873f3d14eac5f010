"""The way to a fixed point: from a named start or from nearby, on a given set of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...inner.minima import InnerMinimum
from ...numerics.rules import Rule, Sobol
from ...overlaps.coordinates import coordinates_of, overlaps_at
from ...overlaps.overlaps import Overlaps
from ...overlaps.symmetric import Group, stabiliser
from ...scenario.attentions.symmetry import symmetries
from ...scenario.scenario import Scenario
from ..state_evolution.evaluator import Evaluator, evaluator_of, finite
from .newton import fixed_point, small_steps, step
from .options import SolverOptions
from .starts import mechanism
from .trail import Trail


@dataclass(frozen=True)
class Task:
    """What is to be solved, and how: all that does not change while the nodes are refined.

    - `group`, `kept`: the scenario's symmetries, and those of the start, which the answer keeps.
    - `options`: of the solver.
    - `expected`: a mechanism that few nodes may find instead of the start's own, because the branch
      has been lost at a neighbour already.
    """

    scenario: Scenario
    minimum: InnerMinimum
    group: Group
    kept: Group
    options: SolverOptions
    expected: str | None = None

    def on(self, rule: Rule) -> Evaluator:
        return evaluator_of(self.scenario, rule, self.group, self.kept, self.minimum)


def task_of(
    scenario: Scenario,
    start: Overlaps,
    minimum: InnerMinimum,
    options: SolverOptions,
) -> Task:
    """The task of finding the fixed point of a scenario that has the symmetries of a start."""
    group = symmetries(scenario)
    return Task(scenario, minimum, group, stabiliser(group, start), options)


def levels(rule: Rule, coarse: int) -> list[Rule]:
    """The sets of nodes on the way to `rule`: a fixed point is first located on few."""
    if isinstance(rule, Sobol) and rule.count > coarse:
        return [replace(rule, count=coarse), rule]
    return [rule]


def from_nearby(
    task: Task, rule: Rule, x: np.ndarray, patient: bool = False
) -> tuple[Evaluator, Trail]:
    """The fixed point close to x, by Newton's method; if `patient`, in short steps."""
    evaluator = task.on(rule)
    if patient:
        return evaluator, small_steps(evaluator, x, task.options)
    return evaluator, fixed_point(evaluator, x, task.options, near=True)


def from_start(task: Task, rule: Rule, overlaps: Overlaps) -> tuple[Evaluator, Trail]:
    """The fixed point that a start leads to: by iteration, else from a larger ridge, else in small
    steps along the flow; `max_evaluations` bounds all of it."""
    evaluator, spent = task.on(rule), 0
    trail = None
    for way in (_iterated, _from_larger_ridge, _in_small_steps):
        left = task.options.max_evaluations - spent
        if left < 1 or (trail is not None and trail.converged):
            break
        end = way(
            replace(task, options=replace(task.options, max_evaluations=left)), evaluator, overlaps
        )
        spent += end.evaluations
        trail = end if trail is None or end.converged else trail
    assert trail is not None
    return evaluator, trail._replace(evaluations=spent)


def _iterated(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> Trail:
    """The iteration from the start: on few nodes first, then with other responses V and first δ."""
    trail, spent = _by_first_block(task, evaluator, overlaps)
    for factor, delta in () if trail else task.options.first_responses:
        options = _left(task.options, spent)
        walk = partial(fixed_point, evaluator, options=options, delta=delta)
        start = overlaps._replace(V=factor * overlaps.V)
        trail = _where_defined(evaluator, start, walk, options)
        spent += trail.evaluations
        if trail.converged or spent >= task.options.max_evaluations:
            break
    assert trail is not None
    return trail._replace(evaluations=spent)


def _left(options: SolverOptions, spent: int, **changes: Any) -> SolverOptions:
    """The options with what is left of the evaluations."""
    return replace(options, max_evaluations=max(options.max_evaluations - spent, 1), **changes)


def _where_defined(
    evaluator: Evaluator,
    overlaps: Overlaps,
    iterate: Callable[[np.ndarray], Trail],
    options: SolverOptions,
) -> Trail:
    """`iterate` from a start, with as much noise added to its fields as the map needs to be defined.

    If the fields w vary less than the distance between two minima z* of a sample, z* jumps farther
    than w moves: E[∂z*/∂w] > 1, and the response V̂ = αV⁻¹(1 − E[∂z*/∂w]) is negative. For wider
    fields E[∂z*/∂w] < 1.
    """
    rho, rank = evaluator.rho, evaluator.structure.student.rank
    rooms = np.trace(rho, axis1=-2, axis2=-1)
    # Noise in the weights is noise in the fields of all tokens, correlated as the tokens are.
    scale = rooms[..., None, None] if evaluator.structure.joint else float(rooms.mean())
    room = scale * np.eye(rank)

    def from_noise(noise: float) -> Trail:
        wider = overlaps._replace(q=overlaps.q + noise * room)
        return iterate(np.asarray(coordinates_of(wider, rho)))

    trail = from_noise(0.0)
    for noise in options.added_noise:
        if finite(trail.point) or trail.evaluations >= options.max_evaluations:
            break
        wider = from_noise(noise)
        trail = wider._replace(evaluations=trail.evaluations + wider.evaluations)
    return trail


def _by_first_block(
    task: Task, evaluator: Evaluator, overlaps: Overlaps
) -> tuple[Trail | None, int]:
    """A fixed point located on the first block of the nodes, then on all of them.

    The result is None if that fails, or if the mechanism found is neither that of the start nor the
    one expected: few nodes can lose a weak signal. The second value is the number of evaluations.
    """
    if not evaluator.has_parts or task.options.max_evaluations == 1:
        return None, 0
    rough, few = evaluator.part(), max(task.options.attempt // 3, 1)
    options = _left(task.options, 1, tolerance=task.options.in_sight, attempt=few)
    walk = partial(fixed_point, rough, options=options, delta=5.0)
    way = _where_defined(rough, overlaps, walk, options)
    if not way.converged or way.evaluations >= options.max_evaluations:
        return None, way.evaluations
    there = way.point.x + step(rough, way.point, np.inf, task.options)
    options = _left(task.options, way.evaluations, attempt=few)
    trail = fixed_point(evaluator, there, options, near=True)
    rho, rank = task.scenario.distribution.joint_rho, task.scenario.student.rank
    found = mechanism(overlaps_at(trail.point.x, rho, rank), rho)
    right = trail.converged and found in (mechanism(overlaps, rho), task.expected)
    return trail if right else None, way.evaluations + trail.evaluations


def _from_larger_ridge(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> Trail:
    """The fixed point of a larger ridge, where the response is positive, followed down to the ridge
    asked for."""
    options, ridge, spent = task.options, task.scenario.ridge, 0

    def at(excess: float) -> Evaluator:
        larger = ridge + max(ridge, options.least_ridge) * excess
        return evaluator.with_values(task.scenario.vary(ridge=larger))

    excess, trail = 0.0, None
    for excess in options.ridges:
        left = _left(options, spent)
        walk = partial(fixed_point, at(excess), options=left)
        trail = _where_defined(at(excess), overlaps, walk, left)
        spent += trail.evaluations
        if trail.converged or spent >= options.max_evaluations:
            break
    assert trail is not None
    kept, few = options.kept_excess, max(options.attempt // 3, 1)
    while trail.converged and excess > 0:
        last = excess <= options.last_excess and kept == options.kept_excess
        lower = 0.0 if last else kept * excess
        left = _left(options, spent, attempt=few)
        there = fixed_point(at(lower), trail.point.x, left, near=True)
        spent += there.evaluations
        if there.converged:
            trail, excess, kept = there, lower, options.kept_excess
        elif kept > options.most_kept or spent >= options.max_evaluations:
            return there._replace(evaluations=spent)
        else:
            kept = 0.5 * (1 + kept)
    return trail._replace(evaluations=spent)


def _in_small_steps(task: Task, evaluator: Evaluator, overlaps: Overlaps) -> Trail:
    walk = partial(small_steps, evaluator, options=task.options)
    return _where_defined(evaluator, overlaps, walk, task.options)
