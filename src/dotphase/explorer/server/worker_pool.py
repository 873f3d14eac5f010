"""A worker pool: a few worker processes behind one bounded queue.

An order names a piece of work (a function of `work.py`) and its arguments; its messages come back
as they are made. A cancelled order is dropped from the queue, or stopped. A worker that does not
stop, takes too long, or dies, is replaced; only its own order fails, and it is tried once more if
it had sent no message.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any


class Busy(Exception):
    """The queue is full."""


class WorkFailed(Exception):
    """A piece of work failed; the message gives the reason."""


@dataclass(order=True)
class _Order:
    priority: int
    number: int
    work: str = field(compare=False)
    arguments: dict[str, Any] = field(compare=False)
    messages: asyncio.Queue = field(compare=False, default_factory=asyncio.Queue)
    unwanted: asyncio.Event = field(compare=False, default_factory=asyncio.Event)
    taken: bool = field(compare=False, default=False)
    # Whether a worker has sent a message about it.
    heard: bool = field(compare=False, default=False)
    lives: int = field(compare=False, default=2)  # workers that may still die while computing it


class Worker:
    """One process, which begins with the work `first`; the pipe to it, and its messages since
    `listen`."""

    def __init__(self, name: str, first: str, courtesy: int = 0) -> None:
        from ..answers.work import serve

        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, first, courtesy), name=name, daemon=True
        )
        self.process.start()
        theirs.close()  # so that the pipe ends when the process does
        self.said: asyncio.Queue = asyncio.Queue()
        self.died = asyncio.Event()
        self._listener: threading.Thread | None = None
        self._ending = threading.Lock()

    def listen(self) -> None:
        """From now on, pass its messages to the running event loop."""
        self._listener = threading.Thread(
            target=self._listen, args=(asyncio.get_running_loop(),), daemon=True
        )
        self._listener.start()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        call = loop.call_soon_threadsafe
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            try:
                while True:
                    call(self.said.put_nowait, self.pipe.recv())
            except (EOFError, OSError):
                call(self.said.put_nowait, ("died", None))
                call(self.died.set)

    def tell(self, message: Any) -> None:
        with contextlib.suppress(OSError):  # it has died; `said` reports that
            self.pipe.send(message)

    def end(self) -> None:
        # Worker and pool may end at the same time, and a file can be closed only once.
        with self._ending:
            self.process.kill()
            self.process.join(5)
            if self._listener is not None:
                self._listener.join(5)  # before the next worker can get the same file descriptor
            self.pipe.close()


async def _ended(worker: Worker, patience: float = 10.0) -> None:
    """End a worker, but do not wait for that longer than `patience` seconds.

    On a machine under full load the system was seen to take half an hour to report the end of a
    killed process. Its thread waits for that; its place goes to a new worker.
    """
    ending = threading.Thread(target=worker.end, daemon=True)
    ending.start()
    until = asyncio.get_running_loop().time() + patience
    while ending.is_alive() and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.02)


class WorkerPool:
    """A few workers for the same type of work.

    - `size`: how many; `waiting`: how many orders may wait.
    - `seconds`: time limit of an order; `patience`: seconds between "stop" and the end of a worker
      that does not stop.
    - `first`: run by every new worker before anything else: it loads and compiles what the orders
      need.
    - `courtesy`: the `nice` value of the workers.
    """

    def __init__(
        self,
        name: str,
        size: int,
        waiting: int,
        seconds: float,
        patience: float,
        first: str,
        courtesy: int = 0,
    ) -> None:
        self.name, self.size, self.waiting, self.seconds = name, size, waiting, seconds
        self.patience, self.first, self.courtesy = patience, first, courtesy
        self.ready = asyncio.Event()
        self.loaded = 0  # workers that can take orders
        self._queue: asyncio.PriorityQueue[_Order] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._wanted = 0
        self._workers: list[Worker | None] = [None] * size
        self._tasks: list[asyncio.Task] = []

    @property
    def warm(self) -> bool:
        """Whether every worker has loaded."""
        return self.loaded == self.size

    def start(self, early: Worker | None = None) -> None:
        """Start all workers; the first of them may have been started `early`."""
        self._workers[0] = early
        self._tasks = [asyncio.create_task(self._keep(place)) for place in range(self.size)]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in filter(None, self._workers):
            await _ended(worker)

    @property
    def length(self) -> int:
        """Number of waiting orders; cancelled ones do not count."""
        return self._wanted

    @property
    def processes(self) -> list[int]:
        return [
            worker.process.pid
            for worker in self._workers
            if worker is not None and worker.process.pid
        ]

    async def run(
        self, work: str, priority: int = 0, **arguments: Any
    ) -> AsyncGenerator[Any, None]:
        """The messages of one order. Leaving the loop early cancels the order."""
        if self.length >= self.waiting:
            raise Busy(f"{self.length} pieces of work wait already")
        order = _Order(priority, next(self._numbers), work, arguments)
        self._queue.put_nowait(order)
        self._wanted += 1
        try:
            while True:
                event, content = await order.messages.get()
                if event == "done":
                    return
                if event == "failed":
                    raise WorkFailed(content)
                yield content
        finally:
            order.unwanted.set()
            self._wanted -= not order.taken
            self._forget_cancelled()

    def _forget_cancelled(self) -> None:
        """Drop cancelled orders when they are most of the queue: as long as others come before
        them, no worker meets them."""
        if self._queue.qsize() <= 2 * self._wanted + 64:
            return
        orders = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        for order in orders:
            if not order.unwanted.is_set():
                self._queue.put_nowait(order)

    async def answer(self, work: str, priority: int = 0, **arguments: Any) -> Any:
        """The last message of one order."""
        last = None
        async with contextlib.aclosing(self.run(work, priority, **arguments)) as messages:
            async for message in messages:
                last = message
        return last

    async def _keep(self, place: int) -> None:
        """Keep one worker running, and give it one order after another."""
        if place:  # the first loads alone, so that the first answer comes soonest
            await self.ready.wait()
        worker = self._workers[place]
        while True:
            worker = self._workers[place] = worker or Worker(
                f"{self.name}-{place}", self.first, self.courtesy
            )
            worker.listen()
            try:
                if await self._serve(
                    worker, _Order(0, next(self._numbers), self.first, {}, lives=1), stopped=True
                ):
                    await self._employ(worker)
                else:
                    await asyncio.sleep(1)  # it fails at the start: wait before the next attempt
            finally:
                await _ended(worker)
            worker = None

    async def _employ(self, worker: Worker) -> None:
        """One order after another, until the worker cannot continue."""
        self.ready.set()
        self.loaded += 1
        try:
            while (order := await self._next(worker)) is not None and await self._serve(
                worker, order
            ):
                pass
        finally:
            self.loaded -= 1

    async def _next(self, worker: Worker) -> _Order | None:
        """The next order that was not cancelled, or None if the idle worker dies."""
        died = asyncio.create_task(worker.died.wait())
        try:
            while True:
                upcoming = asyncio.create_task(self._queue.get())
                try:
                    await asyncio.wait({upcoming, died}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    upcoming.cancel()
                if died.done():
                    if upcoming.done():
                        self._queue.put_nowait(upcoming.result())
                    return None
                order = upcoming.result()
                if not order.unwanted.is_set():
                    order.taken = True
                    self._wanted -= 1
                    return order
        finally:
            died.cancel()

    async def _serve(self, worker: Worker, order: _Order, stopped: bool = False) -> bool:
        """Pass one order's messages on until it is done; return whether the worker can continue.
        `stopped`: "stop" was sent already."""
        if not stopped:
            worker.tell((order.work, order.arguments))
        unwanted = asyncio.create_task(order.unwanted.wait())
        try:
            return await self._listen(worker, order, unwanted)
        finally:
            unwanted.cancel()

    async def _listen(self, worker: Worker, order: _Order, unwanted: asyncio.Task) -> bool:
        loop = asyncio.get_running_loop()
        deadline, stopping = loop.time() + self.seconds, False
        while True:
            said = asyncio.create_task(worker.said.get())
            watched = {said} if stopping else {said, unwanted}
            left = max(0.0, deadline - loop.time())
            done, _ = await asyncio.wait(watched, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if said in done:
                event, content = said.result()
                if event == "died":
                    self._retry(order)
                    return False
                order.heard = True
                order.messages.put_nowait((event, content))
                if event in ("done", "failed"):
                    return True
                continue
            said.cancel()
            if unwanted in done and not stopping:
                stopping, deadline = True, loop.time() + self.patience
                worker.tell("stop")
                continue
            if not stopping:
                order.messages.put_nowait(
                    ("failed", f"this took more than {self.seconds:g} s and was ended")
                )
            return False

    def _retry(self, order: _Order) -> None:
        """Give the order of a dead worker to another one, unless it had sent messages or has killed
        workers before."""
        order.lives -= 1
        if order.heard or not order.lives or order.unwanted.is_set():
            order.messages.put_nowait(("failed", "a worker process died; please try again"))
            return
        order.taken = False
        self._wanted += 1
        self._queue.put_nowait(order)
