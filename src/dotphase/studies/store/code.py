"""The code that computed a unit: version of the package, digest of its sources and of the code a
study names, libraries.

Results of two versions are mixed only on request, and then each unit records its version.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("jax", "jaxlib", "numpy", "scipy", "xarray", "zarr")
COMPUTING = ("jax", "jaxlib", "numpy", "scipy")  # libraries that results depend on
SILENT = ("cli", "figures", "explorer")  # packages that print and draw, and change no number


def provenance() -> dict[str, str]:
    """The attributes of a dataset. Seeds, nodes and tolerances are part of the
    study."""
    from ... import __version__

    return {
        "dotphase": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    } | {name: _version(name) for name in LIBRARIES}


def describe_code(named: list[str]) -> dict[str, str]:
    """Part → version or digest: the package, each of its files, libraries, and modules that a study
    names."""
    from ... import __version__

    libraries = {name: _version(name) for name in COMPUTING}
    modules = {name.partition(":")[0] for name in named}
    return (
        {"dotphase": __version__}
        | libraries
        | _sources()
        | {name: _module_digest(name) for name in sorted(modules)}
    )


def code_id(code: dict[str, str]) -> str:
    return _digest(json.dumps(code, sort_keys=True).encode())


def changes(before: dict[str, str] | None, now: dict[str, str]) -> str:
    """What differs between two codes, in words."""
    if before is None:
        return "its version is not recorded"
    parts = [part for part in dict.fromkeys([*before, *now]) if before.get(part) != now.get(part)]
    shown = [
        f"{part} {before.get(part, '(none)')} → {now.get(part, '(none)')}" for part in parts[:4]
    ]
    return ", ".join(shown) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")


@lru_cache(maxsize=1)
def _sources() -> dict[str, str]:
    root = Path(__file__).parents[2]
    files = sorted(root.rglob("*.py"))
    places = {file.relative_to(root).as_posix(): file for file in files}
    return {
        name: _digest(file.read_bytes())
        for name, file in places.items()
        if name.split("/")[0] not in SILENT
    }


def _module_digest(name: str) -> str:
    file = getattr(sys.modules.get(name), "__file__", None)  # imported when the study was read
    return _digest(Path(file).read_bytes()) if file else "no source"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
