"""The global minimum of the inner problem, and its rivals.

An attention is often even, S[−z] = S[z], so the energy can have several minima, and where the lowest of them changes,
the prox jumps. The search descends from several starts, keeps the lowest minimum of every sample, and remembers the
closest second ones, the rivals: with them a jump can be followed as parameters move.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..scenario.attention import Form
from .loss import Problem
from .minimiser import descend

FIRST_STEPS, MORE_STEPS = 5, 14  # most starts are back at the known minimum after the first few
OPEN_SHARE = 2  # one sample in so many is followed further, those farthest from the known minimum first
DISTINCT = 1e-3  # two minima closer than this, in units of the fields, are one


class Minima(NamedTuple):
    """What a search found over N samples.

    - `z`: the lowest minimum, (L, r_s, N).
    - `rival`, `rival_of`: K second minima, (L, r_s, K), and the samples they belong to, (K,): those of least gap.
    - `gap`: how much higher in energy each rival is, (K,); infinite where there is none.
    - `several`: (N,), whether the starts disagreed: more than one minimum was found.
    """

    z: jax.Array
    rival: jax.Array
    rival_of: jax.Array
    gap: jax.Array
    several: jax.Array


def search(student: Form, problem: Problem, known, guesses, rivals: int) -> Minima:
    """Descend from `known`, (L, r_s, N), then from w/10, −w and each of `guesses`, (G, L, r_s, N).

    Keeps the lowest minimum and, for the `rivals` samples where the second lowest is closest in energy, that one too.
    """
    w = problem.centre
    first = descend(student, problem, known)
    starts = jnp.concatenate([jnp.stack([0.1 * w, -w]), guesses])
    apart = lambda a, b: jnp.abs(a - b).max((0, 1)) > DISTINCT * (1 + jnp.abs(b).max((0, 1)))  # noqa: E731

    def other_minimum(start):
        near = descend(student, problem, start, FIRST_STEPS)
        distance = jnp.abs(near.z - first.z).max((0, 1))
        _, chosen = jax.lax.top_k(distance, max(distance.shape[0] // OPEN_SHARE, rivals))
        part = problem._replace(target=problem.target[..., chosen], centre=problem.centre[..., chosen])
        found = descend(student, part, near.z[..., chosen], MORE_STEPS)
        new = found.settled & apart(found.z, first.z[..., chosen])
        energy = jnp.full(distance.shape, jnp.inf).at[chosen].set(jnp.where(new, found.energy, jnp.inf))
        return first.z.at[..., chosen].set(found.z), energy

    z, energy = jax.lax.map(other_minimum, starts)
    z = jnp.concatenate([first.z[None], z])
    energy = jnp.concatenate([first.energy[None], energy])
    pick = lambda index: jnp.take_along_axis(z, index[None, None, None], 0)[0]  # noqa: E731
    lowest = jnp.argmin(energy, axis=0)
    best = pick(lowest)
    elsewhere = jnp.where(jax.vmap(apart, (0, None))(z, best), energy, jnp.inf)
    second = jnp.argmin(elsewhere, axis=0)
    gap = elsewhere.min(0) - energy.min(0)
    _, rival_of = jax.lax.top_k(-gap, rivals)
    rival = jnp.where(jnp.isfinite(gap), pick(second), best)[..., rival_of]
    return Minima(best, rival, rival_of, gap[rival_of], jnp.isfinite(gap))
