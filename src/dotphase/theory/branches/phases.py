"""Which mechanism has the lowest minimum of the training loss: the phase of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numerics.progress import Progress, counting
from ...numerics.rules import Rule, Sobol
from ...results.estimate import Estimate
from ...results.result import Result
from ...scenario.arguments import checked
from ...scenario.scenario import Scenario
from ..solver.checks import check_minimum
from ..solver.solution import Solution
from ..solver.solve import Minimum, Start, starts_of
from .search import Search, is_saddle, random_starts, stability_or_none

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class Phase(Result):
    """The minimum of lowest training loss.

    - `winner`: its mechanism; "undecided" when the margin is within two errors, or when a saddle
      lies below it; "unknown" when a solve stalled or no minimum was found. A saddle never wins.
    - `margin`: by how much it is lower than the next fixed point, with the error of the difference.
    - `solutions`: all fixed points, the winner first. Starts that led to the same one count once.
    - `reason`: a remark on the result; empty if there is none.
    """

    winner: str
    margin: Estimate
    solutions: tuple[Solution, ...]
    reason: str = ""

    row = "branch"

    @property
    def headline(self) -> str:
        if self.winner == "unknown":
            return f"unknown ({self.reason})"
        if not np.isfinite(self.margin.value):
            return f"{self.winner} (the only fixed point found)"
        second = self.solutions[1]
        saddle = ", a saddle" if is_saddle(second) else ""
        return (
            f"{self.winner}, by {self.margin} of training loss (next: {second.mechanism}{saddle})"
        )

    def rows(self) -> list[dict[str, Any]]:
        return [row for solution in self.solutions for row in solution.rows()]

    @property
    def caveats(self) -> tuple[str, ...]:
        """Its remark, and the caveats of the winner."""
        own = [self.reason] if self.reason else []
        won = [
            c for s in self.solutions[:1] for c in s.caveats if stability_of(s) not in self.reason
        ]
        return tuple(dict.fromkeys([*own, *won]))

    def __str__(self) -> str:
        lines = [self.headline, *(f"  {_described(solution)}" for solution in self.solutions)]
        return "\n".join([*lines, *([f"  {self.reason}"] if self.reason else [])])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as `dotphase phase --json` prints them."""
        return {
            "winner": self.winner,
            "margin": self.margin.to_dict(),
            "reason": self.reason,
            "solutions": [s.to_dict() | {"stability": stability_of(s)} for s in self.solutions],
        }

    def plot(self) -> Figure:
        """The branches beside each other."""
        from ...plotting.quick import draw_solutions

        return draw_solutions(self.solutions)


@checked
def phase(
    scenario: Scenario,
    starts: Start | Iterable[Start] | None = None,
    *,
    rule: Rule | None = None,
    minimum: Minimum = None,
    check: bool | None = None,
    progress: Progress = None,
) -> Phase:
    """Which mechanism the global minimum of the training loss has, as d → ∞.

    The equations are solved from every start. If the lowest fixed point is unstable (a saddle), the
    search continues from both sides of it along its unstable directions, until the lowest fixed
    point is stable.

    **Arguments**

    - `scenario`: what is learned.
    - `starts`: one or several; semantic and positional unless given, and mixed where columns can share the work.
    - `rule`: the nodes that all solves share (2^15 unless given); `minimum` as in `solve`.
    - `check`: also begin at random overlaps and leave every saddle that is found. Unless given,
      for students of rank two or more.
    - `progress`: True for a bar, or a function called with the number of solves so far and None.

    **Returns**: a `Phase`.

    **Example**

        phase(dotphase.paper(alpha=2, omega=0.3)).winner      # "semantic"
    """
    check_minimum(scenario)
    check = scenario.student.rank > 1 if check is None else check
    with counting(progress, "fixed points") as tried:
        search = Search(scenario, rule or Sobol(2**15), minimum, tried)
        for start in starts_of(scenario, starts):
            search.begin(start)
        missed = list(search.stalled)
        for start in random_starts(scenario) if check else ():
            search.begin(start)
        search.leave_saddles(every=check)
    reason = f"the search was stopped after {search.solves} solves" if search.exhausted else ""
    return phase_of([*search.found, *missed], reason)


