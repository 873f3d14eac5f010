"""A place along a parameter, located on several independent sets of nodes: what a transition is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from ...numerics.rules import Sobol
from ...results.estimate import Estimate
from ...results.result import Result
from ...results.statistics import over_seeds

SEEDS = 4  # independent node sets
SCANNED = 16  # points of the first scan for a change of sign


@dataclass(frozen=True, repr=False, eq=False)
class Transition(Result):
    """Where something changes along a parameter.

    - `location`: the parameter's value there, ± its standard error.
    - `outcome`: "located", "imprecise" (the node budget did not bring the error down to what was
      asked for) or "absent" (no change in the interval; the location is then not a number and
      `reason` says why).
    """

    name: str
    along: str
    location: Estimate
    outcome: str
    reason: str
    evaluations: int
    nodes: int
    seconds: float = field(compare=False)

    @property
    def headline(self) -> str:
        where = "no transition" if self.outcome == "absent" else f"{self.along} = {self.location}"
        return f"{self.name}: {where}" + (f" ({self.reason})" if self.reason else "")


def scan_points(between: tuple[float, float], count: int) -> np.ndarray:
    """From the upper end to the lower, evenly in proportion where that makes sense."""
    low, high = between
    return np.geomspace(high, low, count) if low > 0 else np.linspace(high, low, count)


def once_each(remarks: Iterable[str]) -> list[str]:
    """The remarks without repetitions. Of remarks that differ in their numbers only, the first is
    kept, with a note."""
    several: dict[str, list[str]] = {}
    for remark in remarks:
        several.setdefault(re.sub(r"\d[\d.]*", "#", remark), []).append(remark)
    return [
        alike[0] if len(set(alike)) == 1 else f"{alike[0]} (other node sets: similar numbers)"
        for alike in several.values()
    ]


def over_node_sets(
    name: str,
    along: str,
    rule: Sobol,
    precision: float,
    locate: Callable[[Sobol], tuple[float | None, int, str]],
) -> Transition:
    """A location as the mean over independent node sets, its error their standard error.

    `locate(rule)` is the location on one set (None if there is none), the evaluations spent, and a
    remark. For what is soft or rough, where to first order a replicate's own deviation does not say
    enough.
    """
    began = time.perf_counter()
    found = [locate(replace(rule, seed=rule.seed + seed)) for seed in range(SEEDS)]
    places = [p for p, _, _ in found if p is not None]
    spent = sum(n for _, n, _ in found)
    remarks = once_each(remark for *_, remark in found if remark)
    end = lambda location, outcome, reason: Transition(
        name, along, location, outcome, reason, spent, rule.count, time.perf_counter() - began
    )
    if len(places) < SEEDS:
        some = (
            f"on {len(places)} of {SEEDS} node sets at {', '.join(f'{p:.4g}' for p in places)}; "
            if places
            else ""
        )
        return end(Estimate(np.nan, np.inf), "absent", some + "; ".join(remarks))
    location = over_seeds(places)
    if location.error <= precision:
        return end(location, "located", "; ".join(remarks))
    sets = (
        f"{SEEDS} node sets of {rule.count} nodes put it at {', '.join(f'{p:.4g}' for p in places)}"
    )
    return end(location, "imprecise", "; ".join([sets, *remarks]))
