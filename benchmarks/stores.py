"""What a sweep of points that cost nothing costs: python -m benchmarks.stores [POINTS…] [--before
SOURCES]

Time, memory and files of 200, 2,000 and 20,000 points, each in a process of its own; with the `src`
folder of another version (`git worktree add ../before COMMIT`, then `--before ../before/src`) that
version's beside ours, in turns.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from dotphase.studies.run.runner import run_study
from dotphase.studies.store.view import open_study
from dotphase.studies.study.computation import Computation
from dotphase.studies.study.layout import Variable

ROOT = Path(__file__).parents[1]
SIZES = (200, 2_000, 20_000)
PATIENCE = 600  # seconds for one size
VARIABLES = 20  # as many as a theory has
COLUMNS = (
    *("version", "points", "seconds", "processor s", "peak MB", "files", "MB on disk"),
    *("status s", "resume without work s", "load s"),
)


class Nothing(Computation):
    """No work at all, with as many results as a theory has."""

    kind: str = "benchmarks.stores:Nothing"

    def variables(self) -> dict[str, Variable]:
        return {f"number{k}": Variable() for k in range(VARIABLES - 4)} | {
            "word": Variable((), "str")
        }

    def compute_point(self, point: Any) -> dict[str, Any]:
        return {name: 1.0 for name in self.variables() if name != "word"} | {"word": "nothing"}


def nothing(points: int) -> dict[str, Any]:
    """A study of so many of them."""
    axes = {"alpha": {"linspace": [1.0, 2.0, points]}}
    return {"axes": axes, "compute": {"nothing": {"kind": "benchmarks.stores:Nothing"}}}


def measure(points: int) -> None:
    """Print a row of the table; whichever version of the package is imported here."""
    trusted = {"trust_code": True} if "trust_code" in (run_study.__kwdefaults__ or {}) else {}
    with tempfile.TemporaryDirectory() as folder:
        path, times = Path(folder) / "run.zarr", []
        run = lambda: run_study(nothing(points), path, **trusted)
        for act in (run, lambda: _status(path), run, lambda: open_study(path).load()):
            began, worked = perf_counter(), process_time()
            act()
            times.append((perf_counter() - began, process_time() - worked))
        files = [file for file in path.rglob("*") if file.is_file()]
        size = sum(file.stat().st_blocks * 512 for file in files) / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        (whole, worked), *others = times
        cells = [f"{whole:.1f}", f"{worked:.1f}", f"{peak:.0f}", f"{len(files):,}", f"{size:.1f}"]
        print("|".join(cells + [f"{seconds:.2f}" for seconds, _ in others]))


def _status(path: Path) -> Any:
    try:
        from dotphase.studies.store.status import status
    except ModuleNotFoundError:  # as it was before
        from dotphase.sweeps.status import status  # type: ignore[import-not-found]
    return status(path)


def row(points: int, version: str, sources: Path) -> list[str]:
    """One size with the package in the folder `sources`."""
    command = [sys.executable, "-c", f"from benchmarks.stores import measure; measure({points})"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(sources), str(ROOT)])}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            timeout=PATIENCE,
        )
        cells = done.stdout.strip().split("|")
    except subprocess.TimeoutExpired:
        cells = [f"more than {PATIENCE}", *["–"] * (len(COLUMNS) - 3)]
    return [version, f"{points:,}", *cells]


def main(words: list[str]) -> None:
    from .stored import keep_table

    versions = {"now": ROOT / "src"}
    if "--before" in words:
        at = words.index("--before")
        versions = {"before": Path(words[at + 1]).resolve(), **versions}
        words = words[:at] + words[at + 2 :]
    rows = []
    for points in map(int, words or SIZES):
        for version, sources in versions.items():
            rows.append(row(points, version, sources))
            print(
                "   ".join(f"{name} {cell}" for name, cell in zip(COLUMNS, rows[-1], strict=True)),
                flush=True,
            )
    if not words:
        command = "python -m benchmarks.stores --before ../before/src"
        keep_table(
            "sweeps",
            "scale",
            COLUMNS,
            rows,
            command=command,
            note="Points that cost nothing, one worker.",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
