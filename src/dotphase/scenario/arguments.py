"""One check for the arguments of all public functions, by name: a name means the same everywhere.

`@checked`, on a function or a class, refuses a wrong argument before anything is computed, with a
`ValueError` in one line that begins with the argument's name. An argument whose name has no check
has that of its annotation. The default of an argument is always accepted, and None where its
annotation has it. A check may return a converted value, which the function then gets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, get_args

from .validation import finite_number, real_array, shown, whole_number

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
        if parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    }
    known = {name: check for name, check in checks.items() if check is not None}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = form.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which says what is missing
        given = bound.arguments
        for name, check in known.items():
            if name in given and not _left_out(given[name], form.parameters[name]):
                converted = check(name, given[name])
                given[name] = given[name] if converted is None else converted
        check_varied(given)
        return function(*bound.args, **bound.kwargs)

    return call


def check_varied(given: Mapping[str, Any]) -> None:
    """What is varied has to be a number of the scenario."""
    for name in ("along", "across", "against", "parameters"):
        if name in given and "scenario" in given:
            try:
                given["scenario"].value_of(given[name])
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None


def _left_out(value: Any, parameter: Parameter) -> bool:
    """Whether a value is the default, or None where the annotation allows it."""
    return value is parameter.default or (value is None and "None" in str(parameter.annotation))


def _one(name: str) -> str:
    article = "" if name.endswith("s") else "an " if name[0] in "AEIO" else "a "
    return article + name


def kind(*names: str, example: str = "") -> Check:
    """An instance of one of the classes of these names, or of a class derived from them."""

    def check(name: str, value: Any) -> None:
        if not any(parent.__name__ in names for parent in type(value).__mro__):
            such = f", such as {example}" if example else ""
            wanted = " or ".join(_one(n) for n in names)
            raise ValueError(f"{name}: expected {wanted}{such}, got {type(value).__name__}")

    return check


def whole(least: int = 1, most: int = LARGEST) -> Check:
    """A whole number, which the function gets as an int."""

    def check(name: str, value: Any) -> int:
        converted = whole_number(name, value, least)
        if converted > most:
            raise ValueError(f"{name}: at most {most:g}, got {shown(value)}")
        return converted

    return check


def number(above: bool = False, most: float = float("inf")) -> Check:
    return lambda name, value: finite_number(name, value, above, most)


def below_one(name: str, value: Any) -> float:
    held = finite_number(name, value)
    if held >= 1:
        raise ValueError(f"{name}: must be at least 0 and below 1, got {held:g}")
    return held


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
    wrong = isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)
    if wrong or len(getattr(value, "shape", (1,))) != 1:
        raise ValueError(f"{name}: expected a list, got {shown(value)}")


def of_each(name: str, value: Any) -> None:
    """A list, or an array, whose first axis is gone through."""
    if not len(getattr(value, "shape", ())) > 1:
        listed(name, value)


def text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected a text, got {shown(value)}")


def path(name: str, value: Any) -> None:
    """The name of a file or folder."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise ValueError(f"{name}: expected the name of a file, got {shown(value)}")


def real(name: str, value: Any) -> None:
    """A finite number of either sign."""
    real_array(name, value, ndim=0)
    if isinstance(value, bool):
        raise ValueError(f"{name}: expected a number, got {value}")


def numbers(name: str, value: Any) -> None:
    """An array of finite numbers, not empty."""
    held = real_array(name, getattr(value, "value", value))
    if not held.size:
        raise ValueError(f"{name}: expected numbers, got shape {held.shape}")


def matrix(name: str, value: Any) -> None:
    """A NumPy array with two axes; whether its numbers are finite is looked at where they are read."""
    if getattr(value, "ndim", None) != 2 or not hasattr(value, "dtype"):
        raise ValueError(f"{name}: expected an array with two axes, got {shown(value)}")
    if value.dtype.kind not in "fiu":
        raise ValueError(f"{name}: expected real numbers, got {value.dtype}")


