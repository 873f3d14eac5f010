"""How one-pass learning leaves a small random start: how fast either mechanism grows."""

from __future__ import annotations

import numpy as np

from ...numerics.rules import GaussHermite
from ...scenario.scenario import Scenario
from .decomposition import Decomposition
from .equations import Equations
from .one_pass import step_of


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
    groups, r_s, length = len(scenario.distribution.weight), scenario.student.rank, scenario.length
    rates = {}
    for name, column in (("m", 0), ("theta", length)):
        shares = np.zeros((1, groups, r_s, length + scenario.teacher.rank))
        shares[..., 0, column] = tiny
        spread = np.broadcast_to(noise**2 * np.eye(r_s), (1, groups, r_s, r_s))
        moved, _ = equations.velocities(Decomposition(shares, np.array(spread)), step)
        first = moved.shares[0, 0, 0]
        along = (
            first[:length] @ scenario.distribution.gram[0] / scenario.distribution.gram[0, 0]
            if name == "m"
            else first[column]
        )
        rates[name] = float(along / tiny)
    return rates
