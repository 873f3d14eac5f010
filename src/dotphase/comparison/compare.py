"""`compare(scenario, d, seeds)`: theory, message passing and training of one scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..finite.checks import instances
from ..finite.data.source import Data
from ..finite.message_passing.gamp import gamp
from ..finite.training.runs import Runs
from ..finite.training.training import train
from ..numerics.progress import Progress, reporting
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.tables import brief, numbers, text_table
from ..scenario.arguments import checked
from ..scenario.scenario import Scenario
from ..scenario.validation import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..theory.solver.solution import Solution

STARTS = ("semantic", "positional", "mixed")  # starts that theory and experiments share
OBSERVABLES = ("test_error", "train_loss", "q", "m", "theta")
SYMBOLS = {"test_error": "ε_g", "train_loss": "ε_t", "q": "q", "m": "|m|", "theta": "|θ|"}


@dataclass(frozen=True, repr=False, eq=False)
class Entry(Result):
    """One observable on one branch: the theory's value, and the averages over seeds of both
    experiments.

    The averages are those at a teacher of the expected length (`Runs.adjusted`): its length
    fluctuates most from seed to seed. Sizes are averaged over tokens, as in `Runs`: Tr q_l, ‖m_l‖,
    ‖θ_l‖. Where the theory has exactly zero a size at finite d has a positive mean of order 1/√d,
    so no deviation is given there. `lowest`: the theory at the lowest minima, where `theory` is for
    the reached ones.
    """

    start: str
    observable: str
    theory: Estimate | None
    passed: Estimate
    trained: Estimate
    lowest: Estimate | None = None

    def deviation(self, experiment: Estimate) -> float | None:
        """(experiment − theory) in standard errors, with the theory's error added in quadrature;
        None if it is not defined."""
        if self.theory is None or not np.isfinite(experiment.error) or self.theory.value == 0:
            return None
        return float(experiment.deviation(self.theory))

    @property
    def headline(self) -> str:
        return f"{SYMBOLS[self.observable]} of the {self.start} branch"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "start": self.start,
                "observable": self.observable,
                "theory": self.theory,
                "lowest": self.lowest,
                "gamp": self.passed,
                "gamp_deviation": self.deviation(self.passed),
                "training": self.trained,
                "training_deviation": self.deviation(self.trained),
            }
        ]

    def to_dict(self) -> dict[str, Any]:
        theory = None if self.theory is None else self.theory.to_dict()
        row: dict[str, Any] = {"start": self.start, "observable": self.observable, "theory": theory}
        row["lowest"] = None if self.lowest is None else self.lowest.to_dict()
        for name, mean in (("gamp", self.passed), ("training", self.trained)):
            row[name] = {**mean.to_dict(), "deviation": self.deviation(mean)}
        return row


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """All entries, and the results they come from: `theory`, `passed`, `trained` by start;
    `symmetry`: how far replica symmetry holds at the lowest minima, in words
    (`Stability.symmetry`)."""

    scenario: Scenario
    dimension: int
    entries: tuple[Entry, ...]
    theory: dict[str, Solution]
    passed: dict[str, Runs]
    trained: dict[str, Runs]
    symmetry: dict[str, str]

    row = "entry"

    @property
    def headline(self) -> str:
        return (
            f"theory, message passing and training at d = {self.dimension}: {brief(self.scenario)}"
        )

    def rows(self) -> list[dict[str, Any]]:
        return [row for entry in self.entries for row in entry.rows()]

    @property
    def caveats(self) -> tuple[str, ...]:
        """Those of the theory, of message passing and of training, by start."""
        each = {"theory": self.theory, "message passing": self.passed, "training": self.trained}
        return tuple(
            f"{start}, {name}: {caveat}"
            for name, results in each.items()
            for start, result in results.items()
            for caveat in result.caveats
        )

    def plot(self) -> Figure:
        """Values and deviations from the theory of every observable."""
        from .plots import comparison_figure

        return comparison_figure(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "d": self.dimension,
            "scenario": numbers(self.scenario),
            "entries": [entry.to_dict() for entry in self.entries],
            "outcome": {
                start: {
                    "theory": self.theory[start].outcome,
                    "replica_symmetry": self.symmetry[start],
                    "gamp": self.passed[start].outcomes,
                    "training": self.trained[start].outcomes,
                    "mechanism": self.theory[start].mechanism,
                    "training_mechanisms": list(self.trained[start].mechanisms),
                }
                for start in self.theory
            },
        }

    def __str__(self) -> str:
        lines = [self.headline, text_table([self._row(entry) for entry in self.entries])]
        if any(solution.scenario.dimension for solution in self.theory.values()):
            lines.append(f"theory: that at d = {self.dimension}, to first order in 1/d")
        for start in self.theory:
            counts = _counts(self.passed[start], self.trained[start])
            lines.append(
                f"{start}: theory {self.theory[start].outcome} ({self.symmetry[start]}), {counts}"
            )
            lines.extend(self._left(start))
        return "\n".join(lines)

    def _row(self, entry: Entry) -> dict[str, Any]:
        """A row of the printed table, whose columns say which minima each theory is for."""
        minimum = next(iter(self.theory.values())).minimum
        row: dict[str, Any] = {"start": entry.start, " ": SYMBOLS[entry.observable]}
        row[f"theory, {minimum}"] = "no answer" if entry.theory is None else entry.theory
        if minimum != "lowest":
            row["theory, lowest"] = "no answer" if entry.lowest is None else entry.lowest
        for name, mean, unit in (
            ("message passing", entry.passed, "s.e."),
            ("training", entry.trained, "s.e. "),
        ):
            deviation = entry.deviation(mean)
            row |= {name: mean, unit: None if deviation is None else f"{deviation:+.1f}"}
        return row

    def _left(self, start: str) -> list[str]:
        """A line if training ended in another mechanism than the theory it is compared with."""
        theory, ended = self.theory[start].mechanism, self.trained[start].mechanisms
        elsewhere = [
            f"{name} (seed {run.seed})"
            for name, run in zip(ended, self.trained[start].runs, strict=True)
            if name != theory
        ]
        if not elsewhere:
            return []
        saddle = " It is a saddle." if _is_saddle(self.theory[start]) else ""
        return [
            f"  the theory is {theory}; training ended elsewhere: {', '.join(elsewhere)}.{saddle}"
        ]


@checked
def compare(
    scenario: Scenario,
    d: int | None = None,
    seeds: int | Iterable[int] = 8,
    starts: str | Sequence[str] | None = None,
    *,
    minimum: str = "reached",
    data: Data | None = None,
    progress: Progress = None,
) -> Comparison:
    """Solve, pass messages and train from the same starts, and compare the results.

    **Arguments**: `scenario`; `d` and `seeds` of the two experiments; `starts`, by name: semantic and
    positional unless given, and mixed where columns can share the work; `minimum` of theory and
    message passing, as in `solve`: the reached one by default, since training finds it
    (docs/minima.md), together with the lowest; `data`, sentences for the experiments, as in `train`;
    `progress`, True for a bar or a function `progress(done, total)`.

    **Returns**: a `Comparison`. Where training ended in another mechanism than the theory it is
    compared with, it says so, seed by seed.

    **Example**: `print(compare(paper(alpha=2), d=300, seeds=4))`.
    """
    from ..theory.solver.solve import solve, starts_of

    asked = starts_of(scenario, starts)
    starts = [start for start in asked if isinstance(start, str) and start in STARTS]
    if len(starts) < len(asked) or not asked:
        raise ValueError(
            f"starts: expected some of {', '.join(STARTS)}, which all three have; got {shown(asked)}"
        )
    realised = instances(scenario, d, seeds, data=data)
    seeds, d = [instance.seed for instance in realised], realised[0].dimension
    theory: dict[str, Solution] = {}
    lowest: dict[str, Solution] = {}
    passed: dict[str, Runs] = {}
    trained: dict[str, Runs] = {}
    done = 0
    with reporting(progress, f"comparing, d = {d}", len(starts) * (1 + 2 * len(seeds))) as report:
        for start in starts:
            report(done, f"{start}: theory")
            theory[start] = solve(scenario, start, minimum=minimum, d=d)
            if theory[start].minimum == "reached":
                lowest[start] = solve(scenario, start, minimum="lowest", d=d)
            report(done := done + 1, f"{start}: message passing")
            advance = lambda k, _, before=done: report(before + k)
            passed[start] = gamp(
                scenario, d, start, seeds, minimum=minimum, data=data, progress=advance
            )
            report(done := done + len(seeds), f"{start}: training")
            advance = lambda k, _, before=done: report(before + k)
            trained[start] = train(scenario, d, start, "lbfgs", seeds, data=data, progress=advance)
            done += len(seeds)
    entries = [
        Entry(
            start,
            name,
            theory_value(theory[start], name),
            passed[start].adjusted(name),
            trained[start].adjusted(name),
            theory_value(lowest[start], name) if start in lowest else None,
        )
        for start in starts
        for name in OBSERVABLES
    ]
    symmetry = {start: _symmetry(lowest.get(start, theory[start])) for start in starts}
    return Comparison(scenario, d, tuple(entries), theory, passed, trained, symmetry)


def _symmetry(lowest: Solution) -> str:
    return lowest.stability.symmetry if lowest.outcome != "stalled" else "replica symmetry unknown"


def _is_saddle(solution: Solution) -> bool:
    from ..theory.branches.search import is_saddle

    return solution.outcome != "stalled" and is_saddle(solution)


def theory_value(solution: Solution, name: str) -> Estimate | None:
    """An observable of the theory in the convention of `Runs`, or None where the solve gave no
    answer."""
    if solution.outcome not in ("converged", "imprecise"):
        return None
    return getattr(solution, name)


def _counts(*several: Runs) -> str:
    counts = [
        ", ".join(f"{count} {name}" for name, count in runs.outcomes.items()) for runs in several
    ]
    return f"message passing {counts[0]}, training {counts[1]}"
