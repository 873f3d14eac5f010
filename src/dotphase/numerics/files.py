"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".unfinished"  # in the name of a file that is being written


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A path to write to. What is there at the end takes the place of `path` in one step; if the
    writing fails, nothing is left behind."""
    unfinished = path.with_name(
        f".{path.stem}.{os.getpid()}.{threading.get_ident()}{UNFINISHED}{path.suffix}"
    )
    try:
        yield unfinished
        with open(unfinished, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
