"""The global minimum of the inner problem, and its rivals.

An attention is often even, S[−z] = S[z], so the energy can have several minima, and where the
lowest of them changes, the prox jumps. The search descends from several starts, keeps the lowest
minimum of every sample, and remembers the closest second ones, the rivals: with them a jump can be
followed as parameters move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..scenario.attentions.attention import Form
from .loss import Problem
from .minimiser import APART, NEARLY, descend

FIRST_STEPS, MORE_STEPS = (
    4,
    30,
)  # most descents are near the known minimum after a few steps; the others get more

ParametersOf = Callable[[dict, Any], dict]


class Minima(NamedTuple):
    """What a search found over N samples.

    - `z`: the lowest minimum, (L, r_s, N).
    - `rival`, `rival_of`: K second minima, (L, r_s, K), and the samples they belong to, (K,): those
      of least gap.
    - `gap`: how much higher in energy each rival is, (K,); infinite where there is none.
    - `several`: (N,), whether the starts disagreed: more than one minimum was found.
    """

    z: Any
    rival: Any
    rival_of: Any
    gap: Any
    several: Any


class _Descents(NamedTuple):
    """All descents in one row, (start, sample), those from the first start first: that minimum is
    taken as known.

    - `z`, `energy`, `settled`: where each is;  `job`: how many batches have been worked on.
    - `waiting`: descents not on their way to the known minimum, `left` of them.
    """

    z: Any
    energy: Any
    settled: Any
    job: Any
    waiting: Any
    left: Any


def search(
    student: Form,
    problem: Problem,
    guesses,
    rivals: int,
    parameters_of: ParametersOf = lambda given, sample: given,
) -> Minima:
    """Descend from the first of `guesses`, (G, L, r_s, N), to the minimum taken as known, then from
    the other guesses, from w/10 and −w; keep the lowest minimum of every sample and, for the
    `rivals` samples where the second lowest is closest in energy, that one too.
    `parameters_of(parameters, sample)`: the student's numbers for some of the samples, if it has
    numbers of its own for each."""
    w = problem.centre
    starts = jnp.concatenate([guesses, jnp.stack([0.1 * w, -w])])
    many, count = len(starts), w.shape[-1]

    def work(state: _Descents) -> _Descents:
        # A batch of N: all of one start, for as long as there are starts, then those that have to
        # go on.
        scouting = state.job < many
        later = jax.lax.dynamic_slice(
            state.waiting, (jnp.maximum(state.job - many, 0) * count,), (count,)
        )
        chosen = jnp.where(scouting, state.job * count + jnp.arange(count), later)
        sample = chosen % count
        part = problem.only(sample)._replace(parameters=parameters_of(problem.parameters, sample))
        most = jnp.where(scouting & (state.job > 0), FIRST_STEPS, MORE_STEPS)
        found = descend(student, part, state.z[..., chosen], most, NEARLY)
        z, energy = state.z.at[..., chosen].set(found.z), state.energy.at[chosen].set(found.energy)
        settled = state.settled.at[chosen].set(found.settled)
        away = jnp.where(scouting, _away(z, count), False)
        waiting = jnp.where(
            scouting, jnp.nonzero(away, size=away.size, fill_value=0)[0], state.waiting
        )
        left = jnp.where(scouting, away.sum(), state.left - count)
        return _Descents(z, energy, settled, state.job + 1, waiting, left)

    row = jnp.moveaxis(starts, 0, -2).reshape(*w.shape[:2], -1)
    each = row[0, 0]
    begin = _Descents(
        row, each, each > jnp.inf, jnp.array(0), jnp.zeros(each.size, int), jnp.array(0)
    )
    end = jax.lax.while_loop(lambda state: (state.job < many) | (state.left > 0), work, begin)
    apart = lambda array: jnp.moveaxis(array.reshape(*array.shape[:-1], many, count), -2, 0)
    # What is left on its way to the known minimum counts as that.
    gone = apart(_away(end.z, count))
    keep = lambda array: jnp.where(
        gone.reshape(many, *[1] * (array.ndim - 2), count), array, array[:1]
    )
    return _lowest_two(
        keep(apart(end.z)), keep(apart(end.energy)), keep(apart(end.settled)), rivals
    )


def _away(z, count: int):
    """Which descents are not near the known minimum of their sample, (starts N,)."""
    near = 0.05  # how near, in units of the fields
    known = z[..., :count]
    apart = jnp.abs(z.reshape(*z.shape[:2], -1, count) - known[:, :, None]).max((0, 1))
    return (apart > near * (1 + jnp.abs(known).max((0, 1)))).reshape(-1)


def _lowest_two(z, energy, settled, rivals: int) -> Minima:
    pick = lambda index: jnp.take_along_axis(z, index[None, None, None], 0)[0]
    best = pick(jnp.argmin(energy, axis=0))
    apart = jnp.abs(z - best).max((1, 2)) > APART * (1 + jnp.abs(best).max((0, 1)))
    elsewhere = jnp.where(apart & settled, energy, jnp.inf)
    gap = elsewhere.min(0) - energy.min(0)
    _, rival_of = jax.lax.top_k(
        -gap.astype(jnp.float32), rivals
    )  # five times faster than in double precision
    second = pick(jnp.argmin(elsewhere, axis=0))
    rival = jnp.where(jnp.isfinite(gap), second, best)[..., rival_of]
    return Minima(best, rival, rival_of, gap[rival_of], jnp.isfinite(gap))
