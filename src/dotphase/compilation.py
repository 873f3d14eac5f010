"""How functions are compiled: one place for the choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

# XLA's newer loop emitters take twice as long to compile these kernels, which then run no faster (measured on CPU).
OPTIONS: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False}


def compiled(function: Callable, **options: Any) -> Callable:
    """`jax.jit` with the project's compiler options."""
    return jax.jit(function, compiler_options=OPTIONS, **options)
