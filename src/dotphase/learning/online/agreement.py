"""The equations against the simulation: in standard errors, along the whole trajectory, and with
1/d taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numerics.rules import GaussHermite, Rule
from ...results.estimate import Estimate
from ...results.json import plain
from ...results.result import Result
from ...results.statistics import over_seeds
from .one_pass import OnePass, one_pass
from .simulation import Simulation

NAMES = ("q", "m", "theta")


@dataclass(frozen=True, repr=False, eq=False)
class Agreement(Result):
    """Simulated less integrated overlaps, by name: estimates with a first axis over `times`, one
    seed against the equations from that seed's own start. `dimension` is infinite where 1/d has
    been taken out."""

    dimension: float
    seeds: int
    times: np.ndarray
    differences: dict[str, Estimate]

    row = "overlap"

    @property
    def headline(self) -> str:
        worst = ", ".join(f"{name} {value:.2g}" for name, value in self.worst.items())
        return f"simulated less integrated at d = {self.dimension:g}, largest in standard errors: {worst}"

    def rows(self) -> list[dict[str, Any]]:
        return [{"overlap": name, "worst": value} for name, value in self.worst.items()]

    @property
    def deviations(self) -> dict[str, np.ndarray]:
        """The differences in standard errors; zero where both agree to all digits, as at the start."""
        return {name: np.nan_to_num(gap.deviation()) for name, gap in self.differences.items()}

    @property
    def worst(self) -> dict[str, float]:
        """The largest deviation of each overlap along the trajectory."""
        return {name: float(np.abs(values).max()) for name, values in self.deviations.items()}

    def to_dict(self) -> dict[str, Any]:
        differences = {name: gap.to_dict() for name, gap in self.differences.items()}
        head = {"d": plain(self.dimension), "seeds": self.seeds, "times": plain(self.times)}
        return head | {"worst": self.worst, "differences": differences}


def agreement(simulation: Simulation, rule: Rule | None = None) -> Agreement:
    """Compare a simulation with the equations.

    Every seed is compared with the equations from what its own weights were made of, in the distribution of
    its own instance: what is left is the noise of the samples, and corrections of order 1/d.
    """
    if len(simulation.overlaps) < 2:
        raise ValueError("simulation: at least two seeds are needed for an error bar, got one")
    step = simulation.step
    options: dict[str, Any] = {"ridge": step.ridge, "rule": rule or _cheap(simulation)}
    limits = [
        one_pass(
            simulation.scenario,
            decomposition,
            step.rate,
            simulation.times,
            distribution=distribution,
            **options,
        )
        for decomposition, distribution in simulation.starts
    ]
    gaps = {name: over_seeds(_gaps(simulation, limits, name)) for name in NAMES}
    started = {name: _without_start(gap) for name, gap in gaps.items()}
    return Agreement(simulation.dimension, len(limits), simulation.times, started)


def _gaps(simulation: Simulation, limits: list[OnePass], name: str) -> list[np.ndarray]:
    pairs = zip(simulation.overlaps, limits, strict=True)
    return [getattr(seen, name) - getattr(limit, name).value for seen, limit in pairs]


def _without_start(gap: Estimate) -> Estimate:
    """At time zero both are the same weights: rounding is no deviation."""
    first = np.zeros_like(gap.value)
    first[1:] = 1
    return Estimate(gap.value * first, gap.error * first, gap.count)


def _cheap(simulation: Simulation) -> Rule | None:
    """Four dimensions are worth eight nodes each: errors far below those of any simulation."""
    dimension = simulation.scenario.length * sum(simulation.scenario.ranks)
    return GaussHermite(8) if dimension == 4 else None
