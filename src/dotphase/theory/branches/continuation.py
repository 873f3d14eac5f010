"""A branch followed from one scenario to the next: curves, transitions, ends of branches and optimal
ridges are all found with it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

from ...numerics.progress import Progress, track
from ...numerics.rules import Rule
from ...scenario.arguments import checked
from ...scenario.scenario import Scenario
from ..solver.solution import USABLE, Solution
from ..solver.solve import Minimum, Start, solve


@dataclass
class Follower:
    """`follower(scenario)` is the branch of `start` there. Each solve begins at the last solution
    that was usable; where that fails, at the start itself.

    - `rule`, `rtol`, `minimum`: as in `solve`.
    - `last`: the last usable solution;  `evaluations`: of the map, all solves together.
    """

    start: Start
    rule: Rule | None = None
    rtol: float | None = None
    minimum: Minimum = None
    last: Solution | None = None
    evaluations: int = 0

    def __call__(self, scenario: Scenario) -> Solution:
        solution = self._solved(scenario, self.start if self.last is None else self.last)
        if solution.outcome not in USABLE and self.last is not None:
            again = self._solved(scenario, self.start)
            if again.outcome in USABLE or solution.outcome == "stalled":
                solution = again
        if solution.outcome in USABLE:
            self.last = solution
        return solution

    def _solved(self, scenario: Scenario, start: Start) -> Solution:
        found = solve(scenario, start, rule=self.rule, rtol=self.rtol, minimum=self.minimum)
        self.evaluations += found.evaluations
        return found


@checked
def follow(
    scenario: Scenario,
    values: Iterable[float],
    along: str = "sample_ratio",
    start: Start = "semantic",
    *,
    rule: Rule | None = None,
    rtol: float | None = None,
    minimum: Minimum = None,
    progress: Progress = None,
) -> list[Solution]:
    """The branch of a start at each of `values` of a parameter, every solve begun at the last that
    succeeded.

    Where continuation fails the start itself is tried; what fails still is in the list, with its
    reason.

    **Arguments**: `scenario`, `start`, `minimum`, `rule`, `rtol` as in `solve`; `values`
    of the parameter `along`, by any name that `Scenario.vary` takes, in the order of the
    continuation; `progress(done, total)` is called after each.

    **Returns**: a list of `Solution`, in the order of `values`.

    **Example**

        follow(dotphase.paper(omega=0.3), [2, 1.5, 1, 0.7])
    """
    branch = Follower(start, rule, rtol, minimum)
    name = start if isinstance(start, str) else "given"
    with closing(track(list(values), f"following the {name} branch", progress)) as points:
        return [branch(scenario.vary(**{along: value})) for value in points]
