"""The two choices of a sample's minimum: the lowest, and the one that training reaches.

The *lowest* describes the global minimum of the training loss. Training carries every sample along
continuously, and a sample stays in the basin it is in: its *reached* minimum is the one in whose
basin the signal part of its own field lies,

    z_0 = E[w | u] = m + θ ρ⁻¹ u,      ż = −V ∇E(z),   z(0) = z_0,      z_r = lim z(t).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from ..scenario.attentions.attention import Form
from .loss import Problem, applied, energy_and_gradient, scaled
from .minimiser import NEARLY, Minimum, descend


@dataclass(frozen=True)
class Lowest:
    """The lowest minimum of several descents, with its closest rival beside it."""

    name = "lowest"


@dataclass(frozen=True)
class Reached:
    """The minimum that a flow from the signal's own field ends in.

    **Arguments**: `step`, the longest step in time along the flow, and `steps`, how many are taken
    before Newton's method goes on; the answer does not depend on them while the steps are short.
    """

    step: float = 0.4
    steps: int = 20
    name = "reached"


InnerMinimum = Lowest | Reached
MINIMA: dict[str, InnerMinimum] = {"lowest": Lowest(), "reached": Reached()}


def as_minimum(minimum: str | InnerMinimum) -> InnerMinimum:
    """The method behind a name."""
    if not isinstance(minimum, str):
        return minimum
    if minimum not in MINIMA:
        raise ValueError(f"minimum: expected one of {', '.join(MINIMA)}, got {minimum!r}")
    return MINIMA[minimum]


def flow(student: Form, problem: Problem, start: Any, V: Any, method: Reached) -> Minimum:
    """The minimum of E that ż = −V ∇E leads to from `start`, (L, r_s, N), with the response `V`,
    (L, r_s, r_s), or (1, D, D) of all fields together.

    Every sample has its own step, at most `method.step` and so short that its energy falls. Where
    the flow goes can be seen in single precision, at half the cost.
    """
    rough, z, V = jax.tree.map(lambda number: jnp.asarray(number, jnp.float32), (problem, start, V))
    of = lambda z: energy_and_gradient(student, rough, z)

    def move(_, state):
        z, step, value, gradient = state
        trial = z - step * scaled(applied(V, scaled(gradient, rough.scale)), rough.scale)
        there, slope = of(trial)
        falls = there <= value
        pick = lambda new, old: jnp.where(falls, new, old)
        step = jnp.where(falls, jnp.minimum(1.5 * step, method.step), 0.5 * step)
        return pick(trial, z), step, pick(there, value), pick(slope, gradient)

    begin = z, jnp.full(z.shape[-1], method.step, z.dtype), *of(z)
    end = jax.lax.fori_loop(0, method.steps, move, begin)[0]
    return descend(student, problem, end.astype(start.dtype), tolerance=NEARLY)
