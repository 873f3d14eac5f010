"""The log: all results of a study, one line per record, append-only.

    crc32c of the rest, in hexadecimal, a space, a JSON object

A line is written in one step. A line that is incomplete or changed has a wrong checksum; it is
ignored, and its unit is computed again. Line ends separate the records, so that damage affects no
other lines.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...numerics.extras import require


class Log:
    """A log on disk, open for appending during a run."""

    def __init__(self, path: Path) -> None:
        require("studies need", "studies")
        self.path = path
        self._file: Any = None
        self._next_sync = 0.0

    def records(self) -> Iterator[dict[str, Any]]:
        """The records, one by one; damaged lines are left out."""
        return (record for record in self.lines() if record is not None)

    def lines(self) -> Iterator[dict[str, Any] | None]:
        """As `records`, with None for a line that is damaged."""
        try:
            with open(self.path, "rb") as file:
                yield from map(_read_line, file)
        except FileNotFoundError:
            return

    def append(self, record: dict[str, Any], sync: bool = False) -> None:
        """Write a record. It survives the end of this process immediately, and a power failure
        after the next `fsync`: now if `sync`, otherwise within 5 % of the running time."""
        if self._file is None:
            self._file = _opened(self.path)
        line = as_line(record)
        if self._file.write(line) < len(line):
            self._file.close()
            self._file = None  # the next one begins a line of its own
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync or time.monotonic() >= self._next_sync:
            self.sync()

    def sync(self) -> None:
        if self._file is not None:
            began = time.monotonic()
            os.fsync(self._file.fileno())
            ended = time.monotonic()
            # `fsync` takes about 1 ms on a local disk: spend at most 5 % of the time on it
            self._next_sync = ended + (ended - began) / 0.05

    def close(self) -> None:
        if self._file is not None:
            try:
                self.sync()
            finally:
                self._file.close()
                self._file = None


def as_line(record: dict[str, Any]) -> bytes:
    body = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (_checksum(body), body)


def _checksum(body: bytes) -> int:
    import google_crc32c

    return google_crc32c.value(body)


def _read_line(line: bytes) -> dict[str, Any] | None:
    checksum, _, body = line[:-1].partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % _checksum(body):
        return None
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):  # deliberate: its checksum is right
        return None
    return found if isinstance(found, dict) else None


def _opened(path: Path) -> Any:
    """The file, after the end of its last line: an incomplete last line is ended, and remains
    damaged."""
    file = open(path, "ab", buffering=0)  # noqa: SIM115  (kept open during the run)
    if file.tell():
        with open(path, "rb") as before:
            before.seek(-1, os.SEEK_END)
            if before.read(1) != b"\n":
                file.write(b"\n")
    return file
