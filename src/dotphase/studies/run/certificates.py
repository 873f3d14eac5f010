"""Certificates, so that a dask scheduler accepts work only from their owners."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ...numerics.extras import require

if TYPE_CHECKING:
    from distributed import Security

CERTIFICATE, KEY = "certificate.pem", "key.pem"


def make_certificates(folder: str | Path) -> Security:
    """Write a new certificate and its key to `folder`, readable by you alone; returns the
    `security` argument of dask.

    Valid for a year, and from a day ago, for machines whose clocks are behind. Scheduler, workers
    and client share it: everyone who can read the key can run code on the workers.
    """
    require("certificates need", "distributed", "cryptography")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip((CERTIFICATE, KEY), _signed_by_itself(), strict=True):
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
    return read_certificates(folder)


def _signed_by_itself() -> tuple[bytes, bytes]:
    """A certificate and its key. (Those of `distributed.Security.temporary` begin this very
    second: a machine whose clock is behind refuses them.)"""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "dask-internal")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1))
    builder = builder.not_valid_after(now + timedelta(days=365))
    made = builder.sign(key, hashes.SHA256())
    kept = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return made.public_bytes(serialization.Encoding.PEM), kept


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
