"""Branches: a fixed point followed along a parameter, where it ends, and all fixed points there
are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

import numpy as np

from ...numerics.progress import Progress, counting, track
from ...numerics.rules import Rule, Sobol
from ...overlaps.overlaps import Overlaps
from ...scenario.attentions.symmetry import apply, symmetries
from ...scenario.scenario import ALIASES, Scenario
from ..solver.solution import USABLE, Solution
from ..solver.solve import Minimum, Start, solve
from ..solver.starts import NAMES
from ..solver.starts import start as named_start
from .roots import SCANNED, Transition, over_node_sets, scan_points


def follow(
    scenario: Scenario,
    start: Start,
    parameter: str,
    values: Iterable[float],
    rule: Rule | None = None,
    rtol: float | None = None,
    progress: Progress = None,
    minimum: Minimum = None,
) -> list[Solution]:
    """The branch of a start at each of `values` of a parameter, every solve begun at the last that
    succeeded.

    Where continuation fails the start itself is tried; what fails still is in the list, with its
    reason.

    **Arguments**: `scenario`, `start`, `minimum`, `rule`, `rtol` as in `solve`; `parameter`, by any
    name that `Scenario.vary` takes; `values` in the order of the continuation; `progress(done,
    total)` is called after each.

    **Example**

        follow(dotphase.paper(omega=0.3), "semantic", "alpha", [2, 1.5, 1, 0.7])
    """
    found: list[Solution] = []
    last = start
    for value in track(
        list(values),
        f"following the {start if isinstance(start, str) else 'given'} branch",
        progress,
    ):
        solution = _continued(scenario.vary(**{parameter: value}), last, start, rule, rtol, minimum)
        if solution.outcome in USABLE:
            last = solution
        found.append(solution)
    return found


def _continued(
    scenario: Scenario,
    last: Start,
    start: Start,
    rule: Rule | None,
    rtol: float | None,
    minimum: Minimum,
) -> Solution:
    solution = solve(scenario, last, rule=rule, rtol=rtol, minimum=minimum)
    if solution.outcome in USABLE or last is start:
        return solution
    again = solve(scenario, start, rule=rule, rtol=rtol, minimum=minimum)
    return again if again.outcome in USABLE or solution.outcome == "stalled" else solution


def spinodal(
    scenario: Scenario,
    start: str = "semantic",
    along: str = "sample_ratio",
    between: tuple[float, float] = (0.2, 5.0),
    precision: float = 2e-3,
    rule: Sobol | None = None,
    scan: int = SCANNED,
    minimum: Minimum = None,
    progress: Progress = None,
) -> Transition:
    """Where a branch ends along a parameter: the first end met from the upper side, whether the
    branch lies above it or below (`reason` says which).

    The end is located by bisection to a quarter of `precision` on each of several independent node
    sets; the location is their mean, its error their standard error, which may well be larger than
    `precision`: near its end a branch is soft, and sampling errors are amplified.

    **Arguments**: `scenario`, `along`, `between`, `precision`, `rule`, `scan`, `minimum` and
    `progress` as in `critical`; `start`: the branch.

    **Example**: `spinodal(paper(omega=0.3), "semantic").location`.
    """
    along = ALIASES.get(along, along)
    points = scan_points(between, scan)
    with counting(progress, "spinodal") as tried:
        end = lambda nodes: _end(
            scenario, start, along, points, nodes, precision / 4, minimum, tried
        )
        return over_node_sets("spinodal", along, rule or Sobol(2**14), precision, end)


def _end(
    scenario: Scenario,
    start: str,
    along: str,
    points: np.ndarray,
    rule: Sobol,
    width: float,
    minimum: Minimum = None,
    tried: Callable[[], None] = lambda: None,
) -> tuple[float | None, int, str]:
    """The end of a branch on one node set (None if there is none), the evaluations, and on which
    side it lies."""
    last: Start = start
    spent = 0

    def exists(p: float) -> bool | None:
        """None where that cannot be told."""
        nonlocal last, spent
        solution = _continued(scenario.vary(**{along: p}), last, start, rule, None, minimum)
        spent += solution.evaluations
        tried()
        if solution.outcome == "stalled":
            return None
        there = solution.outcome in USABLE and _present(solution, start)
        if there:
            last = solution
        return there

    seen: list[tuple[float, bool]] = []
    for p in map(float, points):
        there = exists(p)
        if there is not None:
            seen.append((p, there))
        if len(seen) > 1 and seen[-1][1] != seen[-2][1]:
            break
    else:
        what = (
            "does not end"
            if seen and seen[0][1]
            else "exists nowhere"
            if seen
            else "cannot be followed"
        )
        return (
            None,
            spent,
            f"the {start} branch {what} between {along} = {min(points):.4g} and {max(points):.4g}",
        )
    (outside, _), (inside, _) = sorted(seen[-2:], key=lambda pair: pair[1])
    while abs(inside - outside) > width:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if exists(middle) else (inside, middle)
    side = "above" if inside > outside else "below"
    return (inside + outside) / 2, spent, f"the {start} branch lies {side}"


def _present(solution: Solution, start: str) -> bool:
    """Whether the order parameter of a mechanism, θ or m, is there.

    Jumps of single nodes can hold it at a value that is tiny and within its error: that does not
    count.
    """
    significant = 3.0  # errors by which an order parameter must differ from zero
    part = {"semantic": "theta", "positional": "m"}.get(start)
    if part is None:
        return solution.mechanism == start
    value, error = getattr(solution.overlaps, part), getattr(solution.overlap_errors, part)
    largest = np.unravel_index(np.abs(value).argmax(), value.shape)
    return bool(abs(value[largest]) > significant * error[largest]) and solution.mechanism in (
        start,
        "mixed",
    )


def find_fixed_points(
    scenario: Scenario,
    rule: Rule | None = None,
    extra: Iterable[Overlaps] = (),
    progress: Progress = None,
    minimum: Minimum = None,
) -> list[Solution]:
    """All fixed points that a search from many starts finds, lowest training loss first, each once.

    Starts are the named ones, mixtures of the semantic and the positional one (m ≠ 0 and θ ≠ 0) in
    several proportions and with several responses V, and `extra`. Fixed points that differ by a
    symmetry of the scenario or by a rotation of the student's columns are one.

    **Arguments**: `scenario`, `minimum` and `rule` as in `solve`; `extra` overlaps to start from;
    `progress(done, total)` is called after each.

    **Example**: `[s.mechanism for s in find_fixed_points(paper(alpha=2, omega=0.3))]`.
    """
    starts: list[Start] = [*NAMES, *_mixed(scenario), *extra]
    group, found = symmetries(scenario), []
    for begin in track(starts, "fixed points", progress):
        try:
            solution = solve(scenario, begin, rule=rule, rtol=None, minimum=minimum)
        except ValueError:
            if isinstance(begin, str):  # a scenario without positions has no positional start
                continue
            raise
        if solution.outcome != "stalled" and not any(
            _same(solution, other, group) for other in found
        ):
            found.append(
                replace(solution, branch=solution.mechanism, outcome="converged", reason="")
            )
    return sorted(found, key=lambda s: float(s.train_loss.value))


def _mixed(scenario: Scenario) -> list[Overlaps]:
    try:
        semantic, positional = (named_start(scenario, name) for name in ("semantic", "positional"))
    except ValueError:
        return []
    mixtures = []
    for share, response in product((0.25, 0.5, 0.75), (0.5, 2.0)):
        part = lambda a, b, share=share: share * a + (1 - share) * b
        mixtures.append(
            Overlaps(
                part(semantic.q, positional.q),
                response * semantic.V,
                np.sqrt(1 - share) * positional.m,
                share * semantic.theta,
            )
        )
    return mixtures


def _same(a: Solution, b: Solution, group) -> bool:
    """Whether two fixed points are one, up to a symmetry and a rotation of the student's columns.

    On the same nodes, one fixed point found twice differs by how a few nodes near a jump were
    blurred: by far less than its standard error. Two that lie closer than that cannot be told
    apart.
    """
    pairs = ((a.test_error, b.test_error), (a.train_loss, b.train_loss))
    if a.mechanism != b.mechanism or any(
        abs(p.value - r.value) > max(p.error, r.error) for p, r in pairs
    ):
        return False
    here = _invariants(a.overlaps)
    images = (_invariants(Overlaps(*apply(g, *b.overlaps))) for g in group)
    return any(np.abs(here - there).max() < 0.05 * np.abs(here).max() for there in images)


def _invariants(overlaps: Overlaps) -> np.ndarray:
    """What a rotation of the student's columns leaves alone: products of m, θ and q summed over
    them."""
    q, V, m, theta = overlaps
    columns = (
        np.concatenate([m[:, :, None], theta], axis=2).transpose(1, 0, 2).reshape(q.shape[1], -1)
    )
    unit = np.sqrt(np.trace(q, axis1=1, axis2=2).max())
    through = np.einsum("ai,lab,bj->lij", columns, q, columns) / unit**4
    pairs = np.einsum("lab,kba->lk", q, q) / unit**4
    traces = np.einsum("laa->l", V) / np.einsum("laa->l", V).max()
    parts = (columns.T @ columns / unit**2, through, pairs, traces, np.log(unit)[None])
    return np.concatenate([np.ravel(part) for part in parts])
