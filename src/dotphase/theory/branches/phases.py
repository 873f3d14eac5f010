"""Which mechanism has the lowest training loss: the phase of a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numerics.rules import Sobol
from ...results.estimate import Estimate
from ...results.result import Result
from ...scenario.scenario import Scenario
from ..solver.solution import Solution
from ..solver.solve import Minimum, Start, solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class Phase(Result):
    """The branch of lowest training loss.

    - `winner`: its mechanism; "undecided" when the margin is within two errors, "unknown" when a
      solve stalled.
    - `margin`: by how much it is lower than the next, with the error of the difference.
    - `solutions`: all branches, the winner first. Starts that led to the same fixed point count
      once.
    """

    winner: str
    margin: Estimate
    solutions: tuple[Solution, ...]

    row = "branch"

    @property
    def headline(self) -> str:
        if not np.isfinite(self.margin.value):
            return f"{self.winner} ({'a solve stalled' if self.winner == 'unknown' else 'the only branch'})"
        return f"{self.winner}, by {self.margin} of training loss"

    def rows(self) -> list[dict[str, Any]]:
        return [row for solution in self.solutions for row in solution.rows()]

    def __str__(self) -> str:
        return "\n".join(
            [self.headline, *(f"  {solution.headline}" for solution in self.solutions)]
        )

    def plot(self) -> Figure:
        """The branches beside each other."""
        from ...plotting.quick import draw_solutions

        return draw_solutions(self.solutions)


def phase(
    scenario: Scenario,
    starts: Iterable[Start] = ("semantic", "positional"),
    rule: Sobol | None = None,
    minimum: Minimum = None,
) -> Phase:
    """Which mechanism the global minimum of the training loss has, as d → ∞.

    **Arguments**: `scenario`; `starts`, the branches compared; `rule`, the nodes they share (2^15
    unless given); `minimum` as in `solve`.

    **Example**

        phase(dotphase.paper(alpha=2, omega=0.3)).winner      # "semantic"
    """
    rule = rule or Sobol(2**15)
    return phase_of(
        [solve(scenario, start, rule=rule, rtol=None, minimum=minimum) for start in starts]
    )


def phase_of(solutions: Sequence[Solution]) -> Phase:
    """Which of several solutions of one scenario has the lowest training loss.

    On the same nodes the errors that two solutions share cancel in their difference; on different
    ones they add up.
    """
    found = _distinct(solutions)
    if any(s.outcome == "stalled" for s in found):
        return Phase("unknown", Estimate(np.nan, np.inf), tuple(found))
    found.sort(key=lambda s: float(s.train_loss.value))
    if len(found) == 1:
        return Phase(found[0].mechanism, Estimate(np.inf, 0.0), tuple(found))
    best, second = found[:2]
    error = float(np.hypot(best.train_loss.error, second.train_loss.error))
    if best.rule == second.rule:
        error = float(best.rule.error(second.deviations.train_loss - best.deviations.train_loss))
    margin = Estimate(float(second.train_loss.value - best.train_loss.value), error)
    return Phase(
        best.mechanism if margin.value > 2 * margin.error else "undecided", margin, tuple(found)
    )


def _distinct(found: Sequence[Solution]) -> list[Solution]:
    """Without the collapsed ones whose fixed point another start, or nothing of interest, stands
    for."""
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
