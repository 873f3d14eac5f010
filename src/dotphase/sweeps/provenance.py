"""Where a dataset comes from: the study, the versions it was computed with, when it was begun."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .study import Study

LIBRARIES = ("jax", "jaxlib", "numpy", "scipy", "xarray", "zarr")


def provenance(study: Study) -> dict[str, Any]:
    """What goes into the attributes of a dataset. Seeds, nodes and tolerances are part of the study."""
    from .. import __version__

    return {
        "title": study.name,
        "study": study.model_dump_json(),
        "dotphase": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    } | {name: _version(name) for name in LIBRARIES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
