"""`branches`: the mechanisms beside each other over a parameter, with errors, and which of them
wins where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numerics.progress import Progress, reporting
from ...numerics.rules import Rule
from ...results.estimate import Estimate
from ...results.result import Result
from ...results.tables import brief
from ...scenario.arguments import checked
from ...scenario.scenario import ALIASES, Scenario
from ...scenario.validation import shown
from ..baseline import linear_baseline
from ..solver.checks import check_minimum
from ..solver.solution import Solution
from ..solver.solve import Minimum, starts_of
from .continuation import follow
from .phases import Phase, phase_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class Branches(Result):
    """Branches followed along a parameter.

    - `along`: the parameter; `values`: its values, rising, (k,).
    - `solutions`: by start, one solution per value; where a branch does not exist its outcome says
      so.
    - `baseline`: ε_lin of the linear positional baseline at every value.
    """

    scenario: Scenario
    along: str
    values: np.ndarray
    solutions: dict[str, tuple[Solution, ...]]
    baseline: tuple[Estimate, ...]

    row, curve = "point", True

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Which mechanism has the lowest training loss, at every value."""
        return tuple(phase_of(several) for several in zip(*self.solutions.values(), strict=True))

    @property
    def headline(self) -> str:
        ends = f"{self.values[0]:g} to {self.values[-1]:g}"
        return f"{' and '.join(self.solutions)} branches, {len(self.values)} values of {self.along} from {ends}"

    def __str__(self) -> str:
        lines = [self.headline, f"  {brief(self.scenario)}"]
        for value, phase in zip(self.values, self.phases, strict=True):
            lines.append(f"  {self.along} = {value:<8g} {phase.headline}")
        return "\n".join(lines)

    def rows(self) -> list[dict[str, Any]]:
        winners = [phase.winner for phase in self.phases]
        return [
            {**row, "baseline": self.baseline[k], "winner": winners[k]}
            for followed in self.solutions.values()
            for k, solution in enumerate(followed)
            for row in solution.rows()
        ]

    @property
    def caveats(self) -> tuple[str, ...]:
        """Those of every solution, with its place."""
        return tuple(
            f"{self.along} = {value:g}, {start}: {caveat}"
            for start, followed in self.solutions.items()
            for value, solution in zip(self.values, followed, strict=True)
            for caveat in solution.caveats
        )

    def plot(self) -> Figure:
        """Test error, training loss and overlaps over the parameter, with bands of one standard
        error."""
        from ...plotting.quick import draw_curves

        return draw_curves(self)


@checked
def branches(
    scenario: Scenario,
    values: Iterable[float],
    along: str = "sample_ratio",
    starts: str | Sequence[str] | None = None,
    *,
    rule: Rule | None = None,
    rtol: float | None = 5e-3,
    minimum: Minimum = None,
    progress: Progress = None,
) -> Branches:
    """Branches over values of a parameter, each followed from where it is sure to exist.

    The semantic branch is followed downwards (from many samples), the others upwards.

    **Arguments**: `scenario`; `values` of the parameter `along`, by any name `Scenario.vary` takes;
    `starts`, the branches, one or several, semantic and positional unless given, and mixed where columns can share
    the work; `rule`, `rtol`, `minimum` as in `solve`; `progress`, True for a bar or a
    function `progress(done, total)`.

    **Returns**: `Branches`: the solutions of each branch at each value, the phase there, and the
    linear baseline.

    **Example**

        dotphase.branches(dotphase.paper(omega=0.3), [0.75, 1, 1.25, 1.5, 2]).plot().savefig("branches.png")
    """
    check_minimum(scenario)
    names = starts_of(scenario, starts)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"starts: expected starts by name, got {shown(starts)}")
    along, points = ALIASES.get(along, along), _points(values)
    scenario.value_of(along)
    if not points.size or not names:
        raise ValueError("values, starts: at least one of each is needed")
    found: dict[str, tuple[Solution, ...]] = {}
    with reporting(progress, "following branches", len(names) * len(points)) as report:
        for number, start in enumerate(map(str, names)):
            order = points[::-1] if start == "semantic" else points
            before = number * len(points)
            options: dict[str, Any] = {"rule": rule, "rtol": rtol, "minimum": minimum}
            options["progress"] = lambda done, total, before=before: report(before + done)
            followed = follow(scenario, order.tolist(), along, start, **options)
            found[start] = tuple(followed[::-1] if start == "semantic" else followed)
    baseline = tuple(
        linear_baseline(scenario.vary(**{along: value})).test_error for value in points.tolist()
    )
    return Branches(scenario, along, points, found, baseline)


def _points(values: Iterable[float]) -> np.ndarray:
    try:
        return np.unique(np.asarray(list(values), float))
    except (TypeError, ValueError):
        raise ValueError(f"values: expected several numbers, got {values!r}") from None
