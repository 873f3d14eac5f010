"""How one-pass learning leaves a small random start: how fast either mechanism grows, and how long
it takes at d."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...finite.checks import as_seeds
from ...numerics.rules import GaussHermite, Rule
from ...results.estimate import Estimate
from ...results.statistics import over_seeds
from ...scenario.scenario import Scenario
from .decomposition import RANDOM_SCALE, Decomposition, Start
from .equations import Equations
from .one_pass import OnePass, one_pass, step_of


def escape_rates(
    scenario: Scenario, noise: float = 0.1, ridge: float | None = None
) -> dict[str, float]:
    """How fast m and θ grow, per unit of ηt, from a random start Q_i ~ `noise` · N(0, 1) that has a
    trace of them.

    Both grow exponentially from their 1/√d, so the escape takes a time of order log d/(2·rate), and
    the faster wins.
    """
    tiny = 1e-5  # of a trace of a mechanism
    equations = Equations(
        scenario, GaussHermite(10) if scenario.length * sum(scenario.ranks) == 4 else None
    )
    step = step_of(scenario, 1.0, ridge)._replace(scatter=0.0)
    kinds, r_s, length = len(scenario.law.weight), scenario.student.rank, scenario.length
    rates = {}
    for name, column in (("m", 0), ("theta", length)):
        shares = np.zeros((1, kinds, r_s, length + scenario.teacher.rank))
        shares[..., 0, column] = tiny
        spread = np.broadcast_to(noise**2 * np.eye(r_s), (1, kinds, r_s, r_s))
        moved, _ = equations.velocities(Decomposition(shares, np.array(spread)), step)
        first = moved.shares[0, 0, 0]
        along = (
            first[:length] @ scenario.law.gram[0] / scenario.law.gram[0, 0]
            if name == "m"
            else first[column]
        )
        rates[name] = float(along / tiny)
    return rates


def escape_time(
    scenario: Scenario,
    d: int,
    rate: float = 10.0,
    seeds: int | Iterable[int] = 8,
    *,
    size: float = 0.1,
    ridge: float | None = None,
    rule: Rule | None = None,
) -> Estimate:
    """The time t = samples/d at which |m| or |θ|/ρ first exceeds `size`, from Q_i ~ 0.1 N(0, 1)
    with the overlaps that noise has at this d; over seeds of those overlaps. Seeds that have not
    left by ten times the expected time are left out of the average (its `count` tells)."""
    fastest = max(escape_rates(scenario, ridge=ridge).values())
    if not fastest > 0:
        raise ValueError(
            "escape: the uninformed point of this scenario is stable, nothing leaves it"
        )
    expected = np.log(size / RANDOM_SCALE * np.sqrt(d)) / (rate * fastest)
    times = np.linspace(0, 10 * expected, 401)
    options: dict[str, Any] = {"ridge": ridge, "d": d, "rule": rule}
    runs = [
        one_pass(scenario, Start(noise=RANDOM_SCALE), rate, times, seed=s, **options)
        for s in as_seeds(seeds)
    ]
    return over_seeds([_first_above(run, size) for run in runs])


def _first_above(run: OnePass, size: float) -> float | None:
    """When the larger of |m| and |θ|/ρ crosses `size`, by interpolation; None if it does not."""
    largest = lambda values: np.abs(values).reshape(len(values), -1).max(1)
    grown = np.maximum(largest(run.m.value), largest(run.theta.value) / run.scenario.law.rho.max())
    above = np.flatnonzero(grown > size)
    if not len(above) or not above[0]:
        return None
    k = int(above[0])
    return float(np.interp(size, grown[k - 1 : k + 1], run.times[k - 1 : k + 1]))
