"""Which mechanism wins, and where exactly that changes.

A transition is a root of a difference along a parameter p, with the branches solved at every p:

    train-loss    ε_t(semantic) − ε_t(positional) = 0    the global minimum changes mechanism (α_c); other two
                                                         mechanisms if asked for
    linear        ε_g(semantic) − ε_lin = 0              attention beats the linear positional baseline (α_l)
    instability   Re μ − 1 = 0                           a small signal of the other mechanism grows on a branch: μ is
                                                         the leading eigenvalue of ∂map/∂x along its overlap
    replicon      spectral radius − 1 = 0                replica symmetry breaks on a branch (regular part)

and `spinodal` is where a branch ends. Branches that are compared use the same scrambled nodes;
`roots.py` says how a root gets its error.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from ...numerics.progress import Progress, counting, reporting, track
from ...numerics.rules import Sobol
from ...results.estimate import Estimate
from ...scenario.arguments import checked, checked_with, number, two_of
from ...scenario.scenario import ALIASES, Scenario
from ..baseline import linear_baseline
from ..solver.checks import check_minimum, check_nodes
from ..solver.solution import Solution
from ..solver.solve import Minimum
from ..solver.starts import NAMES, usual_starts
from ..stability.linearised import linearise
from ..stability.spectra import spectra
from ..stability.stability import LETTERS, PARTS, named_eigenvalues
from .node_sets import SCANNED, Transition, over_node_sets, scan_points
from .phases import phase, stability_of
from .roots import Absent, Difference, coarse_root, refined_root
from .search import is_saddle
from .spinodals import spinodal

TRANSITIONS = ("train-loss", "linear", "spinodal", "instability", "replicon")
SMOOTH = ("train-loss", "linear")  # differences whose root can be refined
OTHER = {
    "semantic": "m",
    "positional": "theta",
    "mixed": "theta",
    "uninformed": "theta",
}  # which small signal may grow on a branch


def _difference(
    scenario: Scenario,
    transition: str,
    along: str,
    branch: str,
    direction: str,
    mechanisms: tuple[str, str],
) -> Difference:
    if transition == "train-loss":
        signs = tuple(f"the {name} branch has the lower training loss" for name in mechanisms)
        return Difference(scenario, along, mechanisms, _losses_apart, (signs[0], signs[1]))
    if transition == "linear":
        signs = tuple(
            f"the semantic test error is {word} the linear baseline's"
            for word in ("below", "above")
        )
        return Difference(scenario, along, ("semantic",), _above_the_baseline, (signs[0], signs[1]))
    what = (
        "the replicon"
        if transition == "replicon"
        else f"the eigenvalue along {LETTERS.get(direction, direction)}"
    )
    signs = tuple(f"{what} of the {branch} branch is {word} one" for word in ("below", "above"))
    of = (
        _replicon_above_one
        if transition == "replicon"
        else lambda found: _eigenvalue_above_one(found, direction)
    )
    return Difference(
        scenario, along, (branch,), of, (signs[0], signs[1]), sure=transition == "replicon"
    )


def _losses_apart(found: list[Solution]) -> tuple[float, np.ndarray]:
    one, two = found
    value = float(one.train_loss.value - two.train_loss.value)
    return value, one.deviations.train_loss - two.deviations.train_loss


def _above_the_baseline(found: list[Solution]) -> tuple[float, np.ndarray]:
    baseline = linear_baseline(found[0].scenario).test_error.value
    return float(found[0].test_error.value - baseline), found[0].deviations.test_error


def _replicon_above_one(found: list[Solution]) -> tuple[float, np.ndarray]:
    around = spectra(linearise(found[0]), directions=False)
    return around.replicon - 1, around.replicons - around.replicon


def _eigenvalue_above_one(found: list[Solution], direction: str) -> tuple[float, np.ndarray]:
    at = linearise(found[0])
    named = named_eigenvalues(at, spectra(at))
    if direction not in named:
        raise Absent(
            f"no eigenvalue has most of its direction along {LETTERS.get(direction, direction)}"
        )
    leading = max(named[direction], key=lambda e: e.value.real)
    return leading.value.real - 1, np.real(leading.deviations)


@checked_with(precision=number(above=True), mechanisms=two_of(*NAMES))
def critical(
    scenario: Scenario,
    transition: str = "train-loss",
    along: str = "sample_ratio",
    between: tuple[float, float] = (0.2, 5.0),
    *,
    precision: float = 2e-3,
    budget: int = 2**19,
    rule: Sobol | None = None,
    scan: int = SCANNED,
    start: str = "semantic",
    direction: str | None = None,
    minimum: Minimum = None,
    progress: Progress = None,
    mechanisms: tuple[str, str] | None = None,
) -> Transition:
    """The value of a parameter at which a transition takes place, ± its error.

    **Arguments**

    - `scenario`: what is learned;  `transition`: `"train-loss"` (α_c), `"linear"` (α_l),
      `"spinodal"` (a branch ends), `"instability"` or `"replicon"`.
    - `along`: the parameter, by any name `Scenario.vary` takes; all others are the scenario's.
    - `between`: where to look. The scan begins at the upper end, where both branches exist as a
      rule.
    - `scan`: how many points the first scan has at most: two, if `between` is known to bracket the
      transition.
    - `precision`: refine the nodes until the standard error is this small, or `budget` nodes are
      reached. What is rough (`spinodal`, `instability`, `replicon`) is located on four independent
      sets of `rule` nodes instead, and its error is their scatter.
    - `start`: the branch of `instability`, `replicon` and `spinodal`.
    - `minimum`: the inner minima of the branches, "lowest" or "reached". With "reached",
      eigenvalues and replicon leave out the samples that change basin.
    - `direction`: of `instability`, one of q, V, m, theta; unless given, m on the semantic branch,
      θ on the others.
    - `progress`: True for a bar, or a function called with the number of values tried so far and
      None.
    - `mechanisms`: the two mechanisms of `train-loss`. Unless given: semantic and positional; for
      students that can have both (rank two, several heads), the winners at the two ends of
      `between`. If the losses cross, the transition is of first order. If one mechanism becomes
      unstable and turns into the other, it is continuous: then the onset of the instability is
      located, and `reason` says so. A crossing of saddles is no transition.

    **Returns**: a `Transition`.

    **Example**

        critical(dotphase.paper(omega=0.3)).location         # 1.25… ± …

    **Reference**: arXiv 2402.03902 prints α_c = 1.24 and α_l = 1.45 at ω = 0.3, from a 144-node
    rule that does not resolve the jumps of the prox.
    """
    along = ALIASES.get(along, along)
    direction = _checked(scenario, transition, along, between, start, direction)
    rule = rule or first_nodes(transition, budget)
    check_nodes(rule, budget)
    if transition == "spinodal":
        options = {"precision": precision, "rule": rule, "scan": scan, "minimum": minimum}
        return spinodal(scenario, start, along, between, **options, progress=progress)
    shared = len(usual_starts(scenario)) > 2
    began, points = time.perf_counter(), scan_points(between, scan)
    pair = mechanisms or ("semantic", "positional")
    if transition == "train-loss" and shared:
        try:
            with reporting(progress, "mechanisms at the two ends", None):
                pair = mechanisms or _winners(scenario, along, between, minimum)
        except Absent as error:
            nothing = Estimate(np.nan, np.inf)
            return Transition(transition, along, nothing, "absent", str(error), 0, rule.count, 0.0)
    new = lambda tried: replace(
        _difference(scenario, transition, along, start, direction, pair),
        minimum=minimum,
        tried=tried,
    )
    if transition in ("instability", "replicon"):  # rough: a few nodes near a jump can dominate
        with counting(progress, f"{transition} transition") as tried:
            root = lambda nodes: _on_one_set(new(tried), points, nodes, precision)
            return over_node_sets(transition, along, rule, precision, root)
    end = lambda location, outcome, reason, nodes: Transition(
        transition,
        along,
        location,
        outcome,
        reason,
        difference.evaluations,
        nodes.count,
        time.perf_counter() - began,
    )
    try:
        with counting(progress, f"{transition} transition") as tried:
            difference = new(tried)
            p = coarse_root(difference, points, rule, precision)
            location, nodes, reason = refined_root(difference, p, rule, precision, budget)
        if transition == "train-loss" and shared:
            _check_crossing(difference, pair, location, reason)
    except Absent as error:
        pure = next((name for name in pair if name != "mixed"), None)
        if transition == "train-loss" and "mixed" in pair and pure is not None:
            return _continuous(scenario, pure, along, between, precision, budget, minimum, progress)
        return end(Estimate(np.nan, np.inf), "absent", str(error), rule)
    return end(location, "imprecise" if reason else "located", reason, nodes)


def _winners(
    scenario: Scenario, along: str, between: tuple[float, float], minimum: Minimum
) -> tuple[str, str]:
    """The mechanisms that win at the two ends of an interval."""
    ends = [phase(scenario.vary(**{along: p}), rule=Sobol(2**13), minimum=minimum) for p in between]
    low, high = (found.winner for found in ends)
    for p, found in zip(between, ends, strict=True):
        if found.winner not in NAMES:
            raise Absent(f"at {along} = {p:.4g} the winner is {found.winner}: {found.reason}")
    if low == high:
        raise Absent(f"the {low} mechanism wins at both ends of the interval")
    return high, low


def _check_crossing(
    difference: Difference, pair: tuple[str, str], location: Estimate, reason: str
) -> None:
    """Raise `Absent` if the losses of two branches cross, but it is no transition of first order:
    one of them is a saddle there, or the mixed one ends there."""
    if "mixed" in pair and reason:
        raise Absent(reason)
    for name in pair:
        solution = difference.branches[name].last
        if solution is not None and is_saddle(solution):
            raise Absent(
                f"the losses of the {' and the '.join(pair)} branch cross at {difference.along} = "
                f"{location:.4g}, but there the {name} one is a saddle, {stability_of(solution)}"
            )


def _continuous(
    scenario: Scenario,
    branch: str,
    along: str,
    between: tuple[float, float],
    precision: float,
    budget: int,
    minimum: Minimum,
    progress: Progress,
) -> Transition:
    """Where a branch with one signal becomes unstable along the other: there it turns into the
    mixed one."""
    found = critical(
        scenario,
        "instability",
        along,
        between,
        precision=precision,
        budget=budget,
        start=branch,
        minimum=minimum,
        progress=progress,
    )
    if found.outcome == "absent":
        return found
    letter = LETTERS.get(OTHER[branch], OTHER[branch])
    how = f"continuous: the {branch} branch becomes unstable along {letter} and turns mixed"
    return replace(found, reason="; ".join([how, *([found.reason] if found.reason else [])]))


def first_nodes(transition: str, budget: int, seed: int = 0) -> Sobol:
    """The nodes with which the search for a transition begins."""
    rough = 2**15  # nodes of each set, where a location is a mean over node sets
    if budget < 64:
        raise ValueError(f"budget: at least 64 nodes are needed, got {budget}")
    return Sobol(
        2**13 if transition in SMOOTH else min(rough, 2 ** int(np.log2(budget))), seed=seed
    )


def _on_one_set(
    difference: Difference, points: np.ndarray, rule: Sobol, precision: float
) -> tuple[float | None, int, str]:
    try:
        return coarse_root(difference, points, rule, precision), difference.evaluations, ""
    except Absent as error:
        return None, difference.evaluations, str(error)


def _checked(
    scenario: Scenario,
    transition: str,
    along: str,
    between: tuple[float, float],
    start: str,
    direction: str | None,
) -> str:
    """The direction of an instability; complains about what cannot be."""
    check_minimum(scenario)
    scenario.value_of(along)
    if transition not in TRANSITIONS:
        raise ValueError(
            f"transition: expected one of {', '.join(TRANSITIONS)}, got {transition!r}"
        )
    for end in between:
        try:
            scenario.vary(**{along: end})
        except ValueError as error:
            raise ValueError(f"between: {error}") from None
    if start not in NAMES:
        raise ValueError(f"start: expected one of {', '.join(NAMES)}, got {start!r}")
    direction = OTHER[start] if direction is None else {"θ": "theta"}.get(direction, direction)
    if direction not in PARTS:
        raise ValueError(f"direction: expected one of {', '.join(PARTS)}, got {direction!r}")
    return direction


@checked
def critical_line(
    scenario: Scenario,
    transition: str,
    values: Iterable[float],
    across: str = "mixing",
    progress: Progress = None,
    **options: Any,
) -> list[Transition]:
    """A transition traced over values of another parameter: α_c(ω) unless told otherwise.

    **Arguments**: `scenario`, `transition` and `options` as in `critical`; `values` of the parameter
    `across`; `progress(done, total)` is called after each.

    **Returns**: a list of `Transition`, one for each value.

    **Example**: `critical_line(paper(), "train-loss", [0.1, 0.2, 0.3])`.
    """
    with closing(track(list(values), f"{transition} transitions", progress)) as points:
        return [critical(scenario.vary(**{across: p}), transition, **options) for p in points]
