"""The map around a fixed point: what stability, transitions and sensitivities are all read off
from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...inner.minima import as_minimum
from ...numerics.precision import in_double
from ...numerics.rules import Rule
from ...overlaps.coordinates import coordinates_of
from ...overlaps.symmetric import Group, stabiliser
from ...scenario.attentions.symmetry import symmetries
from ..solver.errors import Deviations, deviations
from ..solver.newton import fixed_point
from ..solver.options import SolverOptions
from ..solver.solution import Solution, SolveError
from ..state_evolution.evaluator import Evaluator, Point, evaluator_of


class Linearised(NamedTuple):
    """A fixed point x of x ↦ map(x), with F(x) = map(x) − x and J = ∂F/∂x there.

    - `evaluator`: the map on its nodes; `point`: F, J, the observables and the inner minima at x.
    - `kept`: the symmetries of the coordinates J is written in.
    - `deviations`: how far each replicate's own fixed point, and its ε_g and ε_t, lie from the
      pooled ones.
    """

    solution: Solution
    evaluator: Evaluator
    point: Point
    kept: Group
    deviations: Deviations


@in_double
def linearise(
    solution: Solution,
    rule: Rule | None = None,
    every_direction: bool = False,
) -> Linearised:
    """The map around a solution, in the coordinates its symmetries leave alone, or in all of them.

    **Arguments**

    - `rule`: nodes; the solution's own unless given. On others the fixed point is first found
      again, by Newton's steps.
    - `every_direction`: also the directions that break a symmetry of the solution: does a small θ
      grow where θ = 0?
    """
    options = SolverOptions(attempt=30)
    nearly = 100 * options.tolerance  # within which a fixed point may be linearised
    scenario = solution.scenario
    if solution.outcome == "stalled":
        raise SolveError(
            f"{solution.branch}: there is no fixed point to linearise around: {solution.reason}"
        )
    group = symmetries(scenario)
    kept = group[:1] if every_direction else stabiliser(group, solution.state)
    evaluator = evaluator_of(
        scenario, rule or solution.rule, group, kept, as_minimum(solution.minimum)
    )
    x = np.asarray(coordinates_of(solution.state, scenario.distribution.joint_rho))
    if rule in (None, solution.rule):
        point = evaluator(x, evaluator.search(x)._replace(blur=solution.blur))
        if point.residual <= nearly:
            return around(solution, evaluator, point, kept)
    trail = fixed_point(evaluator, x, options, near=True)
    # Where two minima of a node have equal energy, each search may choose the other one, and the
    # residual stays above the tolerance. A small residual is enough here: derivatives need less
    # accuracy than a solution.
    if not (trail.converged or trail.point.residual <= nearly):
        raise SolveError(
            f"{solution.branch}: the fixed point is lost on these nodes: {trail.reason}"
        )
    return around(solution, evaluator, trail.point, kept)


def around(solution: Solution, evaluator: Evaluator, point: Point, kept: Group) -> Linearised:
    """The map around a fixed point that an evaluator has just reached."""
    return Linearised(solution, evaluator, point, kept, deviations(evaluator, point))
