"""`solve`: from a scenario and a start to a fixed point with error bars."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import jax
import numpy as np

from ..estimate import Estimate
from ..gaussian import Rule, Sobol
from ..precision import in_double
from ..scenario.scenario import Scenario, Structure
from ..scenario.symmetry import Symmetry, symmetries
from ..threads import in_parallel
from .evaluator import Evaluator, Point
from .fixed_points import Trail, fixed_point, solve_off_gauge, step
from .nodes import stabiliser
from .overlaps import Overlaps, from_coordinates, to_coordinates
from .solution import Solution, SolveError
from .starts import mechanism, vanished
from .starts import start as named_start
from .state_evolution import conjugates

COARSE = 2**13  # nodes on which a fixed point is first located
IN_SIGHT = 0.15  # residual from which a step of Newton's leads as close to a fixed point as few nodes can tell
SIGNAL = {"semantic": "theta", "positional": "m"}  # the overlap a start is named for
GONE = 0.1  # of its start, below which a signal may be dying out
Start = str | Overlaps | Solution


@in_double
def solve(
    scenario: Scenario,
    start: Start = "semantic",
    *,
    rule: Rule | None = None,
    rtol: float | None = 5e-3,
    budget: int = 2**17,
    tolerance: float = 1e-8,
    most_evaluations: int = 60,
    throw: bool = False,
) -> Solution:
    """The fixed point of state evolution that a start leads to, with an error bar on every number.

    **Arguments**

    - `scenario`: what is learned.
    - `start`: `"semantic"`, `"positional"`, `"uninformed"`, or overlaps (or a solution) to begin at. What is zero or
      equal in the start by a symmetry of the scenario is so, exactly, in the solution.
    - `rule`: the rule of the Gaussian average; scrambled Sobol' points, 2^13 of them with their images, unless given.
    - `rtol`: refine the rule until the standard errors of test error and training loss are below this fraction of
      their values, or `budget` nodes are reached (outcome "imprecise"). None: take the rule as it is.
    - `tolerance`: on the undamped residual.
    - `throw`: raise `SolveError` unless the outcome is "converged" or "imprecise".

    **Example**

        solution = dotphase.solve(dotphase.paper(alpha=2, omega=0.3), "semantic")
        print(solution.test_error)            # 0.0014… ± …

    **Reference**: arXiv 2402.03902, whose published numbers differ from these by a few per cent: they were computed
    with a 144-node rule, which does not resolve the jumps of the prox.
    """
    began = time.perf_counter()
    rule = Sobol(COARSE) if rule is None else rule
    overlaps, label = _begin(scenario, start)
    group = symmetries(scenario)
    kept = stabiliser(group, overlaps)
    first = _levels(rule)[0]
    evaluator, trail, evaluations = _from_start(scenario, first, group, kept, overlaps, tolerance, most_evaluations)
    x = trail.point.x
    for level in _levels(rule)[1:]:
        evaluator, trail = _near(scenario, level, group, kept, x, tolerance, most_evaluations)
        evaluations += evaluator.evaluations
        x = trail.point.x
    while trail.converged and rtol is not None:
        finer = _finer(evaluator, trail.point, rtol, budget)
        if finer is None:
            break
        evaluator, trail = _near(scenario, finer, group, kept, x, tolerance, most_evaluations)
        evaluations += evaluator.evaluations
        x = trail.point.x
    solution = assemble(scenario, label, evaluator, trail, rtol, evaluations, time.perf_counter() - began)
    if solution.outcome == "stalled":
        options = {"rtol": rtol, "budget": budget, "tolerance": tolerance, "most_evaluations": most_evaluations}
        solution = _silenced(solution, overlaps, rule=rule, **options) or solution
    if throw and solution.outcome in ("stalled", "collapsed"):
        raise SolveError(f"{label}: {solution.outcome}: {solution.reason}")
    return solution


def solve_many(
    scenarios: Iterable[Scenario],
    starts: Start | Sequence[Start] = "semantic",
    *,
    rules: Sequence[Rule] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options,
) -> list[Solution]:
    """Solve many scenarios, each from its start (one for all, or a list), with its rule if `rules` is given; other
    options as in `solve`.

    Scenarios of one structure (tokens, ranks, attention functions) share one compilation, whatever their numbers. They
    are worked on by `workers` threads, by default one per core; `progress(done, total)` is called after each.
    """
    scenarios = list(scenarios)
    each = list(starts) if isinstance(starts, list) else [starts] * len(scenarios)
    given = [options.pop("rule", None)] * len(scenarios) if rules is None else list(rules)
    for name, listed in (("starts", each), ("rules", given)):
        if len(listed) != len(scenarios):
            raise ValueError(f"{name}: {len(listed)} for {len(scenarios)} scenarios")
    done: list[Solution] = []

    def keep(solution: Solution) -> None:
        done.append(solution)
        if progress is not None:
            progress(len(done), len(scenarios))

    jobs = list(zip(scenarios, each, given, strict=True))
    work = lambda job: solve(job[0], job[1], rule=job[2], **options)
    for job in jobs[:1]:  # alone, since it compiles what the others share
        keep(work(job))
    for solution in in_parallel(work, jobs[1:], workers):
        keep(solution)
    return done


def _begin(scenario: Scenario, start: Start) -> tuple[Overlaps, str]:
    if isinstance(start, str):
        return named_start(scenario, start), start
    if isinstance(start, Solution):
        return start.overlaps, start.branch
    length, (r_s, r_t) = scenario.length, scenario.ranks
    shapes = Overlaps((length, r_s, r_s), (length, r_s, r_s), (length, r_s), (length, r_s, r_t))
    for name, part, shape in zip(Overlaps._fields, start, shapes, strict=True):
        if np.shape(part) != shape:
            raise ValueError(f"start.{name}: expected shape {shape}, got {np.shape(part)}")
    overlaps = Overlaps(*(np.asarray(part, dtype=np.float64) for part in start))
    if not np.isfinite(np.asarray(_to(overlaps, scenario.law.rho))).all():
        raise ValueError("start: no weights have such overlaps: q, V and ρ − θᵀq⁻¹θ must be positive definite")
    return overlaps, mechanism(overlaps, scenario.law.rho)


def _silenced(stalled: Solution, began: Overlaps, **options) -> Solution | None:
    """The uninformed fixed point, where an iteration has stalled next to it: the signal its start is named for has all
    but gone, and does not grow from nothing. Few nodes near a jump, or weights that vanish, keep it from dying out
    exactly."""
    part = SIGNAL.get(stalled.branch, "q")
    largest = lambda overlaps: np.abs(getattr(overlaps, part)).max()
    if part == "q" or not 0 < largest(stalled.overlaps) < GONE * largest(began):
        return None
    rest = solve(stalled.scenario, "uninformed", **options)
    apart = abs(float(rest.train_loss.value - stalled.train_loss.value))
    if rest.outcome == "stalled" or apart > GONE * rest.train_loss.value or rest.stability.leaves(part):
        return None
    spent, seconds = stalled.evaluations + rest.evaluations, stalled.seconds + rest.seconds
    reason = _collapse(stalled.branch, rest.overlaps)
    return replace(rest, branch=stalled.branch, outcome="collapsed", reason=reason, evaluations=spent, seconds=seconds)


def _levels(rule: Rule) -> list[Rule]:
    if isinstance(rule, Sobol) and rule.count > COARSE:
        return [replace(rule, count=COARSE), rule]
    return [rule]


def _near(
    scenario: Scenario,
    rule: Rule,
    group: tuple[Symmetry, ...],
    kept: tuple[Symmetry, ...],
    x: np.ndarray,
    tolerance: float,
    most: int,
) -> tuple[Evaluator, Trail]:
    """The fixed point close to x, by Newton's method."""
    evaluator = Evaluator(scenario, rule, group, kept)
    return evaluator, fixed_point(evaluator, x, tolerance, most, near=True)


