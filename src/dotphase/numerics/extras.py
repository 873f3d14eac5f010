"""Optional packages: which extra of dotphase installs them, and what to print without them."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

# The extra, as in `pip install 'dotphase[studies]'`, and the modules that it installs.
EXTRAS = {
    "studies": (
        "zarr",
        "dask",
        "distributed",
        "filelock",
        "google_crc32c",
        "cryptography",
        "tomli_w",
        "psutil",
    ),
    "report": ("jinja2",),
    "explorer": ("fastapi", "uvicorn", "plotly"),
    "cluster": ("dask_jobqueue",),
    "parquet": ("pyarrow",),
}


class MissingPackageError(ImportError):
    """An optional package is not installed; the message names the extra that installs it."""


@cache
def require(user: str, *names: str) -> None:
    """Raise `MissingPackageError` unless the optional packages are installed.

    **Arguments**

    - `user`: subject and verb of the message, such as `"studies need"`.
    - `names`: extras (all their modules are required) or single modules.
    """
    modules = [module for name in names for module in EXTRAS.get(name, (name,))]
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        extras = ",".join(dict.fromkeys(extra_of(module) for module in missing))
        raise MissingPackageError(f"{user} more packages: pip install 'dotphase[{extras}]'")


def extra_of(module: str) -> str:
    """The extra that installs a module; an empty text if there is none."""
    return next((extra for extra, modules in EXTRAS.items() if module in modules), "")


def free_memory() -> float:
    """Bytes of memory that are free.

    Without psutil, all the memory of the machine; without `os.sysconf` (Windows), no limit.
    """
    if find_spec("psutil") is not None:
        import psutil

        return psutil.virtual_memory().available
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return float("inf")