def values(name: str, value: Any) -> None:
    """Numbers in a list, of which there is one at least; what can be read once only is not read."""
    listed(name, value)
    if hasattr(value, "__len__"):
        held = value if hasattr(value, "dtype") else list(value)
        numbers(name, held)
        real_array(name, held, ndim=1)


def between(name: str, value: Any) -> None:
    values(name, value)
    ends = list(value)
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ValueError(f"{name}: expected two numbers, low < high, got {shown(value)}")


def array(ndim: int) -> Check:
    """Finite numbers in `ndim` dimensions."""

    def check(name: str, value: Any) -> None:
        numbers(name, value)
        real_array(name, value, ndim)

    return check


def listed_kind(*names: str) -> Check:
    """A list, not empty, of instances of these classes."""

    def check(name: str, value: Any) -> None:
        listed(name, value)
        if hasattr(value, "__len__"):
            if not len(value):
                raise ValueError(f"{name}: expected one at least, got none")
            for each in value:
                kind(*names)(name, each)

    return check


def _under(word: str, above: bool = False, most: float = float("inf")) -> Check:
    """A number under the name that the code has for it."""
    return lambda name, value: finite_number(word, value, above, most)


def _step_size(name: str, value: Any) -> None:
    if not callable(value):
        numbers(name, value)


def _files(name: str, value: Any) -> None:
    if isinstance(value, str | os.PathLike):
        path(name, value)
        return
    listed(name, value)
    for each in value if hasattr(value, "__len__") else ():
        path(name, each)


