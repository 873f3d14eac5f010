"""Sweeps: two workers against one, what a unit costs beyond its work, and whether memory stays
flat.

python -m benchmarks.sweeps [throughput] [overhead] [memory] [sync]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from dotphase.studies.run.runner import run_study
from dotphase.studies.store.log import Log
from dotphase.studies.store.store import Store

from .stores import VARIABLES, nothing

UNITS = 2000
MANY = 10_000


def run(chosen: Sequence[str] = ()) -> None:
    for name, measure in {
        "throughput": throughput,
        "overhead": overhead,
        "memory": memory,
        "sync": sync,
    }.items():
        if not chosen or name in chosen:
            print(measure(), flush=True)


def throughput() -> str:
    """Trainings with one worker and with two, in turns; starting the workers is part of the time."""
    study = {
        "axes": {"omega": [0.1, 0.2, 0.3, 0.4]},
        "compute": {"experiment": {"kind": "training", "d": 1000, "seeds": 12, "batch": 2}},
    }
    walls, rates = {1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}
    _in_folder(
        lambda path: run_study(study | {"axes": {"omega": [0.3]}}, path)
    )  # compiles for this process
    for workers in (1, 2, 2, 1):
        wall, rate = _in_folder(lambda path, workers=workers: _timed(study, path, workers))
        walls[workers] += wall
        rates[workers] += rate / 2
    return (
        f"96 trainings, d = 1000: {walls[1] / 2:.1f} s with one worker, {walls[2] / 2:.1f} s with two, starting them "
        f"included: {walls[1] / walls[2]:.2f} times; once they run {rates[2] / rates[1]:.2f} times (promised 1.7)"
    )


def _timed(study: dict[str, Any], path: Path, workers: int) -> tuple[float, float]:
    """Seconds in all, and units per second from the moment every worker has finished its first."""
    began = perf_counter()
    run_study(study, path, workers=workers, trust_code=True)
    records = [record for record in Store(path).unit_records() if "numbers" in record]
    times = [record["time"] for record in records][workers - 1 : 1 - workers or None]
    return perf_counter() - began, (len(times) - 1) / (times[-1] - times[0])


def overhead() -> str:
    """Units without work: all they cost is overhead."""
    told = []
    for workers in (1, 2):
        _, rate = _in_folder(lambda path, workers=workers: _timed(nothing(UNITS), path, workers))
        told.append(f"{1e3 / rate:.2f} ms with {workers} worker{'s' * (workers > 1)}")
    path = Path(tempfile.mkdtemp()) / "run.zarr"
    run_study(nothing(UNITS), path, trust_code=True)
    began = perf_counter()
    run_study(nothing(UNITS), path, trust_code=True)
    again = (perf_counter() - began) / UNITS
    checked = f"checked again when resumed: {1e3 * again:.2f} ms"
    return f"overhead per unit of {VARIABLES} variables: {', '.join(told)} (promised 5); {checked}"


def memory() -> str:
    """Resident memory of the process that runs the sweep, after a thousand and after ten thousand
    units."""
    seen: dict[int, float] = {}

    def look(done: int, total: int, failed: int) -> None:
        if done in (1000, MANY):
            seen[done] = _resident()

    _in_folder(lambda path: run_study(nothing(MANY), path, progress=look, trust_code=True))
    return (
        f"resident memory: {seen[1000]:.1f} MB after 1000 units, {seen[MANY]:.1f} MB after {MANY}"
    )


def sync() -> str:
    """What waiting for the disk costs: every line, as the log does it, never."""
    told = []
    for name, every in (("every line", True), ("as the log does it", False)):
        with tempfile.TemporaryDirectory() as folder:
            log, began = Log(Path(folder) / "log"), perf_counter()
            for unit in range(UNITS):
                log.append({"unit": unit, "numbers": "x" * 300}, sync=every)
            log.close()
            told.append(f"{1e3 * (perf_counter() - began) / UNITS:.3f} ms {name}")
    return f"a line of the log, waiting for the disk at {', '.join(told)}"


def _resident() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def _in_folder(work: Callable[[Path], Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return work(Path(folder) / "run.zarr")


if __name__ == "__main__":
    run(sys.argv[1:])
