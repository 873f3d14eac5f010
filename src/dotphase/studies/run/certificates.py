"""Certificates, so that a dask scheduler accepts work only from their owners."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...numerics.extras import require

if TYPE_CHECKING:
    from distributed import Security

CERTIFICATE, KEY = "certificate.pem", "key.pem"


def make_certificates(folder: str | Path) -> Security:
    """Write a new certificate and its key to `folder`, readable by you alone; returns the
    `security` argument of dask.

    Valid for a year. Scheduler, workers and client share it: everyone who can read the key can run code
    on the workers.
    """
    require("certificates need", "distributed", "cryptography")
    from distributed import Security

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    made = Security.temporary()
    for name, content in ((CERTIFICATE, made.tls_ca_file), (KEY, made.tls_client_key)):  # type: ignore[attr-defined]
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
    return read_certificates(folder)


def read_certificates(folder: str | Path) -> Security:
    """The certificates written by `make_certificates`, for `security=` of dask and of
    `slurm_cluster`."""
    require("certificates need", "distributed", "cryptography")
    from distributed import Security

    certificate, key = (str(Path(folder).resolve() / name) for name in (CERTIFICATE, KEY))
    for file in (certificate, key):
        if not Path(file).exists():
            raise ValueError(
                f"{file}: no certificate here; `dotphase sweep certificates FOLDER` makes one"
            )
    roles = {f"tls_{role}_{part}": file for role in ("client", "scheduler", "worker")
             for part, file in (("cert", certificate), ("key", key))}  # fmt: skip
    return Security(require_encryption=True, tls_ca_file=certificate, **roles)
