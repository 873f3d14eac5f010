"""Chunks of a Zarr store: one file per variable and unit of work, with its own checksum, put in place in one step.

Zarr version 3 lays down what is in the file: little-endian numbers in C order (codec `bytes`) or strings, each after
its length (`vlen-utf8`), then the CRC-32C of it all (`crc32c`). They are written here rather than through the zarr
library because a unit has some twenty of them, for which the library takes many times as long; any reader of Zarr reads
them, and the tests do.
"""

from __future__ import annotations

import os
from contextlib import suppress

import google_crc32c
import numpy as np

from .kind import Variable

CHECKSUM = 4  # bytes


def encode(variable: Variable, array: np.ndarray) -> bytes:
    """A whole chunk as Zarr has it on disk."""
    body = _strings(array) if variable.dtype == "str" else _numbers(variable, array)
    return body + google_crc32c.value(body).to_bytes(CHECKSUM, "little")


def _numbers(variable: Variable, array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array, np.dtype(variable.dtype).newbyteorder("<")).tobytes()


def _strings(array: np.ndarray) -> bytes:
    texts = [str(text).encode() for text in array.ravel()]
    return len(texts).to_bytes(4, "little") + b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def write(path: str, content: bytes) -> None:
    """Put a file in place: readers see all of it or nothing."""
    temporary = f"{path}.partial"
    try:
        _fill(temporary, content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _fill(path: str, content: bytes) -> None:
    # Plain system calls: there are twenty small files to a unit, and Python's own take twice as long.
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        while content:
            content = content[os.write(descriptor, content) :]
    finally:
        os.close(descriptor)


def intact(path: str) -> bool:
    """Whether a chunk is there and is what was written."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False
    body, checksum = content[:-CHECKSUM], content[-CHECKSUM:]
    return len(content) > CHECKSUM and google_crc32c.value(body).to_bytes(CHECKSUM, "little") == checksum
