"""When are two functions the same? Attentions built twice, in a loop or a notebook, need to be
compiled only once.

Two functions are equal if their code is equal and everything it refers to is equal: closures,
defaults, globals, attributes of modules. These must be plain values, or functions to which the same
test applies. If this cannot be decided, a function is equal only to itself.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None))
LIBRARIES = ("jax", "jaxlib", "numpy")  # whose functions do not change
FIXED = (*LIBRARIES, "builtins", __name__.partition(".")[0])  # whose classes do not change


@dataclass(frozen=True)
class ByContent:
    """A function as a value: equal to others of equal `content`."""

    function: Callable[..., Any] = field(compare=False)
    content: Hashable

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)


class Undecided(Exception):
    """Something a function refers to may change, or cannot be compared."""


def by_content(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a value, if it can be decided what it depends on; else the function itself."""
    if not isinstance(function, FunctionType):
        return function
    try:
        return ByContent(function, _content(function))
    except Undecided:
        return function


def _content(
    value: Any, names: tuple[str, ...] = (), above: frozenset[int] = frozenset()
) -> Hashable:
    """What two equal values have in common. `names` are those that the function uses which reads
    the value; `above`, the functions whose content is being found."""
    if isinstance(value, PLAIN):
        return type(value), repr(value)  # in which 0.0 is not -0.0
    if isinstance(value, tuple):
        return tuple(_content(entry, names, above) for entry in value)
    if isinstance(value, ModuleType):
        return _of_module(value, names, above)
    if isinstance(value, FunctionType) and not _is_library(value):
        return _of_function(value, above)
    fixed = isinstance(value, type) and _root(value.__module__) in FIXED
    if fixed or isinstance(value, BuiltinFunctionType) or _is_library(value):
        return value if isinstance(value, Hashable) else id(value)
    raise Undecided


def _of_module(module: ModuleType, names: tuple[str, ...], above: frozenset[int]) -> Hashable:
    """A module that may change is what is read from it."""
    if _root(module.__name__) in LIBRARIES:
        return ModuleType, module.__name__
    inside = above | {id(module)}
    read = [name for name in names if hasattr(module, name)] if id(module) not in above else []
    found = tuple((name, _content(getattr(module, name), names, inside)) for name in read)
    return ModuleType, module.__name__, found


def _of_function(function: FunctionType, above: frozenset[int]) -> Hashable:
    if id(function) in above:  # it calls itself
        return FunctionType, function.__qualname__
    inside = above | {id(function)}
    codes = list(_codes(function.__code__))
    if not all(_root(name) in LIBRARIES for code in codes for name in _imported(code)):
        raise Undecided
    try:
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    except ValueError:  # not filled yet
        raise Undecided from None
    names = tuple(sorted({name for code in codes for name in code.co_names}))
    read = tuple(
        (name, function.__globals__[name]) for name in names if name in function.__globals__
    )
    named = tuple(sorted((function.__kwdefaults__ or {}).items()))
    return function.__code__, _content((cells, function.__defaults__, named, read), names, inside)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _imported(code: CodeType) -> Iterator[str]:
    """The modules that a function imports when it is called."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval)


def _is_library(value: Any) -> bool:
    module = getattr(value, "__module__", None) or type(value).__module__
    return callable(value) and _root(module) in LIBRARIES


def _root(module: str) -> str:
    return module.partition(".")[0]
