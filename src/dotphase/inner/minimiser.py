"""Damped Newton for the inner problem, all samples in step, each with its own damping."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..compilation import fenced
from ..scenario.attention import Form
from .linear import eliminate
from .loss import Problem, energy_derivatives

TOLERANCE = 1e-7  # on the last Newton step, in units of the fields; what is left is of the order of its square
NEARLY = 1e-4  # such a tolerance, for minima that take another Newton step later
MOST_STEPS = 40
FIRST_DAMPING = 0.3  # of the largest curvature: far too little costs a rejected step for every factor of four


class Minimum(NamedTuple):
    """`z`: (L, r_s, N); `energy`: (N,); `gradient`, `hessian`: ∇E and ∇²E there, (L, r_s, N) and (D, D, N); `settled`:
    (N,), whether it is at rest."""

    z: jax.Array
    energy: jax.Array
    gradient: jax.Array
    hessian: jax.Array
    settled: jax.Array


class _State(NamedTuple):
    z: jax.Array
    energy: jax.Array
    gradient: jax.Array
    hessian: jax.Array
    damping: jax.Array
    settled: jax.Array
    steps: jax.Array


def descend(
    student: Form, problem: Problem, start, most_steps: int = MOST_STEPS, tolerance: float = TOLERANCE
) -> Minimum:
    """A local minimum of E near `start`, (L, r_s, N), for every sample: z ← z − (∇²E + μ)⁻¹ ∇E.

    A step is taken only where the damped Hessian is positive definite and the energy does not rise; elsewhere μ grows.
    Every accepted step lowers the energy, so what is reached is a minimum and not a saddle.
    """
    length, rank, count = start.shape
    size = length * rank
    floor = jnp.abs(problem.precision).max() * 1e-3
    identity = jnp.eye(size, dtype=start.dtype)[:, :, None]
    rounding = 50 * jnp.finfo(start.dtype).eps

    derivatives = lambda z: energy_derivatives(student, problem, z)

    def body(state: _State) -> _State:
        damped = state.hessian + state.damping * identity
        step, pivot = fenced(eliminate, damped, state.gradient.reshape(size, 1, count))
        step = step.reshape(start.shape)
        trial = state.z - step
        value, gradient, hessian = fenced(derivatives, trial)
        slack = rounding * (1.0 + jnp.abs(state.energy))
        accept = (pivot > 0) & (value <= state.energy + slack) & ~state.settled
        length_ = jnp.abs(step).max((0, 1))
        scale = 1.0 + jnp.abs(state.z).max((0, 1))
        small = (pivot > 0) & (length_ <= tolerance * scale) & (state.damping <= floor)
        pick = lambda new, old: jnp.where(accept, new, old)
        eased = jnp.where(state.damping <= floor, 0.0, state.damping * 0.1)
        first = FIRST_DAMPING * jnp.abs(state.hessian).max((0, 1))
        raised = jnp.maximum(4 * state.damping, jnp.maximum(first, -2 * pivot))
        return _State(
            pick(trial, state.z),
            pick(value, state.energy),
            pick(gradient, state.gradient),
            pick(hessian, state.hessian),
            jnp.where(accept | state.settled, eased, raised),
            state.settled | small,
            state.steps + 1,
        )

    unfinished = lambda state: (state.steps < most_steps) & ~state.settled.all()
    value, gradient, hessian = derivatives(start)
    undamped, moving = jnp.zeros(count, start.dtype), jnp.zeros(count, bool)
    state = _State(start, value, gradient, hessian, undamped, moving, jnp.array(0))
    end = jax.lax.while_loop(unfinished, body, state)
    return Minimum(end.z, end.energy, end.gradient, end.hessian, end.settled)
