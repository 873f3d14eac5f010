"""`solve`: from a scenario and a start to a fixed point with error bars."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ...inner.minima import InnerMinimum, as_minimum
from ...numerics.precision import in_double
from ...numerics.progress import Progress, reporting
from ...numerics.rules import Rule, Sobol
from ...numerics.threads import in_parallel
from ...overlaps.coordinates import SMALLEST, coordinates_of
from ...overlaps.overlaps import Overlaps
from ...results.estimate import Estimate
from ...scenario.arguments import checked
from ...scenario.scenario import Scenario
from ..state_evolution.evaluator import Evaluator
from .assemble import SIGNAL, assemble, collapse, relative_error
from .checks import beyond_memory, check_memory, check_minimum, check_nodes, most_that_fit
from .globalisation import Task, from_nearby, from_start, levels, task_of
from .options import SolverOptions
from .solution import Solution, SolveError
from .starts import as_state, check_overlaps, mechanism, usual_starts
from .starts import start as named_start
from .trail import Trail

FRESH_SEED = 2**40  # added to the seed at each refinement: scrambles that nobody asks for
Start = str | Overlaps | Solution
Minimum = str | InnerMinimum | None  # the lowest, the reached, or that of the start


# An iteration that runs away is an outcome.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
@in_double
@checked
def solve(
    scenario: Scenario,
    start: Start = "semantic",
    *,
    minimum: Minimum = None,
    d: int | None = None,
    rule: Rule | None = None,
    rtol: float | None = 5e-3,
    budget: int = 2**17,
    solver: SolverOptions | None = None,
    throw: bool = False,
) -> Solution:
    """The fixed point of state evolution that a start leads to, with an error bar on every number.

    **Arguments**

    - `scenario`: what is learned.
    - `start`: `"semantic"`, `"positional"`, `"uninformed"`, or overlaps (or a solution) to begin
      at. Symmetries of the start are kept: overlaps that a symmetry of the scenario makes zero or
      equal in the start are exactly so in the solution.
    - `minimum`: `"lowest"`, every sample in the lowest minimum of its inner problem, which
      describes the lowest minimum of the training loss among weights of the start's mechanism; or
      `"reached"`, every sample in the one that training reaches. Unless given, the `minimum` of
      the solution to begin at, or "lowest".
    - `d`: a finite dimension. The student's output contains S[z] p, which adds ½ Tr[S p pᵀ Sᵀ]/d
      to the loss of every sample and vanishes as d → ∞. With `d` this term is included; other
      corrections of order 1/d are not.
    - `rule`: the rule of the Gaussian average; scrambled Sobol' points, 2^13 of them with their
      images, unless given.
    - `rtol`: refine the rule until the standard errors of test error and training loss are below
      this fraction of their values, or `budget` nodes are reached (outcome "imprecise"). None: take
      the rule as it is.
    - `solver`: options of the fixed-point search, `SolverOptions`; the defaults unless given.
    - `throw`: raise `SolveError` unless the outcome is "converged" or "imprecise".

    **Returns**: a `Solution`: test error, training loss and overlaps, each with its error, and an
    `outcome` with its reason.

    **Example**

        solution = dotphase.solve(dotphase.paper(alpha=2, omega=0.3), "semantic")
        print(solution.test_error)            # 0.0014… ± …

    **Reference**: arXiv 2402.03902, whose published numbers differ from these by a few per cent:
    they were computed with a 144-node rule, which does not resolve the jumps of the prox.
    """
    began, solver = time.perf_counter(), solver or SolverOptions()
    rule, minimum = Sobol(solver.coarse_nodes) if rule is None else rule, _minimum(minimum, start)
    check_minimum(scenario)
    scenario = scenario if d is None else replace(scenario, dimension=d)
    if rtol is not None:
        check_nodes(rule, budget)
    check_memory(scenario, rule)
    overlaps, branch = _begin(scenario, start)
    task = task_of(scenario, overlaps, minimum, solver)
    evaluator, trail = _refined(scenario, task, overlaps, rule, rtol, budget)
    solution = assemble(scenario, branch, evaluator, trail, rtol, time.perf_counter() - began)
    if solution.outcome == "stalled":
        options = {"rtol": rtol, "budget": budget, "solver": solver}
        unknown = Estimate(np.nan, np.inf)
        solution = _silenced(solution, overlaps, rule=rule, minimum=minimum, **options) or replace(
            solution, test_error=unknown, train_loss=unknown
        )
    if throw and solution.outcome in ("stalled", "collapsed"):
        raise SolveError(f"{branch}: {solution.outcome}: {solution.reason}")
    return solution


def _refined(
    scenario: Scenario,
    task: Task,
    overlaps: Overlaps,
    rule: Rule,
    rtol: float | None,
    budget: int,
) -> tuple[Evaluator, Trail]:
    """The fixed point on ever more nodes, until `rtol` is met or the memory is full; the
    evaluations of all of them are counted."""
    first, *others = levels(rule, task.options.coarse_nodes)
    evaluator, trail = from_start(task, first, overlaps)
    spent = trail.evaluations
    while True:
        finer = others.pop(0) if others else None
        if finer is None and trail.converged and rtol is not None:
            last, asked = evaluator.rule, _finer(evaluator, trail, rtol, budget)
            if asked is not None and isinstance(last, Sobol):
                finer = most_that_fit(scenario, asked, last.count)
            if asked is not None and finer is None:
                relative = relative_error(evaluator, trail.point)
                full = f"{relative:.1e}, {rtol:.1e} was asked for: {beyond_memory(scenario, asked)}"
                reason = "; ".join([*filter(None, [trail.reason]), f"relative error {full}"])
                trail = trail if relative <= rtol else trail._replace(reason=reason)
        if finer is None:
            return evaluator, trail._replace(evaluations=spent)
        evaluator, trail = from_nearby(
            task, finer, trail.point.x, patient=trail.converged and bool(trail.reason)
        )
        spent += trail.evaluations


def _finer(evaluator: Evaluator, trail: Trail, rtol: float, budget: int) -> Sobol | None:
    """A rule expected to meet `rtol`, or None if it is met already or the budget forbids it.

    An error estimated from a few replicates is itself uncertain by a quarter. Stopping as soon as
    an estimate is below `rtol` would favour estimates that are too small. So the nodes are chosen
    for an error 1.5 times smaller than `rtol`, with new scrambles: the reported error has no
    influence on their number.
    """
    margin = 1.5  # by which an error must be smaller than asked for, to stop where one began
    rule, relative = evaluator.rule, relative_error(evaluator, trail.point)
    excess = relative * margin / rtol
    if not isinstance(rule, Sobol) or 2 * rule.count > budget:
        return None
    if excess <= 1 or (rule.seed >= FRESH_SEED and relative <= rtol):
        return None
    return replace(rule.refined(excess, budget, most=4), seed=rule.seed + FRESH_SEED)


@checked
def solve_many(
    scenarios: Iterable[Scenario],
    starts: Start | Sequence[Start] = "semantic",
    *,
    rules: Sequence[Rule] | None = None,
    workers: int | None = None,
    progress: Progress = None,
    **options: Any,
) -> list[Solution]:
    """Solve many scenarios, each from its start, with its rule if `rules` is given.

    **Arguments**: `scenarios`; `starts`, one for all or one for each; `options` as in `solve`.

    Scenarios of one structure (tokens, ranks, attention functions) share one compilation, whatever
    their numbers. They are worked on by `workers` threads, by default one per core; `progress(done,
    total)` is called after each.

    **Returns**: a list of `Solution`, in the order of `scenarios`.

    **Example**: `solve_many([paper(alpha=1), paper(alpha=2)], "positional", rtol=1e-2)`.
    """
    scenarios = list(scenarios)
    each = [starts] * len(scenarios) if isinstance(starts, Start) else list(starts)
    if rules is not None and options.get("rule") is not None:
        raise ValueError("rule, rules: one rule for all scenarios or one for each, not both")
    one = options.pop("rule", None)
    given = [one] * len(scenarios) if rules is None else list(rules)
    for name, listed in (("starts", each), ("rules", given)):
        if len(listed) != len(scenarios):
            raise ValueError(f"{name}: {len(listed)} for {len(scenarios)} scenarios")
    jobs, done = list(zip(scenarios, each, given, strict=True)), []
    work = lambda job: solve(job[0], job[1], rule=job[2], **options)
    # The first one alone, since it compiles what the others share.
    with reporting(progress, "solving", len(jobs)) as report:
        for solution in chain(map(work, jobs[:1]), in_parallel(work, jobs[1:], workers)):
            done.append(solution)
            report(len(done))
    return done


def starts_of(scenario: Scenario, starts: Start | Iterable[Start] | None) -> list[Start]:
    """The starts that are asked for: a single one, several, or the usual ones."""
    if starts is None:
        return [*usual_starts(scenario)]
    return [starts] if isinstance(starts, Start) else list(starts)


def _minimum(minimum: Minimum, start: Start) -> InnerMinimum:
    if minimum is None:
        minimum = start.minimum if isinstance(start, Solution) else "lowest"
    return as_minimum(minimum)


def _begin(scenario: Scenario, start: Start) -> tuple[Overlaps, str]:
    if isinstance(start, str):
        return named_start(scenario, start), start
    if isinstance(start, Solution):
        return as_state(scenario, start.state), start.branch
    check_overlaps(start)
    tokens = (scenario.length,) * (
        2 if np.ndim(start.theta) == 4 and scenario.structure.joint else 1
    )
    length, (r_s, r_t) = scenario.length, scenario.ranks
    shapes = Overlaps((*tokens, r_s, r_s), (*tokens, r_s, r_s), (length, r_s), (*tokens, r_s, r_t))
    for name, part, shape in zip(Overlaps._fields, start, shapes, strict=True):
        if np.shape(part) != shape:
            raise ValueError(f"start.{name}: expected shape {shape}, got {np.shape(part)}")
    overlaps = as_state(scenario, Overlaps(*(np.asarray(part, dtype=np.float64) for part in start)))
    if not np.isfinite(np.asarray(coordinates_of(overlaps, scenario.distribution.joint_rho))).all():
        raise ValueError(
            "start: no weights have such overlaps: q, V and ρ − θᵀq⁻¹θ must be positive definite"
        )
    return overlaps, mechanism(overlaps, scenario.distribution.joint_rho)


def _silenced(stalled: Solution, began: Overlaps, **options) -> Solution | None:
    """The uninformed fixed point, where an iteration has stalled next to it: the signal its start
    is named for has all but gone, and does not grow from nothing. Few nodes near a jump, or weights
    that vanish, keep it from dying out exactly."""
    gone = 0.1  # of its start, below which a signal may be dying out
    part = SIGNAL.get(stalled.branch, "q")
    largest = lambda overlaps: np.abs(getattr(overlaps, part)).max()
    if part == "q" or not 0 < largest(stalled.overlaps) < gone * largest(began):
        return None
    rest = solve(stalled.scenario, "uninformed", **options)
    apart = abs(float(rest.train_loss.value - stalled.train_loss.value))
    if (
        rest.outcome == "stalled"
        or apart > gone * rest.train_loss.value + SMALLEST
        or rest.stability.leaves(part)
    ):
        return None
    spent, seconds = stalled.evaluations + rest.evaluations, stalled.seconds + rest.seconds
    reason = collapse(stalled.branch, rest.overlaps)
    return replace(
        rest,
        branch=stalled.branch,
        outcome="collapsed",
        reason=reason,
        evaluations=spent,
        seconds=seconds,
    )
