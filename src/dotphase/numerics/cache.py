"""Compilations are kept from one process to the next, in the user's cache folder: most of a first
answer is compiling.

The folder's size is bounded here: JAX's own bound needs one more library, and locks the folder at
every access. What the user has set already stands; JAX's own `JAX_ENABLE_COMPILATION_CACHE=false` turns it off.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

LARGEST = 2**30  # bytes kept; beyond, what was written longest ago goes
SHORTEST = 0.1  # seconds of compiling that are worth a file


def keep_compilations(environ: MutableMapping[str, str] = os.environ) -> None:
    """Have JAX, not yet imported, keep what it compiles, and its worker processes too."""
    environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder(environ)))
    environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(SHORTEST))


def keep_compilations_here() -> None:
    """The same for this process, in which JAX is imported: where no cache was chosen, and one can
    be written."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    set_to: Any = jax.config  # whose settings no type checker knows
    chosen, ours = set_to.jax_compilation_cache_dir, folder(os.environ)
    if chosen in (None, str(ours)) and set_to.jax_enable_compilation_cache and _prepared(ours):
        if chosen is None:
            jax.config.update("jax_compilation_cache_dir", str(ours))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", SHORTEST)
            compilation_cache.reset_cache()  # who compiled before has told JAX that there is none
        trim(ours)


def folder(environ: Mapping[str, str]) -> Path:
    """Code compiled for one processor need not run on another, and a home folder may be shared by
    several: each kind has its own folder."""
    home = environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    caches = Path(environ.get("XDG_CACHE_HOME") or home or Path.home() / ".cache")
    return caches / "dotphase" / f"compiled-{processor()}"


def trim(kept: Path, largest: int = LARGEST) -> None:
    """Remove what was written longest ago, until no more than `largest` bytes are left."""
    with suppress(OSError):
        files = sorted(
            ((entry.stat(), entry.path) for entry in os.scandir(kept)),
            key=lambda file: -file[0].st_mtime,
        )
        total = 0
        for status, path in files:
            total += status.st_size
            if total > largest:
                with suppress(OSError):
                    os.remove(path)


def _prepared(place: Path) -> bool:
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
    return os.access(place, os.W_OK)


def processor() -> str:
    """A name for this kind of processor: what it is called and what it can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    described = sorted(
        {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    )
    return hashlib.sha256(
        "\n".join([platform.machine(), platform.processor(), *described]).encode()
    ).hexdigest()[:12]
