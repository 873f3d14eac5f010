"""Programs that are kept as machine code from one process to the next.

JAX's own cache keeps what the compiler makes, but a fresh process still has to trace and to lower
each program before it can look it up, which takes longer than all else in a first answer. A program
of `kept` is looked up by the name of its function, what that closes over, and the types of its
arguments; the names hold a digest of the package's sources, so no program outlives a change of code.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import secrets
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

import jax
import numpy as np

from .cache import processor
from .compilation import compiled
from .files import written_whole

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))
PACKAGE = __name__.partition(".")[0]
# Libraries whose functions are described by their names and versions.
LIBRARIES = (PACKAGE, "jax", "jaxlib", "numpy", "builtins", "math")
IMPORTED = time.time()


def kept(function: Callable, *closed_over: Any, small: bool = False) -> Callable:
    """`compiled(function)`, kept for the next process.

    **Arguments**: `closed_over`, all that the program depends on besides its arguments; `small` as
    in `compiled`. Where something in `closed_over` has no name that another process would give it
    too, the function is compiled as usual.
    """
    name = stable_name(closed_over)
    return _Kept(function, name, small) if name else compiled(function, small=small)


class _Kept:
    """A function with one program for each type of its arguments."""

    def __init__(self, function: Callable, name: str, small: bool) -> None:
        self.function, self.small = function, small
        self.name = f"{function.__module__}.{function.__qualname__}({name})"
        self.programs: dict[Any, Callable] = {}
        self.making = threading.Lock()

    @cached_property
    def plain(self) -> Any:
        return compiled(self.function, small=self.small)

    def __call__(self, *arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        key = (tree, _setting("enable_x64"), *map(_type_of, leaves))
        program = self.programs.get(key)
        if program is None:
            with self.making:
                program = self.programs.get(key) or self._made(key, arguments)
                self.programs[key] = program
        return program(*arguments)

    def _made(self, key: Any, arguments: tuple) -> Callable:
        folder = _folder()
        if folder is None:
            return self.plain
        described = repr((self.name, str(key[0]), *key[1:], _surroundings()))
        file = folder / f"program-{hashlib.sha256(described.encode()).hexdigest()}"
        return _loaded(file, arguments) or self._written(file, arguments)

    def _written(self, file: Path, arguments: tuple) -> Callable:
        """The program, newly compiled, after writing it to its file.

        What JAX takes from its own cache cannot be written whole. So it is asked for a program of a
        name that it has never heard, and what it keeps under that name is removed.
        """
        from jax.experimental.serialize_executable import serialize

        token = secrets.token_hex(8)

        def unheard(*arguments: Any) -> Any:
            return self.function(*arguments)

        unheard.__name__ = f"{self.function.__name__}_{token}"
        renamed: Any = compiled(unheard, small=self.small)
        lowered = renamed.lower(*arguments)
        program, text = lowered.compile(), lowered.as_text()
        if "callback" in text:  # into this process
            return program
        with suppress(OSError, jax.errors.JaxRuntimeError, ValueError):
            with written_whole(file) as unfinished:
                unfinished.write_bytes(pickle.dumps(("lapack" in text, serialize(program))))
            for twin in file.parent.glob(f"*{token}*"):
                twin.unlink()
        return program


def _type_of(leaf: Any) -> tuple:
    """What of an argument a program depends on: Python's numbers take the type of what they meet."""
    if isinstance(leaf, bool | int | float | complex):
        return (type(leaf).__name__,)
    return leaf.shape, leaf.dtype.name, getattr(leaf, "weak_type", False)


def _setting(name: str) -> Any:
    return getattr(jax.config, f"jax_{name}")  # which no type checker knows


def _folder() -> Path | None:
    """Where programs are kept: beside JAX's own, if it has been told to keep any."""
    chosen = _setting("compilation_cache_dir")
    debugged = any(map(_setting, ("disable_jit", "debug_nans", "debug_infs")))
    alone = jax.default_backend() == "cpu" and jax.device_count() == 1
    if chosen and _setting("enable_compilation_cache") and alone and not debugged:
        return Path(chosen) if _is_current() else None
    return None


def _sources() -> list[Path]:
    return sorted(Path(__file__).parents[1].rglob("*.py"))


def _is_current() -> bool:
    """Whether this process runs the sources as they are now: none was written since the import."""
    return max(file.stat().st_mtime for file in _sources()) < IMPORTED


def _loaded(file: Path, arguments: tuple) -> Callable | None:
    """The program in a file; None if there is none, or if it does not run."""
    from jax.experimental.serialize_executable import deserialize_and_load

    try:
        calls_lapack, written = pickle.loads(file.read_bytes())
        if calls_lapack:
            _find_lapack()
        program = deserialize_and_load(*written)
        jax.block_until_ready(program(*arguments))
        return program
    except FileNotFoundError:
        return None
    except Exception:  # whatever is wrong with it, it can be made again
        with suppress(OSError):
            file.unlink()
        return None


@lru_cache(maxsize=1)
def _find_lapack() -> None:
    """Lowering has JAX look up the functions of LAPACK; a program that is only loaded would call
    them at no address."""
    jax.jit(jax.lax.linalg.cholesky).lower(np.ones((1, 1)))


@lru_cache(maxsize=1)
def _surroundings() -> tuple[str, ...]:
    """What all programs depend on: the package's sources, the compiler and its flags, the
    processor."""
    from importlib.metadata import version

    sources = hashlib.sha256()
    for file in _sources():
        sources.update(file.read_bytes())
    libraries = (version("jax"), version("jaxlib"), np.__version__, platform.python_version())
    return (sources.hexdigest(), *libraries, os.environ.get("XLA_FLAGS", ""), processor())


def stable_name(value: Any) -> str | None:
    """A text that is equal in every process for equal values; None where there is none."""
    try:
        return repr(_described(value))
    except TypeError:
        return None


def _described(value: Any) -> Any:
    if isinstance(value, PLAIN):
        return type(value).__name__, repr(value)
    if isinstance(value, tuple):
        return type(value).__name__, *map(_described, value)
    if isinstance(value, CodeType):
        parts = (value.co_names, value.co_varnames, value.co_freevars, value.co_flags)
        return value.co_code, parts, *map(_described, value.co_consts)
    if is_dataclass(value) and not isinstance(value, type):
        inside = [_described(getattr(value, each.name)) for each in fields(value) if each.compare]
        return _described(type(value)), *inside
    module, name = (getattr(value, key, None) for key in ("__module__", "__qualname__"))
    if isinstance(value, type) and module == "builtins":
        return module, name
    if str(module).partition(".")[0] not in LIBRARIES or _named(module, name) is not value:
        raise TypeError(f"{value!r} has no name that another process would give it")
    return module, name


def _named(module: Any, name: Any) -> Any:
    """What a module has under a name; None if nothing. (A function made from one of a library often
    carries the name of that one.)"""
    found: Any = sys.modules.get(module)
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return found
