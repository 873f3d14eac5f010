"""A lock, so that two runs never write one store.

The lock is a file next to the store, held through the operating system, which releases it when the
process ends for any reason: the file of a dead process locks nothing. The content of the file
(machine, process, start time) is for messages, and for machines that share a file system but not
its locks.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...numerics.extras import require


class LockedError(ValueError):
    """Another process is writing the store."""


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the lock of a store while the block runs, or raise `LockedError`."""
    require("studies need", "studies")
    from filelock import FileLock, Timeout

    path = lock_path(store)
    owner, lock = _owner(path), FileLock(path)
    try:
        if _elsewhere(owner):
            raise LockedError(_complaint(store, path))
        lock.acquire(timeout=0.3)  # a reader holds the lock for less than that
    except Timeout:
        raise LockedError(_complaint(store, path)) from None
    try:
        _sign(path)
        yield
    finally:
        with suppress(OSError):  # Windows deletes no open file
            path.unlink()
        lock.release()


def lock_path(store: Path) -> Path:
    """The lock file, next to the store itself, not next to a link to it."""
    real = store.resolve()
    return real.with_name(f"{real.name}.lock")


def holder(store: Path) -> dict[str, Any] | None:
    """The process that is writing the store now, or None. Writes nothing."""
    path = lock_path(store)
    owner = _owner(path)
    if not path.exists():
        return None
    if _elsewhere(owner):
        return owner
    if os.name != "posix":  # locking would need to write: trust the content of the file
        return owner or None
    return owner if _is_held(path) else None


def _is_held(path: Path) -> bool:
    import fcntl

    with suppress(OSError), open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _sign(path: Path) -> None:
    owner = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
    with suppress(OSError):  # Windows lets no one write a locked file
        path.write_text(json.dumps(owner), encoding="utf-8")


def _elsewhere(owner: dict[str, Any]) -> bool:
    """Whether the owner is on another machine, whose processes cannot be seen from here."""
    return isinstance(owner.get("host"), str) and owner["host"] != socket.gethostname()


def _owner(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _complaint(store: Path, path: Path) -> str:
    owner = _owner(path)
    since = owner.get("since")
    when = (
        time.strftime(" since %Y-%m-%d %H:%M", time.localtime(since))
        if isinstance(since, int | float)
        else ""
    )
    who = f"process {owner.get('pid', '?')} on {owner.get('host', '?')}{when}"
    return (
        f"{store} is being written by {who}; wait for it, or delete {path} if that process is gone"
    )
