"""Compilations are kept from one command to the next: half the time of a first answer is compiling."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import MutableMapping
from pathlib import Path


def keep_compilations(environ: MutableMapping[str, str] = os.environ) -> None:
    """Have JAX, not yet imported, keep what it compiles in the user's cache folder, and its worker processes too.

    What the user has set already stands; JAX's own `JAX_ENABLE_COMPILATION_CACHE=false` turns it off. Code compiled for
    one processor need not run on another, and a home folder may be shared by several: each kind has its own folder.
    """
    caches = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(caches / "dotphase" / f"compiled-{_processor()}"))
    environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def _processor() -> str:
    """A name for this kind of processor: what it is called and what it can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    described = sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return hashlib.sha256("\n".join([platform.machine(), platform.processor(), *described]).encode()).hexdigest()[:12]
