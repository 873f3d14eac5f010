"""A lock, so that two runs never write one store.

The lock is a file next to the store, held through the operating system, which releases it when the
process ends for any reason: the file of a dead process locks nothing.

The content of the file, its signature, names the process that holds it. It is for messages, and
for file systems that do not honour locks, or not between machines: a process that is still alive,
or is on another machine, is believed to hold the lock it has signed.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...numerics.extras import require

# What `flock` says on a file system that has no locks, and when another process has the lock.
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
HELD = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES)


class LockedError(ValueError):
    """Another process is writing the store."""


class Lock:
    """The lock of a store, held and signed by this process."""

    def __init__(self, store: Path) -> None:
        self.store, self.path = store, lock_path(store)
        self.signature = _signature()
        self._next_look = 0.0

    def sign(self) -> None:
        """Write the signature, in one step and always of one length, so that two never mix."""
        content = json.dumps(self.signature).encode().ljust(512)
        try:
            with open(self.path, "r+b", buffering=0) as file:
                file.write(content)
        except PermissionError:
            if os.name == "posix":  # Windows lets no one write a locked file
                raise

    def is_signed(self) -> bool:
        return _owner(self.path) == self.signature

    def check(self) -> None:
        """Raise if another process has signed the file since, because locks are not honoured, or
        because the file was deleted by hand. Looks at most once a second."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + 1
        if _owner(self.path) not in ({}, self.signature):
            raise self.refusal()

    def refusal(self) -> LockedError:
        owner = _owner(self.path)
        name, host = owner.get("pid", "?"), owner.get("host", "?")
        return LockedError(
            f"{self.store} is being written by process {name} on {host}{_when(owner.get('since'))}; "
            f"wait for it, or delete {self.path} if that process is gone"
        )

    def erase(self) -> None:
        """Remove the file, unless it is another process's by now."""
        with suppress(OSError):  # Windows deletes no open file
            if _owner(self.path) in ({}, self.signature):
                os.truncate(self.path, 0)  # an empty file locks nothing, should it have to stay
                self.path.unlink()


@contextmanager
def locked(store: Path) -> Iterator[Lock]:
    """Hold the lock of a store while the block runs, or raise `LockedError`."""
    require("studies need", "studies")
    lock = Lock(store)
    _refuse_owner(lock)
    with _system_lock(lock) as honoured:
        _refuse_owner(lock)
        lock.sign()
        if not honoured:
            # Another process may have looked for a signature before this one was there, and write
            # its own after it: the last one to sign has the lock.
            time.sleep(0.3)
            if not lock.is_signed():
                raise lock.refusal()
        try:
            yield lock
        finally:
            lock.erase()


def lock_path(store: Path) -> Path:
    """The lock file, next to the store itself, not next to a link to it."""
    real = store.resolve()
    return real.with_name(f"{real.name}.lock")


def holder(store: Path) -> dict[str, Any] | None:
    """The process that is writing the store now, or None. Writes nothing."""
    path = lock_path(store)
    owner = _owner(path)
    return owner if _is_believed(owner) or _is_held(path) else None


def _refuse_owner(lock: Lock) -> None:
    if _is_believed(_owner(lock.path)):
        raise lock.refusal()


@contextmanager
def _system_lock(lock: Lock) -> Iterator[bool]:
    """Hold the operating system's lock; gives whether the file system honours it."""
    if os.name != "posix":
        from filelock import FileLock, Timeout

        try:
            with FileLock(lock.path, timeout=0.3):
                yield True
        except Timeout:
            raise lock.refusal() from None
        return
    # Our own `flock`, since filelock empties the file, and where there are no locks takes the
    # existence of a file for one, which a process that was killed would leave behind.
    file = _opened(lock)
    try:
        yield _is_held(lock.path)
    finally:
        os.close(file)


def _opened(lock: Lock) -> int:
    """The file, locked if the file system has locks."""
    end = time.monotonic() + 0.3  # a reader holds the lock for less than that
    while True:
        file = os.open(lock.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            # After its last holder has deleted it, the file is no longer the one at this path.
            if _try_lock(file) and os.fstat(file).st_nlink:
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        if time.monotonic() > end:
            raise lock.refusal()
        time.sleep(0.02)


def _try_lock(file: int) -> bool:
    """False if another process holds the lock; True also if there are no locks."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (*HELD, *NO_LOCKS):
            raise
        return error.errno not in HELD
    return True


def _is_held(path: Path) -> bool:
    """Whether the operating system says that the file is locked, by any process, also this one."""
    if os.name != "posix":  # asking would need to write
        return False
    with suppress(OSError), open(path, "rb") as file:
        return not _try_lock(file.fileno())
    return False


def _signature() -> dict[str, Any]:
    import psutil

    pid = os.getpid()
    return {
        "host": socket.gethostname(),
        "pid": pid,
        "began": _began(psutil.Process(pid)),
        "since": time.time(),
    }


def _began(process: Any) -> float:
    """When a process began, in seconds after the machine did: setting the clock changes nothing."""
    import psutil

    return round(process.create_time() - psutil.boot_time(), 2)


def _is_believed(owner: dict[str, Any]) -> bool:
    """Whether a signature is enough: of a process on another machine, which cannot be seen from
    here, or of one on this machine that is alive."""
    return _elsewhere(owner) or _is_alive(owner)


def _elsewhere(owner: dict[str, Any]) -> bool:
    return isinstance(owner.get("host"), str) and owner["host"] != socket.gethostname()


def _is_alive(owner: dict[str, Any]) -> bool:
    """Whether the process lives, and is not a later one with the same number."""
    pid, began, since = (owner.get(name) for name in ("pid", "began", "since"))
    if not isinstance(pid, int) or pid < 1:
        return False
    import psutil

    with suppress(psutil.Error, ValueError, OverflowError):
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if isinstance(began, int | float):
            return abs(_began(process) - began) < 2  # some systems give the boot in whole seconds
        return isinstance(since, int | float) and process.create_time() <= since
    return False


def _owner(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _when(since: Any) -> str:
    if not isinstance(since, int | float):
        return ""
    with suppress(ValueError, OverflowError, OSError):  # not a time
        return time.strftime(" since %Y-%m-%d %H:%M", time.localtime(since))
    return ""
