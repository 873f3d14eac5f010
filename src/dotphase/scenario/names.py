"""One table of names, for Python, files and the command line: what the paper writes, and what the
code says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

ALIASES = {
    "alpha": "sample_ratio",
    "lambda": "ridge",
    "omega": "mixing",
    "sigma": "token_deviation",
}
LETTERS = {"sample_ratio": "α", "ridge": "λ", "mixing": "ω", "token_deviation": "σ"}
_SHORT = {word: alias for alias, word in ALIASES.items()}


def word_of(name: str) -> str:
    """What the code says: `alpha` → `sample_ratio`; any other name stays."""
    return ALIASES.get(name, name)


def alias_of(name: str) -> str:
    """What the paper writes: `sample_ratio` → `alpha`; any other name stays."""
    return _SHORT.get(name, name)


def spelled_as(names: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """`given` with its names spelled as they are among `names`; one thing under two names is
    refused."""
    known, spelled = {word_of(name): name for name in names}, {}
    for name, value in given.items():
        spelling = known.get(word_of(name), name)
        if spelling in spelled:
            raise ValueError(
                f"{alias_of(spelling)}, {word_of(spelling)}: two names of one number; give one of them"
            )
        spelled[spelling] = value
    return spelled


def under_any_name(function: Callable[P, T]) -> Callable[P, T]:
    """`function`, its arguments under the names of the paper or those of the code."""
    parameters = signature(function).parameters

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        positional = dict(zip(parameters, args, strict=False))
        named = spelled_as(parameters, {**kwargs})
        for name in positional.keys() & named.keys():
            raise ValueError(f"{name}: given twice")
        return function(*args, **named)  # type: ignore[arg-type]

    return call
