"""The explorer under full load for an hour: python -m benchmarks.soak [MINUTES]

Clients on this machine drag points, ask for lines, start trainings and abandon them, and load
files. Every ten seconds: memory of the server and of its workers, latency, and answers by status.
In the end a table in docs/results, and the curves in out/soak.png.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from dotphase.plotting.style import COLOURS, STYLE, panels

from .explorer import server, until_warm
from .stored import keep_table

CLIENTS = 24
EVERY = 10.0  # seconds between two samples
PICTURE = Path("out") / "soak.png"
STUDENTS = ("softmax", "softmax-untied", "sigmoid", "relu", "kernel")
FILES = ("/", "/plotly.js", "/page/style.css", "/page/js/main.js", "/data/diagram.json")
BEFORE = ("grid", "waiting")  # events of a stream that precede its first answer


@dataclass
class Sample:
    """What was seen in the last seconds."""

    minute: float
    server_mb: float
    workers_mb: float
    workers: int
    median_ms: float
    slowest_ms: float  # nine tenths and a half of the answers were faster
    answers: Counter[str]


@dataclass
class Seen:
    """What the clients have seen since the last sample."""

    waits: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)


class Visitor:
    """A client that does one thing after the other."""

    def __init__(self, number: int, client: httpx.AsyncClient, seen: Callable[[], Seen]) -> None:
        self.dice, self.client, self.seen = random.Random(number), client, seen
        self.habits: dict[Callable[[], Awaitable[str]], int] = {
            self.point: 45,
            self.line: 10,
            self.training: 10,
            self.diagram: 2,
            self.sentence: 10,
            self.count: 8,
            self.export: 5,
            self.file: 10,
        }

    async def stay(self, end: float) -> None:
        while time.monotonic() < end:
            (habit,) = self.dice.choices(list(self.habits), list(self.habits.values()))
            try:
                async with asyncio.timeout(120):
                    said = await habit()
            except TimeoutError:
                said = f"no end ({habit.__name__})"
            except httpx.HTTPError as error:
                said = type(error).__name__
            self.seen().answers[said] += 1
            await asyncio.sleep(0.1 if said == "200" else 0.5)

    def task(self) -> dict[str, Any]:
        student = "softmax" if self.dice.random() < 0.9 else self.dice.choice(STUDENTS)
        alpha, omega = self.dice.uniform(0.1, 3), self.dice.uniform(0, 0.5)
        return {"alpha": round(alpha, 2), "omega": round(omega, 3), "student": student}

    async def point(self) -> str:
        return await self._stream("branches", 1, task=self.task())

    async def line(self) -> str:
        along = self.dice.choice(["alpha", "omega", "sigma", "lambda"])
        return await self._stream("branches", 20, task=self.task(), along=along)

    async def diagram(self) -> str:
        return await self._stream("diagram", 2, task=self.task())

    async def training(self) -> str:
        """As a rule it is abandoned."""
        how = self.dice.choice(["gd", "adam", "lbfgs"])
        d, seed = self.dice.choice([50, 200, 400]), self.dice.randrange(1000)
        given = {"task": self.task() | {"student": "softmax"}, "optimiser": how}
        return await self._stream("train", self.dice.choice([1, 5, 20]), d=d, seed=seed, **given)

    async def sentence(self) -> str:
        return await self._answer("sentence", task=self.task(), seed=self.dice.randrange(1000))

    async def count(self) -> str:
        return await self._answer("count", text="".join(self.dice.choices("ABCDEFGH", k=10)))

    async def export(self) -> str:
        return await self._answer("export", task=self.task())

    async def file(self) -> str:
        return str((await self.client.get(self.dice.choice(FILES))).status_code)

    async def _answer(self, name: str, **asked: Any) -> str:
        began = time.monotonic()
        answer = await self.client.post(f"/api/{name}", json=asked)
        self._note(began, answer.status_code == 200)
        return str(answer.status_code)

    async def _stream(self, name: str, events: int, **asked: Any) -> str:
        """Hang up after so many events."""
        began, first = time.monotonic(), True
        async with self.client.stream("POST", f"/api/{name}", json=asked) as answer:
            if answer.status_code != 200:
                return str(answer.status_code)
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    continue
                event = json.loads(line.removeprefix("data: ")).get("event")
                if event == "failed":
                    return "failed"
                if event in BEFORE:
                    continue
                self._note(began, first and name == "branches")
                first, events = False, events - 1
                if not events:
                    break
        return "200"

    def _note(self, began: float, answered: bool) -> None:
        if answered:
            self.seen().waits.append(time.monotonic() - began)


class Soak:
    """A server, its clients, and what is seen every few seconds."""

    def __init__(self, address: str, pid: int) -> None:
        self.address, self.process = address, psutil.Process(pid)
        self.seen, self.samples = Seen(), list[Sample]()

    async def run(self, minutes: float) -> None:
        self.began = time.monotonic()
        end = self.began + 60 * minutes
        await asyncio.gather(self._watch(end), *(self._visit(k, end) for k in range(CLIENTS)))

    async def _visit(self, number: int, end: float) -> None:
        who = {"client": f"visitor-{number}"}
        async with httpx.AsyncClient(base_url=self.address, timeout=120, headers=who) as client:
            await Visitor(number, client, lambda: self.seen).stay(end)

    async def _watch(self, end: float) -> None:
        while time.monotonic() < end:
            await asyncio.sleep(EVERY)
            seen, self.seen = self.seen, Seen()
            self.samples.append(self._sample(seen))
            print(json.dumps(vars(self.samples[-1])), flush=True)

    def _sample(self, seen: Seen) -> Sample:
        workers = list(self._workers())
        waits = [1e3 * wait for wait in sorted(seen.waits)] or [np.nan]  # nobody was answered
        return Sample(
            minute=round((time.monotonic() - self.began) / 60, 2),
            server_mb=round(self.process.memory_info().rss / 2**20, 1),
            workers_mb=round(sum(workers) / 2**20, 1),
            workers=len(workers),
            median_ms=round(statistics.median(waits), 1),
            slowest_ms=round(waits[int(0.95 * (len(waits) - 1))], 1),
            answers=seen.answers,
        )

    def _workers(self) -> Iterator[int]:
        """Bytes of each worker process."""
        for child in self.process.children(recursive=True):
            try:
                if not any("resource_tracker" in word for word in child.cmdline()):
                    yield child.memory_info().rss
            except psutil.Error:  # it has just ended
                continue


MEASURED = {
    "memory of the server, MB": "server_mb",
    "memory of its workers, MB": "workers_mb",
    "live workers": "workers",
    "latency, median, ms": "median_ms",
    "latency, 95 %, ms": "slowest_ms",
}


def rows(samples: list[Sample]) -> list[list[str]]:
    """Medians of the first and of the last quarter, and the largest of all."""
    quarter, found = max(1, len(samples) // 4), []
    for name, which in MEASURED.items():
        values = np.array([getattr(sample, which) for sample in samples], float)
        # Seconds without any answer have no latency.
        numbers = np.nanmedian(values[:quarter]), np.nanmedian(values[-quarter:]), np.nanmax(values)
        found.append([name, *(f"{number:.0f}" for number in numbers)])
    return found


def draw(samples: list[Sample], file: Path) -> None:
    """Memory and latency over the minutes."""
    from matplotlib import rc_context

    minutes = [sample.minute for sample in samples]
    with rc_context(STYLE):
        figure, axes = panels(2, 1, 4.5, sharex=True)
        curves = (
            (0, "server_mb", "server", "semantic"),
            (0, "workers_mb", "workers", "positional"),
            (1, "median_ms", "median", "semantic"),
            (1, "slowest_ms", "95 %", "positional"),
        )
        for panel, name, label, colour in curves:
            values = [getattr(sample, name) for sample in samples]
            axes[panel, 0].plot(minutes, values, color=COLOURS[colour], label=label)
        axes[0, 0].set(ylabel="memory (MB)", ylim=(0, None))
        axes[1, 0].set(ylabel="latency (ms)", yscale="log", xlabel="minutes")
        for axis in axes[:, 0]:
            axis.legend()
        file.parent.mkdir(exist_ok=True)
        figure.savefig(file)


def main(words: list[str]) -> None:
    minutes = float(words[0]) if words else 60.0
    with server() as (address, process):
        until_warm(address)
        soak = Soak(address, process.pid)
        asyncio.run(soak.run(minutes))
    answers = sum((sample.answers for sample in soak.samples), Counter())
    said = ", ".join(f"{count} × {status}" for status, count in sorted(answers.items()))
    table = rows(soak.samples)
    for cells in table:
        print("   ".join(cells))
    print(said)
    draw(soak.samples, PICTURE)
    if not words:
        note = f"{CLIENTS} clients for {minutes:.0f} minutes: {said}."
        columns = ["", "first quarter", "last quarter", "largest"]
        command = "python -m benchmarks.soak"
        keep_table("explorer", "soak", columns, table, command=command, note=note)


if __name__ == "__main__":
    main(sys.argv[1:])
