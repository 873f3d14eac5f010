"""How functions are compiled: one place for the choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# XLA's newer loop emitters take twice as long to compile these kernels, which then run no faster (measured on CPU).
OPTIONS: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False}


def compiled(function: Callable, **options: Any) -> Callable:
    """`jax.jit` with the project's compiler options."""
    return jax.jit(function, compiler_options=OPTIONS, **options)


def fenced(function: Callable, *arrays: Any) -> Any:
    """`function(*arrays)`, compiled apart from its surroundings.

    XLA on CPU likes to work a stage out again inside every consumer of its results, which can cost more than ten times
    the work; its own optimisation barrier is dropped before that happens. A loop whose length it cannot know is not.
    """
    shapes = jax.eval_shape(function, *arrays)
    empty = jax.tree.map(lambda result: jnp.zeros(result.shape, result.dtype), shapes)
    once = jnp.where(jax.tree.leaves(arrays)[0].ravel()[0] == jnp.inf, 2, 1)  # running it twice would do no harm
    return jax.lax.fori_loop(0, once, lambda _, __: function(*arrays), empty)
