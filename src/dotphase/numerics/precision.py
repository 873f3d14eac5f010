"""Double precision where it is needed, without changing the caller's settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_double(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` with 64-bit floats in JAX, in this thread and for its duration only."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        import jax

        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return run
