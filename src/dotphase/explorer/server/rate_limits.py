"""Rate limits: requests per second of each client, and one job of each type per client; a later job
replaces the earlier one."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much the server accepts and remembers.

    - `jobs`: open at once, of all clients together.
    - `rate`: requests per second of one client.
    - `burst`: requests that a client may send at once after a pause.
    - `clients`: the most recent ones, whose requests are counted.
    - `body`: bytes of a request.
    - `answers`: characters of all remembered answers together.
    - `silence`: seconds without an event after which a stream sends a sign of life.
    - `slow`: seconds that a request may take to arrive.
    """

    jobs: int = 64
    rate: float = 30.0
    burst: float = 60.0
    clients: int = 1000
    body: int = 16 * 1024
    answers: int = 16_000_000
    silence: float = 15.0
    slow: float = 10.0


LIMITS = Limits()


class TooMany(Exception):
    """A client, or all clients together, exceed the limits."""


class RateLimits:
    """Admits requests and jobs within `limits`."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self._open: dict[tuple[str, str], asyncio.Event] = {}
        # Client → (requests saved up, when).
        self._saved: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, client: str) -> None:
        """Count one request of a client, or refuse it."""
        now = time.monotonic()
        saved, then = self._saved.pop(client, (self.limits.burst, now))
        saved = min(self.limits.burst, saved + (now - then) * self.limits.rate)
        self._saved[client] = (max(0.0, saved - 1), now)
        while len(self._saved) > self.limits.clients:
            self._saved.popitem(last=False)
        if saved < 1:
            raise TooMany(f"more than {self.limits.rate:g} requests a second: please slow down")

    def check(self, client: str, name: str) -> None:
        """Refuse a job if too many are open, unless it replaces another one."""
        if (client, name) not in self._open and len(self._open) >= self.limits.jobs:
            raise TooMany(
                f"{self.limits.jobs} jobs are being worked on: please try again in a moment"
            )

    def end_all(self) -> None:
        """End every open job, since the server ends."""
        for job in self._open.values():
            job.set()

    @contextmanager
    def job(self, client: str, name: str) -> Iterator[asyncio.Event]:
        """Open a job; the event is set when a later job of the same client and type replaces it."""
        earlier = self._open.get((client, name))
        if earlier is not None:
            earlier.set()
        superseded = self._open[client, name] = asyncio.Event()
        try:
            yield superseded
        finally:
            if self._open.get((client, name)) is superseded:
                del self._open[client, name]
