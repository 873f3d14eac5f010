"""How functions are compiled: one place for the choice."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from .cache import keep_compilations_here

keep_compilations_here()

# Measured on CPU, on kernels of a thousand samples and a few fields each:
OPTIONS: dict[str, Any] = {
    # the newer loop emitters compile twice as long, to run no faster
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_experimental_ynn_fusion_type": "",  # a library's reductions: a fifth slower than loops
    "xla_cpu_prefer_vector_width": 512,  # where the processor has it: a sixth faster
}

# Programs on a few numbers, such as overlaps: compiled three times as fast, to run as fast.
SMALL: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,
}


def compiled(function: Callable, small: bool = False, **options: Any) -> Callable:
    """`jax.jit` with the project's compiler options; `small` for programs on a few numbers only."""
    return jax.jit(function, compiler_options=known_options(small), **options)


@lru_cache(maxsize=2)
def known_options(small: bool = False) -> dict[str, Any]:
    """Those of `OPTIONS` that this version of the compiler knows: all of them, as a rule."""
    asked = {**OPTIONS, **SMALL} if small else OPTIONS
    if _knows(asked):
        return asked
    return {name: value for name, value in asked.items() if _knows({name: value})}


def _knows(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def on_device(arrays: Any) -> Any:
    """A tree of arrays where compiled functions want it, once and not at every call."""
    return jax.device_put(arrays)


def fenced(function: Callable, *arrays: Any) -> Any:
    """`function(*arrays)`, compiled apart from its surroundings.

    XLA on CPU likes to work a stage out again inside every consumer of its results, which can cost
    more than ten times the work; its own optimisation barrier is dropped before that happens. A
    loop whose length it cannot know is not.
    """
    shapes = jax.eval_shape(function, *arrays)
    empty = jax.tree.map(lambda result: jnp.zeros(result.shape, result.dtype), shapes)
    once = jnp.where(
        jax.tree.leaves(arrays)[0].ravel()[0] == jnp.inf, 2, 1
    )  # running it twice would do no harm
    return jax.lax.fori_loop(0, once, lambda _, __: function(*arrays), empty)
