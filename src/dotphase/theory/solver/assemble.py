"""From the end of an iteration to a solution: numbers with errors, an outcome, and a reason."""

from __future__ import annotations

from functools import lru_cache

import jax
import numpy as np

from ...numerics.kept_programs import kept
from ...numerics.rules import Sobol
from ...overlaps.coordinates import from_coordinates, overlaps_at
from ...overlaps.correlated import single
from ...overlaps.overlaps import Overlaps
from ...results.estimate import Estimate
from ...scenario.scenario import Scenario, Structure
from ..state_evolution.evaluator import Evaluator, Point
from ..state_evolution.half_steps import conjugates
from .errors import Scatter, deviations, observable_errors
from .solution import Joint, Solution
from .starts import mechanism, vanished
from .trail import Trail

SIGNAL = {"semantic": "theta", "positional": "m"}  # the overlap a start is named for


def relative_error(evaluator: Evaluator, point: Point) -> float:
    """The larger of the relative standard errors of test error and training loss."""
    errors = observable_errors(evaluator, point)
    relative = float((errors / np.maximum(np.abs(point.observables), 1e-300)).max())
    return relative if np.isfinite(relative) else np.inf


def assemble(
    scenario: Scenario,
    branch: str,
    evaluator: Evaluator,
    trail: Trail,
    rtol: float | None,
    seconds: float,
) -> Solution:
    """The solution at the end of a trail, which began as `branch`."""
    point, rule, rho = trail.point, evaluator.rule, scenario.distribution.joint_rho
    overlaps = overlaps_at(point.x, rho, scenario.student.rank)
    errors, scatter = _errors(evaluator, trail, overlaps)
    hats = Overlaps(
        *map(np.asarray, _conjugates(scenario.structure)(evaluator.values, point.x, point.moments))
    )
    found = mechanism(overlaps, rho, errors if trail.converged else None)
    outcome, reason = _outcome(branch, found, overlaps, evaluator, trail, rtol)
    estimates = [
        Estimate(value, rule.error(each))
        for value, each in zip(point.observables, scatter, strict=True)
    ]
    return Solution(
        scenario=scenario,
        branch=branch,
        minimum=evaluator.minimum.name,
        mechanism=found,
        outcome=outcome,
        reason=reason,
        overlaps=single(overlaps),
        overlap_errors=single(errors),
        conjugates=single(hats),
        test_error=estimates[0],
        train_loss=estimates[1],
        deviations=scatter,
        residual=point.residual,
        evaluations=trail.evaluations,
        rule=rule,
        nodes=rule.count
        if isinstance(rule, Sobol)
        else evaluator.ensemble.blocks[0].weights[0].size,
        several_minima=point.minima.several,
        higher_minima=point.minima.higher,
        blur=point.minima.blur,
        seconds=seconds,
        joint=Joint(overlaps, errors, hats) if scenario.structure.joint else None,
        unsettled=point.minima.unsettled,
    )


def _errors(evaluator: Evaluator, trail: Trail, overlaps: Overlaps) -> tuple[Overlaps, Scatter]:
    """Standard errors of the overlaps, and how the observables scatter; infinite where there is no
    fixed point."""
    rule = evaluator.rule
    if not trail.converged:
        unknown = np.full(len(rule.pool), np.inf)
        return Overlaps(*(np.full_like(part, np.inf) for part in overlaps)), Scatter(
            unknown, unknown
        )
    apart = deviations(evaluator, trail.point)
    push = _push(overlaps.q.shape[-1])
    moved = push(trail.point.x, evaluator.rho, apart.coordinates @ evaluator.basis)
    return Overlaps(*(rule.error(np.asarray(part)) for part in moved)), apart.scatter


def _outcome(
    branch: str,
    found: str,
    overlaps: Overlaps,
    evaluator: Evaluator,
    trail: Trail,
    rtol: float | None,
) -> tuple[str, str]:
    if not trail.converged:
        return "stalled", f"{trail.reason} after {trail.evaluations} evaluations"
    if trail.point.minima.unsettled > 0:
        return (
            "stalled",
            f"the inner minimisation failed on {trail.point.minima.unsettled:.2%} of the nodes",
        )
    if branch in (*SIGNAL, "mixed") and found not in (branch, "mixed"):
        return "collapsed", collapse(branch, overlaps)
    if trail.reason:
        return "imprecise", trail.reason
    relative = relative_error(evaluator, trail.point)
    if rtol is not None and relative > rtol:
        asked = f"relative error {relative:.1e}, {rtol:.1e} was asked for: raise the budget or rtol"
        return "imprecise", asked
    return "converged", ""


def collapse(branch: str, overlaps: Overlaps) -> str:
    """Why a branch is not what was found."""
    if vanished(overlaps):
        return "q → 0: all weights vanish, the ridge outweighs what they could learn"
    signals = {"semantic": "θ", "positional": "m"}
    return f"{signals.get(branch, 'm or θ')} → 0: there is no {branch} fixed point near this start"


@lru_cache(maxsize=64)
def _conjugates(structure: Structure):
    def run(values, x, moments) -> Overlaps:
        return conjugates(structure, values, x, moments)

    return kept(run, structure, small=True)


@lru_cache(maxsize=16)
def _push(r_s: int):
    """`(x, rho, directions) -> Overlaps`: their derivatives along directions of coordinate space."""

    def run(x, rho, directions) -> Overlaps:
        push = lambda d: jax.jvp(lambda p: from_coordinates(p, rho, r_s), (x,), (d,))[1]
        return jax.vmap(push)(directions)

    return kept(run, r_s, small=True)
