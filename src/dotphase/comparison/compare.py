"""`compare(scenario, d, seeds)`: what the theory says, what message passing finds, what training finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimate import Estimate
from ..finite import Runs, gamp, train
from ..scenario import Scenario
from ..theory import Solution, solve

OBSERVABLES = ("test_error", "train_loss", "q", "m", "theta")
SYMBOLS = {"test_error": "ε_g", "train_loss": "ε_t", "q": "q", "m": "|m|", "theta": "|θ|"}


@dataclass(frozen=True)
class Entry:
    """One observable on one branch: the theory's value, and the averages over seeds of both experiments.

    The averages are those at a teacher of the expected length (`Runs.adjusted`): its length is what
    fluctuates most from seed to seed. Sizes are averaged over tokens, as in `Runs`: Tr q_l, ‖m_l‖, ‖θ_l‖.
    Where the theory has exactly zero a size at finite d has a positive mean of order 1/√d, so no deviation
    is given there.
    """

    start: str
    observable: str
    theory: Estimate | None
    passed: Estimate
    trained: Estimate

    def deviation(self, experiment: Estimate) -> float | None:
        """(experiment − theory) in standard errors, the theory's own added in squares; None if there is none
        to tell."""
        if self.theory is None or not np.isfinite(experiment.error) or self.theory.value == 0:
            return None
        return float(experiment.deviation(self.theory))

    def to_dict(self) -> dict[str, Any]:
        theory = None if self.theory is None else self.theory.to_dict()
        row: dict[str, Any] = {"start": self.start, "observable": self.observable, "theory": theory}
        for name, mean in (("gamp", self.passed), ("training", self.trained)):
            row[name] = {**mean.to_dict(), "deviation": self.deviation(mean)}
        return row


@dataclass(frozen=True, eq=False)
class Comparison:
    """All entries, and what they were made from: `theory`, `passed`, `trained` by start."""

    scenario: Scenario
    dimension: int
    entries: tuple[Entry, ...]
    theory: dict[str, Solution]
    passed: dict[str, Runs]
    trained: dict[str, Runs]

    def to_dict(self) -> dict[str, Any]:
        return {
            "d": self.dimension,
            "entries": [entry.to_dict() for entry in self.entries],
            "outcome": {
                start: {
                    "theory": self.theory[start].outcome,
                    "gamp": self.passed[start].outcomes,
                    "training": self.trained[start].outcomes,
                }
                for start in self.theory
            },
        }

    def __str__(self) -> str:
        head = ("start", "", "theory", "message passing", "s.e.", "training", "s.e.")
        rows = [head, *(_row(entry) for entry in self.entries)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        for start in self.theory:
            counts = _counts(self.passed[start], self.trained[start])
            lines.append(f"{start}: theory {self.theory[start].outcome}, {counts}")
        return "\n".join([f"d = {self.dimension}, α = {self.scenario.sample_ratio:g}", *lines])


def compare(
    scenario: Scenario,
    d: int,
    seeds: int | Iterable[int] = 8,
    starts: Sequence[str] = ("semantic", "positional"),
    *,
    progress: bool = False,
) -> Comparison:
    """Solve, pass messages and train from the same starts, and lay the answers over each other.

    **Arguments**: `scenario`; `d` and `seeds` of the two experiments; `starts`, by name; `progress`, bars
    while they run.

    **Example**: `print(compare(paper(alpha=2), d=500, seeds=8))`.
    """
    listed = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    theory = {start: solve(scenario, start) for start in starts}
    passed = {start: gamp(scenario, d, start, listed, progress=progress) for start in starts}
    trained = {start: train(scenario, d, start, "lbfgs", listed, progress=progress) for start in starts}
    entries = [
        Entry(
            start,
            name,
            theory_value(theory[start], name),
            passed[start].adjusted(name),
            trained[start].adjusted(name),
        )
        for start in starts
        for name in OBSERVABLES
    ]
    return Comparison(scenario, d, tuple(entries), theory, passed, trained)


def theory_value(solution: Solution, name: str) -> Estimate | None:
    """An observable of the theory in the convention of `Runs`, or None where the solve gave no answer."""
    if solution.outcome not in ("converged", "imprecise"):
        return None
    if name in ("test_error", "train_loss"):
        return getattr(solution, name)
    value, error = getattr(solution.overlaps, name), getattr(solution.overlap_errors, name)
    if name == "q":
        return Estimate(
            float(np.trace(value, axis1=1, axis2=2).mean()), float(np.trace(error, axis1=1, axis2=2).mean())
        )
    axes = tuple(range(1, value.ndim))
    size = np.sqrt((value**2).sum(axes))
    spread = np.sqrt((error**2).sum(axes))
    return Estimate(float(size.mean()), float(spread.mean()))


def _row(entry: Entry) -> tuple[str, ...]:
    theory = "no answer" if entry.theory is None else str(entry.theory)
    cells = []
    for mean in (entry.passed, entry.trained):
        deviation = entry.deviation(mean)
        cells += [str(mean), "–" if deviation is None else f"{deviation:+.1f}"]
    return (entry.start, SYMBOLS[entry.observable], theory, *cells)


def _counts(*several: Runs) -> str:
    counts = [", ".join(f"{count} {name}" for name, count in runs.outcomes.items()) for runs in several]
    return f"message passing {counts[0]}, training {counts[1]}"