def _from_start(
    scenario: Scenario,
    rule: Rule,
    group: tuple[Symmetry, ...],
    kept: tuple[Symmetry, ...],
    overlaps: Overlaps,
    tolerance: float,
    most: int,
) -> tuple[Evaluator, Trail, int]:
    """Iterate from a start; where that leads nowhere, with another response V, or more carefully.

    Also tells how many evaluations of the map all this took.
    """
    rho, rank = scenario.law.rho, scenario.student.rank
    x = np.asarray(_to(overlaps, rho))
    evaluator, spent = Evaluator(scenario, rule, group, kept), 0
    if evaluator.has_parts:
        # Few nodes show the way to a fixed point as well as many. Should it be of another kind than the start, that
        # may be for their fewness.
        scout = evaluator.part()
        way = fixed_point(scout, x, IN_SIGHT, most // 3, delta=5.0)
        spent = scout.evaluations
        if way.converged:
            there = way.point.x + step(scout, way.point, np.inf)
            trail = fixed_point(evaluator, there, tolerance, most // 3, near=True)
            spent += evaluator.evaluations
            kind = lambda point: mechanism(Overlaps(*map(np.asarray, _from(point, rho, rank))), rho)
            if trail.converged and kind(trail.point.x) == kind(x):
                return evaluator, trail, spent
    for factor, delta in ((1.0, 2.0), (1.0, 0.3), (4.0, 2.0), (0.2, 2.0), (30.0, 2.0)):
        x = np.asarray(_to(overlaps._replace(V=factor * overlaps.V), rho))
        evaluator = Evaluator(scenario, rule, group, kept)
        trail = fixed_point(evaluator, x, tolerance, most, delta=delta)
        spent += evaluator.evaluations
        if trail.converged:
            break
    return evaluator, trail, spent


def _finer(evaluator: Evaluator, point: Point, rtol: float, budget: int) -> Rule | None:
    """A rule expected to meet `rtol`, or None if it is met already or the budget forbids it."""
    rule = evaluator.rule
    errors = rule.error(replicates(point)[:, -2:])
    excess = float((errors / np.maximum(np.abs(point.observables), 1e-300)).max()) / rtol
    if excess <= 1 or not isinstance(rule, Sobol) or 2 * rule.count > budget:
        return None
    # Errors fall about as the power 0.65 of the count; never more than eight times the nodes at once.
    factor = 2 ** int(np.clip(np.ceil(np.log2(excess) / 0.65), 1, 3))
    while rule.count * factor > budget:
        factor //= 2
    return replace(rule, count=rule.count * factor)


def replicates(point: Point) -> np.ndarray:
    """How far each replicate's own fixed point and observables lie from the pooled ones, to first order.

    Replicate r has F_r; its fixed point is at dx_r = −J⁻¹ F_r, and its test error moves with it. Its training loss, a
    stationary value, does not.
    """
    count = len(point.change)
    dx = -solve_off_gauge(point.slope, point.scatter[:, :count].T, point.gauge).T
    test_error = point.scatter[:, count] + dx @ point.observable_slope[:, 0]
    return np.column_stack([dx, test_error, point.loss_scatter])


def assemble(
    scenario: Scenario,
    label: str,
    evaluator: Evaluator,
    trail: Trail,
    rtol: float | None,
    evaluations: int,
    seconds: float,
) -> Solution:
    """The solution at the end of a trail."""
    point, rule, structure = trail.point, evaluator.rule, scenario.structure
    rho = scenario.law.rho
    overlaps = Overlaps(*map(np.asarray, _from(point.x, rho, structure.student.rank)))
    hats = Overlaps(*map(np.asarray, _conjugates(structure)(evaluator.values, point.x, point.moments)))
    if trail.converged:
        deviations = replicates(point)
        moved = _pushed(point.x, rho, deviations[:, :-2] @ evaluator.basis, structure.student.rank)
        overlap_errors = Overlaps(*(rule.error(np.asarray(part)) for part in moved))
        deviations = deviations[:, -2:]
        errors = rule.error(deviations)
    else:
        deviations = np.full((len(rule.pool), 2), np.inf)
        overlap_errors = Overlaps(*(np.full_like(part, np.inf) for part in overlaps))
        errors = np.full(2, np.inf)
    found = mechanism(overlaps, rho, overlap_errors if trail.converged else None)
    outcome, reason = _outcome(label, found, overlaps, trail, errors, point, evaluator, rtol)
    return Solution(
        scenario=scenario,
        branch=label,
        mechanism=found,
        outcome=outcome,
        reason=reason,
        overlaps=overlaps,
        overlap_errors=overlap_errors,
        conjugates=hats,
        test_error=Estimate(float(point.observables[0]), float(errors[0])),
        train_loss=Estimate(float(point.observables[1]), float(errors[1])),
        deviations=deviations,
        residual=point.residual,
        evaluations=evaluations,
        rule=rule,
        nodes=rule.count if isinstance(rule, Sobol) else evaluator.ensemble.blocks[0].weights[0].size,
        prox_disagreement=evaluator.several,
        blur=evaluator.blur,
        seconds=seconds,
    )


def _outcome(
    label: str,
    found: str,
    overlaps: Overlaps,
    trail: Trail,
    errors: np.ndarray,
    point: Point,
    evaluator: Evaluator,
    rtol: float | None,
) -> tuple[str, str]:
    if not trail.converged:
        return "stalled", trail.reason
    if evaluator.unsettled > 0:
        return "stalled", f"the inner minimisation failed on {evaluator.unsettled:.2%} of the nodes"
    if label in SIGNAL and found not in (label, "mixed"):
        return "collapsed", _collapse(label, overlaps)
    relative = float((errors / np.maximum(np.abs(point.observables), 1e-300)).max())
    if rtol is not None and relative > rtol:
        return (
            "imprecise",
            f"relative error {relative:.1e} with all nodes of the budget, {rtol:.1e} was asked for",
        )
    return "converged", ""


def _collapse(label: str, overlaps: Overlaps) -> str:
    if vanished(overlaps):
        return "q → 0: all weights vanish, the ridge outweighs what they could learn"
    return f"{'θ' if label == 'semantic' else 'm'} → 0: there is no {label} fixed point near this start"


_to = jax.jit(to_coordinates)
_from = jax.jit(from_coordinates, static_argnums=2)


@lru_cache(maxsize=64)
def _conjugates(structure: Structure):
    return jax.jit(lambda values, x, moments: conjugates(structure, values, x, moments))


def _push(x, rho, directions, r_s):
    """Derivatives of the overlaps along each direction of coordinate space."""
    push = lambda d: jax.jvp(lambda p: from_coordinates(p, rho, r_s), (x,), (d,))[1]
    return jax.vmap(push)(directions)


_pushed = jax.jit(_push, static_argnums=3)
