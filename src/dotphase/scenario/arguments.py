"""One check for the arguments of all public functions, by name: a name means the same everywhere.

`@checked` refuses a wrong argument before anything is computed, with a `ValueError` in one line that
begins with the argument's name. The default of an argument is always accepted, and
None where its annotation has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from .validation import finite_number, shown, whole_number

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[str, Any], Any]
LARGEST = 10**15  # of whole numbers


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments that `CHECKS` has by their names."""
    return checked_with()(function)


def checked_with(**special: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same, with `special` checks for arguments that are another thing in this function."""
    return lambda function: _checked(function, CHECKS | special)


def _checked(function: Callable[P, R], checks: dict[str, Check]) -> Callable[P, R]:
    form = signature(function)
    known = {name: checks[name] for name in form.parameters if name in checks}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = form.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # which says what is missing
        for name, check in known.items():
            if name in given and not _left_out(given[name], form.parameters[name]):
                check(name, given[name])
        return function(*args, **kwargs)

    return call


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


def whole(least: int = 1) -> Check:
    def check(name: str, value: Any) -> None:
        if whole_number(name, value, least) > LARGEST:
            raise ValueError(f"{name}: at most {LARGEST:g}, got {shown(value)}")

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


def _progress(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        flag(name, value)


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
    "rank": whole(),
    "student_rank": whole(),
    "teacher_rank": whole(),
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
