"""A lock, so that two runs never write one store.

The lock is a file beside the store, locked with the operating system, which lets go of it when the process dies in
whatever way: a file left behind by a dead process is no lock. What the file says (machine, process, since when) is for
people, and for machines that share a file system without sharing its locks.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class LockedError(ValueError):
    """Someone else is writing the store."""


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the lock of a store while the block runs, or raise `LockedError`."""
    path = lock_path(store)
    descriptor = _take(store, path)
    try:
        owner = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def lock_path(store: Path) -> Path:
    return store.with_name(f"{store.name}.lock")


def holder(store: Path) -> dict[str, Any] | None:
    """Who is writing the store now, or None."""
    path = lock_path(store)
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return _owner(path) if not _locks(descriptor) or _elsewhere(path) else None
    finally:
        os.close(descriptor)


def _take(store: Path, path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if not _locks(descriptor, patience=0.3) or _elsewhere(path):
                raise LockedError(_complaint(store, path))
            # Whoever held it before may have deleted the file we have opened: then ours is no lock.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _locks(descriptor: int, patience: float = 0.0) -> bool:
    """Whether the file could be locked; someone who only looks at it holds it for an instant, hence the patience."""
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.02)


def _elsewhere(path: Path) -> bool:
    """Whether the file speaks of another machine, whose processes cannot be seen from here."""
    return _owner(path).get("host", socket.gethostname()) != socket.gethostname()


def _owner(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _complaint(store: Path, path: Path) -> str:
    owner = _owner(path)
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(owner.get("since", time.time())))
    who = f"process {owner.get('pid', '?')} on {owner.get('host', '?')} since {since}"
    return f"{store} is being written by {who}; wait for it, or delete {path} if that process is gone"
