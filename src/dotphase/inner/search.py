"""The global minimum of the inner problem, and its rivals.

An attention is often even, S[−z] = S[z], so the energy can have several minima, and where the lowest of them changes,
the prox jumps. The search descends from several starts, keeps the lowest minimum of every sample, and remembers the
closest second ones, the rivals: with them a jump can be followed as parameters move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..scenario.attention import Form
from .loss import Problem
from .minimiser import NEARLY, descend

FIRST_STEPS, MORE_STEPS = 4, 18  # most descents are near the known minimum after a few steps; the others get more
NEAR = 0.05  # how near, in units of the fields
DISTINCT = 1e-3  # two minima closer than this, in units of the fields, are one

ParametersOf = Callable[[dict, Any], dict]


class Minima(NamedTuple):
    """What a search found over N samples.

    - `z`: the lowest minimum, (L, r_s, N).
    - `rival`, `rival_of`: K second minima, (L, r_s, K), and the samples they belong to, (K,): those of least gap.
    - `gap`: how much higher in energy each rival is, (K,); infinite where there is none.
    - `several`: (N,), whether the starts disagreed: more than one minimum was found.
    """

    z: Any
    rival: Any
    rival_of: Any
    gap: Any
    several: Any


def search(
    student: Form, problem: Problem, guesses, rivals: int, parameters_of: ParametersOf = lambda given, sample: given
) -> Minima:
    """Descend from the first of `guesses`, (G, L, r_s, N), to the minimum taken as known, then from the other guesses,
    from w/10 and −w; keep the lowest minimum of every sample and, for the `rivals` samples where the second lowest is
    closest in energy, that one too. `parameters_of(parameters, sample)`: the student's numbers for some of the samples,
    if it has numbers of its own for each."""
    w = problem.centre
    count = w.shape[-1]
    known = descend(student, problem, guesses[0], tolerance=NEARLY)
    starts = jnp.concatenate([guesses[1:], jnp.stack([0.1 * w, -w])])
    # Where a descent is going can be seen in single precision, at half the cost.
    rough = jax.tree.map(lambda number: jnp.asarray(number, jnp.float32), (problem, starts))
    first = jax.lax.map(lambda start: descend(student, rough[0], start, FIRST_STEPS, NEARLY).z, rough[1])
    first = first.astype(w.dtype)

    # All descents in one row, (start, sample). Those not on their way to the known minimum go on, some at a time; what
    # is left on its way counts as the known minimum.
    away = jnp.abs(first - known.z).max((1, 2)) > NEAR * (1 + jnp.abs(known.z).max((0, 1)))
    some = -(-count // 4)
    (waiting,) = jnp.nonzero(away.reshape(-1), size=-(-away.size // some) * some, fill_value=0)
    row = jnp.moveaxis(first, 0, -2).reshape(*w.shape[:2], -1)

    def go_on(state):
        done, z, energy, settled = state
        chosen = jax.lax.dynamic_slice(waiting, (done,), (some,))
        sample = chosen % count
        part = problem.only(sample)._replace(parameters=parameters_of(problem.parameters, sample))
        more = descend(student, part, row[..., chosen], MORE_STEPS, NEARLY)
        placed = z.at[..., chosen].set(more.z), energy.at[chosen].set(more.energy), settled.at[chosen].set(more.settled)
        return done + some, *placed

    tiled = lambda one: jnp.tile(one, len(starts))
    begin = jnp.array(0), jnp.tile(known.z, (1, 1, len(starts))), tiled(known.energy), tiled(known.settled)
    total = away.sum()
    _, z, energy, settled = jax.lax.while_loop(lambda state: state[0] < total, go_on, begin)
    z = jnp.moveaxis(z.reshape(*w.shape[:2], -1, count), -2, 0)
    energy, settled = energy.reshape(-1, count), settled.reshape(-1, count)
    every = lambda one, others: jnp.concatenate([one[None], others])
    return _lowest_two(every(known.z, z), every(known.energy, energy), every(known.settled, settled), rivals)


def _lowest_two(z, energy, settled, rivals: int) -> Minima:
    pick = lambda index: jnp.take_along_axis(z, index[None, None, None], 0)[0]
    best = pick(jnp.argmin(energy, axis=0))
    apart = jnp.abs(z - best).max((1, 2)) > DISTINCT * (1 + jnp.abs(best).max((0, 1)))
    elsewhere = jnp.where(apart & settled, energy, jnp.inf)
    gap = elsewhere.min(0) - energy.min(0)
    _, rival_of = jax.lax.top_k(-gap.astype(jnp.float32), rivals)  # five times faster than in double precision
    second = pick(jnp.argmin(elsewhere, axis=0))
    rival = jnp.where(jnp.isfinite(gap), second, best)[..., rival_of]
    return Minima(best, rival, rival_of, gap[rival_of], jnp.isfinite(gap))