def phase_of(solutions: Sequence[Solution], reason: str = "") -> Phase:
    """Which of several solutions of one scenario is the minimum of lowest training loss.

    On the same nodes the errors that two solutions share cancel in their difference; on different
    ones they add up.
    """
    by_loss = lambda s: float(s.train_loss.value)
    nothing = Estimate(np.nan, np.inf)
    found = sorted((s for s in _distinct(solutions) if s.outcome != "stalled"), key=by_loss)
    stalled = [s for s in solutions if s.outcome == "stalled"]
    if stalled:
        which = ", ".join(dict.fromkeys(s.branch for s in stalled))
        return Phase("unknown", nothing, (*found, *stalled), f"the {which} solve stalled")
    best = next((s for s in found if not is_saddle(s)), None)
    if best is None:
        return Phase("unknown", nothing, tuple(found), "every fixed point found is a saddle")
    if stability_of(best).startswith("undecided"):
        reason = "; ".join([*([reason] if reason else []), f"the winner is {stability_of(best)}"])
    others = [s for s in found if s is not best]
    alike = sum(s.mechanism == best.mechanism for s in others)
    if alike:
        several = f"{alike + 1} different fixed points are {best.mechanism}"
        reason = "; ".join([*([reason] if reason else []), several])
    lower = [margin for margin in (margin_between(best, s) for s in others) if margin.value < 0]
    if any(margin.value < -2 * margin.error for margin in lower):
        reason = "a saddle lies below the best minimum found: a lower minimum exists but was missed"
        return Phase("undecided", nothing, (best, *others), reason)
    if not others:
        return Phase(best.mechanism, Estimate(np.inf, 0.0), (best,), reason)
    margin = margin_between(best, others[0])
    same = others[0].mechanism == best.mechanism
    decided = margin.value > 2 * margin.error or same or is_saddle(others[0])
    return Phase(best.mechanism if decided else "undecided", margin, (best, *others), reason)


def margin_between(best: Solution, second: Solution) -> Estimate:
    """ε_t(second) − ε_t(best): by how much the training loss of one solution is lower than that of
    another.

    On the same nodes the errors that the two share cancel in the difference; on different ones they
    add up.
    """
    error = float(np.hypot(best.train_loss.error, second.train_loss.error))
    if best.rule == second.rule:
        error = float(best.rule.error(second.deviations.train_loss - best.deviations.train_loss))
    return Estimate(float(second.train_loss.value - best.train_loss.value), error)


def stability_of(solution: Solution) -> str:
    """Whether a solution is stable, in words; "unknown" where that cannot be worked out."""
    stability = stability_or_none(solution)
    return "unknown" if stability is None else stability.branch


def _described(solution: Solution) -> str:
    if solution.outcome == "stalled":
        return solution.headline
    several = solution.mechanism == "mixed" and len(solution.columns) > 1
    columns = f"  columns {', '.join(solution.columns)}" if several else ""
    return f"{solution.headline}{columns}  {_verdict_of(solution)}"


def _verdict_of(solution: Solution) -> str:
    """Its stability; and replica symmetry where that is broken, or may be: then no number is exact."""
    stability = stability_or_none(solution)
    if stability is None:
        return "unknown"
    broken = stability.symmetry.startswith(("broken", "undecided"))
    return stability.verdict if broken else stability.branch


def _distinct(found: Sequence[Solution]) -> list[Solution]:
    """Every fixed point once: a solution is left out if one of the same mechanism and the same
    training loss is already in the list."""
    kept: list[Solution] = []
    for s in found:
        alike = [t for t in kept if t.mechanism == s.mechanism and s.outcome != "stalled"]
        # On different nodes one fixed point has two values, equal within their errors.
        near = lambda t, s=s: (
            1e-9
            if t.rule == s.rule
            else 3 * float(np.hypot(t.train_loss.error, s.train_loss.error))
        )
        if not any(abs(float(t.train_loss.value - s.train_loss.value)) < near(t) for t in alike):
            kept.append(s)
    return kept
