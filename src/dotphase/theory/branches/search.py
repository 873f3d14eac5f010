"""The search for minima: a fixed point that is unstable is left along its unstable directions, until
what is found is stable.

A fixed point of the equations is a stationary point of the loss. Where an eigenvalue of ∂map/∂x has
a real part above one it is a saddle: a small deviation in that direction grows, and the loss falls.
Students of rank two or more, and several heads, have many saddles: their columns can all do the same
thing or share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...numerics.precision import in_double
from ...numerics.progress import Progress, counting
from ...numerics.rules import Rule
from ...overlaps.coordinates import coordinates_of, overlaps_at
from ...overlaps.overlaps import Overlaps
from ...overlaps.symmetric import Group
from ...scenario.arguments import checked
from ...scenario.attentions.symmetry import apply, symmetries
from ...scenario.scenario import Scenario
from ..solver.options import SolverOptions
from ..solver.solution import Solution, SolveError
from ..solver.solve import Minimum, Start, solve
from ..solver.starts import random_start, usual_starts
from ..solver.starts import start as named_start

if TYPE_CHECKING:
    from ..stability.stability import Stability


@checked
def find_fixed_points(
    scenario: Scenario,
    *,
    rule: Rule | None = None,
    extra: Iterable[Overlaps] = (),
    minimum: Minimum = None,
    progress: Progress = None,
) -> list[Solution]:
    """All fixed points that a search from many starts finds, lowest training loss first, each once.

    Starts are the named ones, mixtures of the semantic and the positional one (m ≠ 0 and θ ≠ 0) in
    several proportions and with several responses V, random overlaps, and `extra`. A fixed point
    that is unstable is left along its unstable directions, and what lies there is found too; its
    `stability.is_saddle` is True. Fixed points that differ by a symmetry of the scenario or by a
    rotation of the student's columns are one.

    **Arguments**: `scenario`, `minimum` and `rule` as in `solve`; `extra` overlaps to start from;
    `progress(done, total)` is called after each.

    **Returns**: solutions, each with its mechanism as its `branch`.

    **Example**: `[s.mechanism for s in find_fixed_points(paper(alpha=2, omega=0.3))]`.
    """
    named = [*usual_starts(scenario), "uninformed"]
    starts: list[Start] = [*named, *_mixtures(scenario), *random_starts(scenario), *extra]
    with counting(progress, "fixed points") as tried:
        search = Search(scenario, rule, minimum, tried)
        for start in starts:
            search.begin(start)
        search.leave_saddles(every=True)
    return sorted(search.found, key=lambda s: float(s.train_loss.value))


@dataclass
class Search:
    """A search for the fixed points of one scenario.

    - `found`: distinct fixed points;  `stalled`: solves from which nothing was found.
    - `most`: solves, at most;  `exhausted`: whether they did not suffice.
    """

    scenario: Scenario
    rule: Rule | None = None
    minimum: Minimum = None
    tried: Callable[[], None] = lambda: None
    most: int = 60
    found: list[Solution] = field(default_factory=list)
    stalled: list[Solution] = field(default_factory=list)
    solves: int = 0

    @property
    def exhausted(self) -> bool:
        return self.solves >= self.most

    def begin(self, start: Start, solver: SolverOptions | None = None) -> Solution | None:
        """Solve from a start; the fixed point, if it is a new one."""
        solution = solve(
            self.scenario, start, rule=self.rule, rtol=None, minimum=self.minimum, solver=solver
        )
        self.solves += 1
        self.tried()
        if solution.outcome == "stalled":
            self.stalled.append(solution)
            return None
        group = symmetries(self.scenario)
        if any(same(solution, other, group) for other in self.found):
            return None
        outcome = "converged" if solution.outcome == "collapsed" else solution.outcome
        reason = "" if outcome == "converged" else solution.reason
        new = replace(solution, branch=solution.mechanism, outcome=outcome, reason=reason)
        self.found.append(new)
        return new

    def leave_saddles(self, every: bool) -> None:
        """Leave unstable fixed points along their unstable directions and solve again, until the
        lowest that is found is stable; or until every one has been looked at."""
        seen: set[int] = set()
        by_loss = lambda s: float(s.train_loss.value)
        while not self.exhausted:
            for solution in sorted(self.found, key=by_loss):
                if id(solution) not in seen:
                    break
                if not every and not is_saddle(solution):
                    return
            else:
                return
            self._leave(solution)
            seen.add(id(solution))

    def _leave(self, solution: Solution) -> None:
        for direction in growing(solution)[:4]:
            for size in (0.3, 1.0):
                before = len(self.found)
                for start in beside(solution, size * direction):
                    self.begin(start, SolverOptions(first_step=0.5))
                if len(self.found) > before:
                    break


def stability_or_none(solution: Solution) -> Stability | None:
    """The stability of a solution; None where it cannot be worked out."""
    try:
        return solution.stability
    except (SolveError, ArithmeticError):
        return None


def is_saddle(solution: Solution) -> bool:
    """Whether a fixed point is unstable beyond doubt; False where its stability is not known."""
    stability = stability_or_none(solution)
    return stability is not None and stability.is_saddle


def growing(solution: Solution) -> list[np.ndarray]:
    """The directions in which a deviation grows, or may grow, the fastest first."""
    stability = stability_or_none(solution)
    return [] if stability is None else [np.real(at.direction) for at in stability.growing]


@in_double
def beside(solution: Solution, move: np.ndarray) -> list[Overlaps]:
    """The overlaps on either side of a fixed point, along a move of its coordinates; one of them if
    a symmetry makes the other of it."""
    rho, rank = solution.scenario.distribution.joint_rho, solution.scenario.student.rank
    x = np.asarray(coordinates_of(solution.state, rho))
    sides = [
        Overlaps(*map(np.asarray, overlaps_at(x + sign * move, rho, rank))) for sign in (1, -1)
    ]
    if solution.joint is not None:
        return sides
    one, other = sides
    images = (apply(g, *one) for g in symmetries(solution.scenario))
    alike = any(
        all(np.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in zip(image, other, strict=True))
        for image in images
    )
    return [one] if alike else sides


def random_starts(scenario: Scenario, count: int = 3) -> list[Overlaps]:
    """Random overlaps of the size that the named starts have."""
    return [random_start(scenario, seed) for seed in range(count)]


def _mixtures(scenario: Scenario) -> list[Overlaps]:
    if not np.any(scenario.distribution.gram):
        return []
    semantic, positional = (named_start(scenario, name) for name in ("semantic", "positional"))
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


def same(a: Solution, b: Solution, group: Group) -> bool:
    """Whether two fixed points are one, up to a symmetry and a rotation of the student's columns.

    One fixed point found twice may have been averaged over nodes of different symmetry: its losses
    then agree within their errors. Two that lie closer than that cannot be told apart.
    """
    pairs = ((a.test_error, b.test_error), (a.train_loss, b.train_loss))
    if a.mechanism != b.mechanism or any(
        abs(p.value - r.value) > 3 * np.hypot(p.error, r.error) for p, r in pairs
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
