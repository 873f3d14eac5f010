"""Damped Newton for the inner problem, all samples in step, each with its own damping."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..numerics.compilation import fenced
from ..numerics.elimination import eliminate
from ..scenario.attentions.attention import Form
from .loss import Problem, energy_derivatives

NEARLY = 1e-4  # a tolerance for minima that take another Newton step later
APART = 1e-3  # two minima closer than this, in units of the fields, are one
FIRST_DAMPING = 0.3  # of the largest curvature; too little costs rejected steps


class Minimum(NamedTuple):
    """`z`: (L, r_s, N); `energy`: (N,); `gradient`, `hessian`: ∇E and ∇²E there, (L, r_s, N) and
    (D, D, N); `settled`: (N,), whether it is at rest."""

    z: jax.Array
    energy: jax.Array
    gradient: jax.Array
    hessian: jax.Array
    settled: jax.Array


class _State(NamedTuple):
    """Where each sample is, and where it tries to go: `trial`, by a step of `length`, allowed where
    `pivot` > 0."""

    at: Minimum
    damping: jax.Array
    trial: jax.Array
    length: jax.Array
    pivot: jax.Array
    steps: jax.Array


def descend(
    student: Form,
    problem: Problem,
    start,
    most_steps: Any = 40,
    tolerance: float = 1e-7,
) -> Minimum:
    """A local minimum of E near `start`, (L, r_s, N), for every sample: z ← z − (∇²E + μ)⁻¹ ∇E.

    A step is taken only where the damped Hessian is positive definite and the energy does not rise;
    elsewhere μ grows. Every accepted step lowers the energy, so what is reached is a minimum and
    not a saddle.
    """
    (length, rank, count), dtype = start.shape, start.dtype
    size = length * rank
    floor = jnp.abs(problem.precision).max() * 1e-3
    identity = jnp.eye(size, dtype=dtype)[:, :, None]
    rounding = 50 * jnp.finfo(dtype).eps
    derivatives = lambda z: energy_derivatives(student, problem, z)

    def body(state: _State) -> _State:
        at, damping = state.at, state.damping
        value, gradient, hessian = fenced(derivatives, state.trial)
        slack = rounding * (1.0 + jnp.abs(at.energy))
        accept = (state.pivot > 0) & (value <= at.energy + slack) & ~at.settled
        scale = 1.0 + jnp.abs(at.z).max((0, 1))
        small = (state.pivot > 0) & (state.length <= tolerance * scale) & (damping <= floor)
        pick = lambda new, old: jnp.where(accept, new, old)
        eased = jnp.where(damping <= floor, 0.0, damping * 0.1)
        first = FIRST_DAMPING * jnp.abs(at.hessian).max((0, 1))
        raised = jnp.maximum(4 * damping, jnp.maximum(first, -2 * state.pivot))
        damping = jnp.where(accept | at.settled, eased, raised)
        at = Minimum(
            pick(state.trial, at.z),
            pick(value, at.energy),
            pick(gradient, at.gradient),
            pick(hessian, at.hessian),
            at.settled | small,
        )
        step, pivot = fenced(
            eliminate, at.hessian + damping * identity, at.gradient.reshape(size, 1, count)
        )
        step = step.reshape(start.shape)
        return _State(at, damping, at.z - step, jnp.abs(step).max((0, 1)), pivot, state.steps + 1)

    # The start is the first trial, accepted whatever its energy.
    each = lambda number: jnp.full(count, number, dtype)
    nowhere = Minimum(
        start,
        each(jnp.inf),
        jnp.zeros_like(start),
        jnp.zeros((size, size, count), dtype),
        each(0) > 0,
    )
    begin = _State(nowhere, each(0), start, each(jnp.inf), each(1), jnp.array(-1))
    unfinished = lambda state: (state.steps < most_steps) & ~state.at.settled.all()
    return jax.lax.while_loop(unfinished, body, begin).at
