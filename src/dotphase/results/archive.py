"""Results in files: one zip archive with `result.json` and the arrays as `.npy`, read back without
running any code.

A value of a class of this package is written as the class's name and its fields. Reading builds
only dataclasses and named tuples of this package. Functions of your own are written by name, and
have to be given again when reading.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..numerics.files import written_whole
from ..scenario.arguments import checked
from ..scenario.attentions import catalogue as _catalogue
from ..scenario.files import scenario_from_tables, scenario_to_tables
from ..scenario.scenario import Scenario
from .estimate import Estimate

FORMAT = "dotphase result 1"
OURS = re.compile(
    r"dotphase(\.[a-z]\w*)+:[A-Z_]\w*"
)  # no module with a leading underscore: those may run something


def save(result: Any, path: str | Path) -> None:
    """Write a result; the file appears in one step, whole or not at all."""
    arrays: list[np.ndarray] = []
    document = {"format": FORMAT, "result": _encoded(result, arrays)}
    with (
        written_whole(Path(path)) as unfinished,
        zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        file.writestr("result.json", json.dumps(document, indent=1, allow_nan=False))
        for number, array in enumerate(arrays):
            buffer = BytesIO()
            np.save(buffer, array, allow_pickle=False)
            file.writestr(f"{number}.npy", buffer.getvalue())


@checked
def load(path: str | Path, functions: Iterable[Callable] | Mapping[str, Callable] = ()) -> Any:
    """The result that `save` wrote.

    **Arguments**: `path` of the file; `functions`, those of your own that its scenario is made of,
    in a list or by name.

    **Returns**: the result, of the class that was saved.

    **Example**

        solution = dotphase.solve(dotphase.paper(alpha=2, omega=0.3), "semantic")
        solution.save("semantic.dotphase")
        dotphase.load("semantic.dotphase") == solution      # True
    """
    given: Any = (
        functions
        if isinstance(functions, Mapping)
        else {each.__qualname__: each for each in functions}
    )
    try:
        with zipfile.ZipFile(path) as file:
            document = json.loads(file.read("result.json"))
            if document.get("format") != FORMAT:
                raise ValueError(f"its format is {document.get('format')!r}, expected {FORMAT!r}")
            array = lambda name: np.load(BytesIO(file.read(f"{name}.npy")), allow_pickle=False)
            return _decoded(document["result"], array, given)
    except IsADirectoryError:
        raise ValueError(
            f"{path}: a directory, not a file; `dotphase.counting.load` reads counting runs"
        ) from None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except (
        zipfile.BadZipFile,
        ImportError,
        LookupError,
        TypeError,
        AttributeError,
        EOFError,
        ValueError,
    ) as error:
        raise ValueError(f"{path}: cannot be read as a saved result: {error}") from None


def _encoded(value: Any, arrays: list[np.ndarray]) -> Any:
    inner = lambda entry: _encoded(entry, arrays)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else {"is": "float", "value": repr(float(value))}
    if isinstance(value, complex | np.complexfloating):
        return {"is": "complex", "value": [inner(value.real), inner(value.imag)]}
    if isinstance(value, Estimate):
        return {
            "is": "estimate",
            "value": [inner(part) for part in (value.value, value.error, value.count)],
        }
    if isinstance(value, Scenario) and _built_in(value):
        return {"is": "scenario", "value": scenario_to_tables(value)}
    if _has_fields(value):
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        if not OURS.fullmatch(kind):
            raise ValueError(
                f"{kind.split(':')[1]}: only classes of this package can be written to a file"
            )
        return {
            "is": kind,
            "value": {name: inner(getattr(value, name)) for name in _fields(type(value))},
        }
    if isinstance(value, Mapping):
        return {"is": "dict", "value": [[inner(key), inner(entry)] for key, entry in value.items()]}
    if isinstance(value, list | tuple):
        return {"is": type(value).__name__, "value": [inner(entry) for entry in value]}
    if callable(value):
        ours = getattr(value, "__module__", "") == _catalogue.__name__
        name = getattr(value, "__qualname__", repr(value))
        return {"is": "attention" if ours else "function", "value": name}
    array = np.asarray(value)
    if array.dtype.kind not in "biufcU":
        raise ValueError(f"{type(value).__name__}: cannot be written to a file")
    arrays.append(array)
    return {"is": "array", "value": len(arrays) - 1}


def _decoded(
    value: Any, array: Callable[[int], np.ndarray], functions: Mapping[str, Callable]
) -> Any:
    inner = lambda entry: _decoded(entry, array, functions)
    if not isinstance(value, dict):
        return value
    kind, held = value["is"], value["value"]
    if ":" in kind:
        return _class_of(kind)(**{name: inner(entry) for name, entry in held.items()})
    if kind == "function" and held not in functions:
        raise ValueError(f"it needs your function {held}: load(path, functions={{{held!r}: …}})")
    build: dict[str, Callable[[Any], Any]] = {
        "float": float,
        "complex": lambda parts: complex(*map(inner, parts)),
        "estimate": lambda parts: Estimate(*map(inner, parts)),
        "scenario": scenario_from_tables,
        "dict": lambda pairs: {inner(key): inner(entry) for key, entry in pairs},
        "list": lambda entries: [inner(entry) for entry in entries],
        "tuple": lambda entries: tuple(inner(entry) for entry in entries),
        "function": lambda name: functions[name],
        "attention": lambda name: getattr(_catalogue, name),
        "array": array,
    }
    return build[kind](held)


def _built_in(scenario: Scenario) -> bool:
    try:
        scenario_to_tables(scenario)
    except ValueError:
        return False
    return True


def _has_fields(value: Any) -> bool:
    return (is_dataclass(value) and not isinstance(value, type)) or hasattr(value, "_fields")


def _fields(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


def _class_of(kind: str) -> Callable[..., Any]:
    if not OURS.fullmatch(kind):
        raise ValueError(f"{kind}: not a class of this package")
    module, name = kind.split(":")
    found = getattr(import_module(module), name)
    if not isinstance(found, type) or not (is_dataclass(found) or hasattr(found, "_fields")):
        raise ValueError(f"{kind}: not a class that a file can hold")
    return found
