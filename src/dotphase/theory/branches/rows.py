"""Rows: branches at the points of a line through the space of scenarios, each followed from one to
the next."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...inner.minima import as_minimum
from ...numerics.precision import in_double
from ...numerics.rules import Sobol
from ...overlaps.coordinates import coordinates_of
from ...scenario.scenario import Scenario
from ..solver.assemble import assemble
from ..solver.globalisation import from_nearby, from_start, task_of
from ..solver.options import SolverOptions
from ..solver.solution import USABLE, Solution, SolveError
from ..solver.solve import Minimum, Start, solve
from ..solver.starts import start as named_start
from ..stability.breaking import Breaking
from ..stability.linearised import Linearised, linearise
from ..stability.linearised import around as map_around
from ..stability.spectra import spectra
from ..stability.stability import breaking
from .phases import margin_between
from .search import is_saddle

# A neighbour is a good start: if few evaluations do not converge, the named start is tried.
FROM_NEIGHBOUR = SolverOptions(attempt=12)


class Found(NamedTuple):
    """A solution, the map around it if there is a fixed point, and the start that led there."""

    solution: Solution
    line: Linearised | None
    start: Start

    @property
    def doubtful(self) -> bool:
        """Whether to solve again on more nodes: a solve of many evaluations has blurred the jumps of
        the prox too much, or has lost a weak signal."""
        struggle = 40  # evaluations
        return self.line is None or self.solution.evaluations > struggle


def solve_row(
    places: Sequence[Scenario], branches: Sequence[str], rule: Sobol, minimum: Minimum = None
) -> list[list[Found]]:
    """Branches along a row of scenarios, in the order of `places`: per place the branches.

    Each branch is followed away from where it is sure to exist: the semantic one from the last
    place (many samples), the others from the first. A place at which one of them is doubtful is
    solved again on four times the nodes.
    """
    columns = []
    for branch in branches:
        forwards = branch != "semantic"
        found = _followed(places if forwards else places[::-1], branch, rule, minimum)
        columns.append(found if forwards else found[::-1])
    row = []
    for place, *several in zip(places, *columns, strict=True):
        if any(found.doubtful for found in several):
            finer = replace(rule, count=4 * rule.count)
            several = [
                solve_afresh(place, found.start, finer, minimum=minimum) for found in several
            ]
        row.append(several)
    return row


def solve_afresh(
    scenario: Scenario,
    start: Start,
    rule: Sobol,
    rtol: float | None = None,
    around: bool = True,
    **options: Any,
) -> Found:
    """A solve from a start and, if asked for, the map around what it found."""
    solution = solve(scenario, start, rule=rule, rtol=rtol, **options)
    if not around:
        return Found(solution, None, start)
    try:
        return Found(solution, linearise(solution), start)
    except SolveError:
        return Found(solution, None, start)


def _followed(
    places: Sequence[Scenario], branch: str, rule: Sobol, minimum: Minimum
) -> list[Found]:
    """A branch from one place to the next: by Newton's steps, else along the flow, else from its
    start. Where it has been lost, it is tried again from its start."""
    found: list[Found] = []
    trace: list[Solution] = []  # of the branch, up to the last place
    for place in places:
        near = _next_to(place, trace, rule) if trace else None
        if near is None and found and found[-1].solution.outcome == "collapsed":
            near = _lost_too(place, found[-1].solution, rule)
        near = near or solve_afresh(place, trace[-1] if trace else branch, rule, minimum=minimum)
        if near.solution.outcome == "stalled" and trace:
            near = solve_afresh(place, branch, rule, minimum=minimum)
        trace = [*trace[-1:], near.solution] if near.solution.outcome in USABLE else []
        found.append(near)
    return found


@in_double
def _next_to(scenario: Scenario, trace: list[Solution], rule: Sobol) -> Found | None:
    """The branch of its last one or two solutions, by Newton's steps alone; None if they do not
    stay on it.

    Of two, the straight line through them tells where to begin: places lie about evenly along a
    row.
    """
    last = trace[-1]
    began = time.perf_counter()
    task = task_of(scenario, last.state, as_minimum(last.minimum), FROM_NEIGHBOUR)
    x, *before = (
        np.asarray(coordinates_of(known.state, known.scenario.distribution.joint_rho))
        for known in reversed(trace)
    )
    evaluator, trail = from_nearby(task, rule, 2 * x - before[0] if before else x)
    if not trail.converged:
        return None
    spent = time.perf_counter() - began
    solution = assemble(scenario, last.branch, evaluator, trail, None, spent)
    if solution.outcome != "converged" or solution.mechanism != last.mechanism:
        return None
    return Found(solution, map_around(solution, evaluator, trail.point, task.kept), last)


@in_double
def _lost_too(scenario: Scenario, lost: Solution, rule: Sobol) -> Found | None:
    """Solve from the start of a branch that has collapsed at the neighbouring place; None unless it
    collapses to the same mechanism here."""
    began = time.perf_counter()
    start = named_start(scenario, lost.branch)
    task = task_of(scenario, start, as_minimum(lost.minimum), SolverOptions())
    evaluator, trail = from_start(replace(task, expected=lost.mechanism), rule, start)
    spent = time.perf_counter() - began
    solution = assemble(scenario, lost.branch, evaluator, trail, None, spent)
    if solution.outcome != "collapsed" or solution.mechanism != lost.mechanism:
        return None
    line = map_around(solution, evaluator, trail.point, task.kept)
    return Found(solution, line, lost.branch)


def breaking_at(found: Found) -> Breaking | None:
    """How far replica symmetry holds; None where there is no fixed point."""
    return (
        None if found.line is None else breaking(found.line, spectra(found.line, directions=False))
    )


def winner_among(several: Sequence[Found], saddles: bool) -> str:
    """The mechanism of lowest training loss; "undecided" within two errors, "unknown" where one of
    them is no fixed point.

    With `saddles`, stability is worked out and a saddle does not win; "unknown" if all are.
    """
    if any(found.line is None for found in several):
        return "unknown"
    order = sorted(several, key=lambda found: float(found.solution.train_loss.value))
    if saddles:
        stable = [found for found in order if not is_saddle(found.solution)]
        if not stable or stable[0] is not order[0]:
            return "unknown"
    best = order[0]
    others = [f for f in order[1:] if f.solution.mechanism != best.solution.mechanism]
    if not others or (saddles and is_saddle(others[0].solution)):
        return best.solution.mechanism
    margin = margin_between(best.solution, others[0].solution)
    return best.solution.mechanism if margin.value > 2 * margin.error else "undecided"