def _functions(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        listed(name, value)
    if hasattr(value, "__len__"):
        for each in value.values() if isinstance(value, Mapping) else value:
            function(name, each)


def key(name: str, value: Any) -> None:
    """A key of JAX's random numbers."""
    if "key" not in str(getattr(value, "dtype", "")):
        raise ValueError(f"{name}: expected a key, such as jax.random.key(0), got {shown(value)}")


def whole_numbers(name: str, value: Any) -> None:
    """An array of whole numbers, traced by JAX or not."""
    dtype = str(getattr(value, "dtype", ""))
    if "int" in dtype and getattr(value, "size", 0):
        return
    held = real_array(name, value)
    if not held.size or (held % 1 != 0).any() or not hasattr(value, "__len__"):
        raise ValueError(f"{name}: expected whole numbers in an array, got {shown(value)}")


def function(name: str, value: Any) -> None:
    if not callable(value):
        raise ValueError(f"{name}: expected a function, got {shown(value)}")


def mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected a dictionary, got {shown(value)}")


def _words(name: str, value: Any) -> None:
    listed(name, value)
    if hasattr(value, "__len__"):
        if getattr(value, "dtype", None) is not None and value.dtype.kind not in "OUS":
            raise ValueError(f"{name}: expected words, got numbers")
        for each in value:
            text(name, each)


def two_of(*allowed: str) -> Check:
    """Two of these words."""

    def check(name: str, value: Any) -> None:
        _words(name, value)
        for each in value:
            word(*allowed)(name, each)
        if len(value) != 2 or value[0] == value[1]:
            raise ValueError(f"{name}: expected two different words, got {shown(value)}")

    return check


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


def _rules(name: str, value: Any) -> None:
    listed(name, value)
    if hasattr(value, "__len__"):
        if not len(value):
            raise ValueError(f"{name}: expected one at least, got none")
        for each in value:
            _rule(name, each)


def _seeds(name: str, value: Any) -> int | None:
    if (
        isinstance(value, Iterable)
        and not isinstance(value, str | bytes)
        and getattr(value, "ndim", 1)
    ):
        listed = list(value) if isinstance(value, Collection) else None
        for seed in listed or ():
            whole_number("seed", seed, 0)
        if listed == []:
            raise ValueError(f"{name}: at least one is needed, got none")
        return None
    return whole(0)(name, value)


def _wholes(name: str, value: Any) -> None:
    listed(name, value)
    if hasattr(value, "__len__"):
        for each in value:
            whole_number(name, each, 0)


def _overlaps(name: str, value: Any) -> None:
    listed(name, value)
    if hasattr(value, "__len__"):
        for each in value:
            kind("Overlaps", "Solution")(name, each)


def _starts(name: str, value: Any) -> None:
    if any(parent.__name__ in ("Overlaps", "Solution") for parent in type(value).__mro__):
        return
    wrong = not isinstance(value, str) and (
        not isinstance(value, Iterable) or isinstance(value, bytes)
    )
    if wrong or hasattr(value, "dtype") or value == "":
        raise ValueError(f"{name}: expected starts by name, in a list, got {shown(value)}")


def _progress(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        flag(name, value)


def by_annotation(annotation: Any) -> Check | None:
    """The check of an annotation, such as `int`, `float | None`, `Literal["a", "b"]` or a class of
    this package."""
    if get_args(annotation) and all(isinstance(each, str) for each in get_args(annotation)):
        return word(*get_args(annotation))
    plain = isinstance(annotation, type) and not get_args(annotation)
    written = annotation.__name__ if plain else str(annotation)
    written = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", written)
    written = re.sub(r" \| None$", "", written).replace("NoneType", "None")
    if all(name in CLASSES for name in written.split(" | ")):
        return kind(*written.split(" | "))
    return ANNOTATIONS.get(written)


CLASSES = (
    "Attention",
    "CountingTask",
    "Estimate",
    "Experiment",
    "FirstLayer",
    "MeasuredTokens",
    "NoisyStart",
    "Objective",
    "Overlaps",
    "Path",
    "Positions",
    "Recipe",
    "Run",
    "Sample",
    "Scales",
    "Sentences",
    "Surgery",
    "Tokens",
    "Weights",
)
ANNOTATIONS: dict[str, Check] = {
    "int": whole(0),
    "float": real,
    "bool": flag,
    "str": text,
    "str | Path": path,
    "str | PathLike": path,
    "str | Path | Iterable[str | Path]": _files,
    "ArrayLike": numbers,
    "float | ArrayLike": numbers,
    "ndarray": numbers,
    "ndarray | float": numbers,
    "Array | ndarray": whole_numbers,
    "Array": key,
    "Iterable[int]": _wholes,
    "tuple[int, ...]": _wholes,
    "Iterable[float]": values,
    "Sequence[float]": values,
    "tuple[float, ...]": values,
    "tuple[float, float]": values,
    "tuple[tuple[float, float], ...]": array(2),
    "Sequence[str]": _words,
    "Iterable[str]": _words,
    "tuple[str, ...]": _words,
    "Sequence[Any]": listed,
    "Sequence[Estimate]": listed_kind("Estimate"),
    "Sequence[Scores]": listed_kind("Scores"),
    "Sequence[Rule]": _rules,
    "Iterable[Overlaps]": _overlaps,
    "StepSize": _step_size,
    "dict[str, Any]": mapping,
    "Mapping[str, ArrayLike]": mapping,
    "Rule": _rule,
    "Sobol": kind("Sobol", example="dotphase.Sobol(4096)"),
    "Security": kind("Security"),
    "Study | dict[str, Any]": kind("Study", "dict"),
    "Callable[..., Any]": function,
    "Callable[[Run], None]": function,
    "Callable[[ndarray], ndarray]": function,
    "Iterable[Callable] | Mapping[str, Callable]": _functions,
}
CHECKS: dict[str, Check] = {
    "scenario": kind("Scenario", example="dotphase.paper()"),
    "instance": kind("Instance", example="dotphase.sample(scenario, d=100).instance"),
    "solution": kind("Solution", example="dotphase.solve(scenario)"),
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
    "starts": _starts,
    "alpha": _under("sample_ratio", above=True),
    "omega": _under("mixing", most=1),
    "sigma": _under("token_deviation", above=True),
    "ridge": number(),
    "time": number(above=True),
    "scale": number(above=True),
    "noise": number(),
    "cut": number(),
    "patience": number(),
    "rtol": number(above=True),
    "tolerance": number(above=True),
    "damping": below_one,
    "momentum": below_one,
    "rate": number(above=True),
    "hint": number(),
    "causal": flag,
    "throw": flag,
    "scenarios": listed,
    "progress": _progress,
}
