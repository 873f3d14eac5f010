"""The journal: which units are finished. One line each, appended after the unit's chunks are in place.

    label unit status seconds time

A line that a crash cut short is dropped; its unit is worked on again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

DONE, FAILED = "done", "failed"
PENDING, FINISHED, BROKEN = 0, 1, 2  # what `states` says of a unit


class Entry(NamedTuple):
    """A finished unit: `status` done or failed, the `seconds` it took, and the `time` it was written."""

    label: str
    unit: int
    status: str
    seconds: float
    time: float


class Journal:
    """The journal of one store, open for appending as long as someone works on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = None

    def entries(self) -> Iterator[Entry]:
        """What was written, one by one; lines that are no entries are passed over."""
        if not self.path.exists():
            return
        with open(self.path, encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                if len(words) == 5 and line.endswith("\n") and words[2] in (DONE, FAILED):
                    try:
                        yield Entry(words[0], int(words[1]), words[2], float(words[3]), float(words[4]))
                    except ValueError:
                        continue

    def states(self, units: Mapping[str, int]) -> dict[str, np.ndarray]:
        """Per label a byte for each of its `units`: PENDING, FINISHED or BROKEN (an attempt that failed)."""
        found = {label: np.zeros(count, np.uint8) for label, count in units.items()}
        for entry in self.entries():
            if entry.label in found and 0 <= entry.unit < len(found[entry.label]):
                found[entry.label][entry.unit] = FINISHED if entry.status == DONE else BROKEN
        return found

    def append(self, label: str, unit: int, status: str, seconds: float) -> None:
        if self._file is None:
            self._mend()
            self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115  (kept open while the sweep runs)
        self._file.write(f"{label} {unit} {status} {seconds:.6g} {time.time():.3f}\n")
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _mend(self) -> None:
        """Cut off a last line that has no end, else the next one would be glued to it."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        if content and not content.endswith(b"\n"):
            with open(self.path, "r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)
                os.fsync(file.fileno())
