"""One check for the arguments of all public functions, by name: a name means the same everywhere.

`@checked`, on a function or a class, refuses a wrong argument before anything is computed, with a
`ValueError` in one line that begins with the argument's name. An argument whose name has no check
has that of its annotation. The default of an argument is always accepted, and None where its
annotation has it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, get_args

from .validation import finite_number, freeze, shown, whole_number

F = TypeVar("F", bound=Callable[..., Any])
Check = Callable[[str, Any], Any]
LARGEST = 10**15  # of whole numbers


def checked(function: F) -> F:
    """Check the arguments that have a check by their names or annotations."""
    return checked_with()(function)


def checked_with(**special: Check) -> Callable[[F], F]:
    """The same, with `special` checks for arguments that are another thing in this function."""
    return lambda function: _checked(function, special)


def _checked(function: Any, special: dict[str, Check]) -> Any:
    if isinstance(function, type):
        function.__init__ = _checked(function.__init__, special)  # type: ignore[misc]
        return function
    form = signature(function)
    checks = {
        name: special.get(name) or CHECKS.get(name) or by_annotation(parameter.annotation)
        for name, parameter in form.parameters.items()
    }
    known = {name: check for name, check in checks.items() if check is not None}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = form.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # which says what is missing
        for name, check in known.items():
            if name in given and not _left_out(given[name], form.parameters[name]):
                check(name, given[name])
        _check_varied(given)
        return function(*args, **kwargs)

    return call


def _check_varied(given: Mapping[str, Any]) -> None:
    """`along` and `across` have to be numbers of the scenario."""
    for name in ("along", "across"):
        if name in given and "scenario" in given:
            try:
                given["scenario"].value_of(given[name])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None


def _left_out(value: Any, parameter: Parameter) -> bool:
    """Whether a value is the default, or None where the annotation allows it."""
    return value is parameter.default or (value is None and "None" in str(parameter.annotation))


def kind(*names: str, example: str = "") -> Check:
    """An instance of one of the classes of these names, or of a class derived from them."""

    def check(name: str, value: Any) -> None:
        if not any(parent.__name__ in names for parent in type(value).__mro__):
            such = f", such as {example}" if example else ""
            wanted = " or ".join(f"{'an' if n[0] in 'AEIO' else 'a'} {n}" for n in names)
            raise ValueError(f"{name}: expected {wanted}{such}, got {type(value).__name__}")

    return check


def whole(least: int = 1, most: int = LARGEST) -> Check:
    def check(name: str, value: Any) -> None:
        if whole_number(name, value, least) > most:
            raise ValueError(f"{name}: at most {most:g}, got {shown(value)}")

    return check


def number(above: bool = False, most: float = float("inf")) -> Check:
    return lambda name, value: finite_number(name, value, above, most)


def word(*allowed: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {shown(value)}")

    return check


def flag(name: str, value: Any) -> None:
    """True or False."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise ValueError(f"{name}: expected True or False, got {shown(value)}")


def listed(name: str, value: Any) -> None:
    """Something one can go through, but not a word."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"{name}: expected a list, got {shown(value)}")


def text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected a text, got {shown(value)}")


def path(name: str, value: Any) -> None:
    """The name of a file or folder."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise ValueError(f"{name}: expected the name of a file, got {shown(value)}")


def real(name: str, value: Any) -> None:
    """A finite number of either sign."""
    freeze(name, value, ndim=0)
    if isinstance(value, bool):
        raise ValueError(f"{name}: expected a number, got {value}")


def numbers(name: str, value: Any) -> None:
    """An array of finite numbers, not empty."""
    held = freeze(name, getattr(value, "value", value))
    if not _size(held):
        raise ValueError(f"{name}: expected numbers, got none")


def _size(held: Any) -> int:
    return sum(map(_size, held)) if isinstance(held, tuple) else 1


def values(name: str, value: Any) -> None:
    """Numbers in a list, of which there is one at least; what can be read once only is not read."""
    listed(name, value)
    if hasattr(value, "__len__"):
        numbers(name, list(value))
        freeze(name, value, ndim=1)


def between(name: str, value: Any) -> None:
    values(name, value)
    ends = list(value)
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ValueError(f"{name}: expected two numbers, low < high, got {shown(value)}")


def function(name: str, value: Any) -> None:
    if not callable(value):
        raise ValueError(f"{name}: expected a function, got {shown(value)}")


def mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected a dictionary, got {shown(value)}")


def _words(name: str, value: Any) -> None:
    listed(name, value)
    if hasattr(value, "__len__"):
        for each in value:
            text(name, each)


def _minimum(name: str, value: Any) -> None:
    if not isinstance(getattr(value, "name", None), str):  # a minimum with settings of its own
        word("lowest", "reached")(name, value)


def _optimiser(name: str, value: Any) -> None:
    if not isinstance(value, str):
        kind("LBFGS", "Adam", "GradientDescent", example="dotphase.LBFGS()")(name, value)


def _rule(name: str, value: Any) -> None:
    from ..numerics.rules import Rule

    if not isinstance(value, Rule):  # a protocol, which a class need not name among its parents
        kind("Rule", example="dotphase.Sobol(4096)")(name, value)


def _seeds(name: str, value: Any) -> None:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for seed in value if hasattr(value, "__len__") else ():
            whole_number("seed", seed, 0)
    else:
        whole(0)(name, value)


def _starts(name: str, value: Any) -> None:
    if not isinstance(value, str) and (not isinstance(value, Iterable) or isinstance(value, bytes)):
        raise ValueError(f"{name}: expected starts by name, in a list, got {shown(value)}")


def _progress(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        flag(name, value)


def by_annotation(annotation: Any) -> Check | None:
    """The check of an annotation, such as `int`, `float | None`, `Literal["a", "b"]` or a class of
    this package."""
    if get_args(annotation) and all(isinstance(each, str) for each in get_args(annotation)):
        return word(*get_args(annotation))
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    written = re.sub(r" \| None$", "", written or str(annotation))
    if all(name in CLASSES for name in written.split(" | ")):
        return kind(*written.split(" | "))
    return ANNOTATIONS.get(written)


CLASSES = (
    "Attention", "CountingTask", "Estimate", "Experiment", "FirstLayer", "MeasuredTokens",
    "NoisyStart", "Objective", "Overlaps", "Path", "Positions", "Recipe",
    "Run", "Sample", "Scales", "Sentences", "Sobol", "Surgery",
    "Tokens", "Weights",
)
ANNOTATIONS: dict[str, Check] = {
    "int": whole(0),
    "float": real,
    "bool": flag,
    "str": text,
    "str | Path": path,
    "ArrayLike": numbers,
    "float | ArrayLike": numbers,
    "np.ndarray": numbers,
    "np.ndarray | float": numbers,
    "Iterable[float]": values,
    "Sequence[str]": _words,
    "Iterable[str]": _words,
    "tuple[float, float]": values,
    "tuple[tuple[float, float], ...]": numbers,
    "Callable[..., Any]": function,
}
CHECKS: dict[str, Check] = {
    "scenario": kind("Scenario", example="dotphase.paper()"),
    "instance": kind("Instance", example="dotphase.sample(scenario, d=100).instance"),
    "solution": kind("Solution", example="dotphase.solve(scenario)"),
    "rule": _rule,
    "distribution": kind("Distribution"),
    "solver": kind("SolverOptions", example="dotphase.SolverOptions()"),
    "optimiser": _optimiser,
    "minimum": _minimum,
    "d": whole(),
    "seeds": _seeds,
    "seed": whole(0),
    "budget": whole(),
    "iterations": whole(),
    "evaluations": whole(),
    "steps": whole(),
    "most_pairs": whole(),
    "permutations": whole(0),
    "count": whole(),
    "rank": whole(most=1000),
    "student_rank": whole(most=1000),
    "heads": whole(most=1000),
    "length": whole(most=10_000),
    "groups": whole(most=10**6),
    "dimension": whole(),
    "window": whole(),
    "least": whole(),
    "inner": whole(),
    "points": whole(2, most=10**6),
    "repeats": whole(),
    "records": whole(),
    "paths": whole(),
    "replicates": whole(),
    "max_evaluations": whole(),
    "searching": whole(0),
    "sequences": whole(),
    "scan": whole(2, most=10**6),
    "workers": whole(most=10_000),
    "between": between,
    "rules": listed,
    "starts": _starts,
    "extra": listed,
    "rtol": number(above=True),
    "tolerance": number(above=True),
    "damping": number(most=1),
    "threshold": number(),
    "rate": number(above=True),
    "hint": number(),
    "causal": flag,
    "throw": flag,
    "scenarios": listed,
    "progress": _progress,
}
