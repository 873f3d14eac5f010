"""A long study whose driver is killed again and again: python -m benchmarks.killed [POINTS]
[SECONDS]

100,000 points on two workers unless given; the process that runs them is killed SECONDS (60) after
its first new point, and the same command continues. In the end every number is compared with its
formula.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dotphase.studies.store.view import open_study
from dotphase.studies.study.layout import Variable

from .faults import DASK, ENVIRONMENT, kill
from .stored import keep_table
from .stores import VARIABLES, Nothing

NUMBERS = VARIABLES - 4  # with the word, outcome, reason and seconds as many as a theory has
COLUMNS = (
    *("points", "kills", "seconds", "longest resume s", "peak MB of the driver", "files"),
    *("MB on disk", "computed twice", "missing", "wrong"),
)


class Fractions(Nothing):
    """Numbers with a formula; each point adds a byte to the file `tally`, which counts them."""

    kind: str = "benchmarks.killed:Fractions"
    tally: str

    def variables(self) -> dict[str, Variable]:
        return {f"number{k}": Variable() for k in range(NUMBERS)} | {"word": Variable((), "str")}

    def compute_point(self, point: Any) -> dict[str, Any]:
        with open(self.tally, "ab", buffering=0) as file:
            file.write(b".")
        alpha = point.scenario.sample_ratio
        return {f"number{k}": formula(alpha, k) for k in range(NUMBERS)} | {"word": f"{alpha:.6f}"}


def formula(alpha: Any, k: int) -> Any:
    """Sums, products and a quotient: exact to the last bit, of one number or of an array."""
    return (alpha + k) / (1 + alpha * k)


class Run:
    """A study of so many points in a folder, run by one process after another."""

    def __init__(self, folder: Path, points: int) -> None:
        self.path, self.tally, self.points = folder / "run.zarr", folder / "tally", points
        self.study = folder / "study.toml"
        self.study.write_text(
            f"[axes]\nalpha = {{ linspace = [1.0, 2.0, {points}] }}\n[compute.fractions]\n"
            f'kind = "benchmarks.killed:Fractions"\ntally = {json.dumps(str(self.tally))}\n'
        )
        self.tally.touch()
        self.peak, self.longest_resume = 0.0, 0.0

    @property
    def computed(self) -> int:
        """How often a point was computed."""
        return self.tally.stat().st_size

    def until_killed(self, seconds: float) -> bool:
        """Run it, and kill it after so many seconds of work; return whether it had to be."""
        words = ["sweep", str(self.study), "--out", str(self.path), "--workers", "2"]
        driver = subprocess.Popen(
            [*DASK[:2], "dotphase", *words, "--trust-code"],
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before, began = self.computed, time.monotonic()
        while self.computed == before and driver.poll() is None:
            self._watch(driver)
        first = time.monotonic()
        self.longest_resume = max(self.longest_resume, first - began)
        while time.monotonic() < first + seconds and driver.poll() is None:
            self._watch(driver)
        if driver.poll() is None:
            kill(driver)
            return True
        if driver.returncode:
            raise RuntimeError(f"the study ended with exit code {driver.returncode}")
        return False

    def _watch(self, driver: subprocess.Popen) -> None:
        time.sleep(0.05)
        try:
            lines = Path(f"/proc/{driver.pid}/status").read_text().splitlines()
        except OSError:
            return
        peaks = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")]
        self.peak = max([self.peak, *peaks])

    def compare(self) -> tuple[int, int]:
        """How many points are missing, and how many of the others differ from the formula."""
        found = open_study(self.path)
        alpha, done = found["alpha"].values, found["fractions_outcome"].values == "done"
        right = found["fractions_word"].values == np.array([f"{a:.6f}" for a in alpha], object)
        for k in range(NUMBERS):
            right &= found[f"fractions_number{k}"].values == formula(alpha, k)
        return self.points - int(done.sum()), int((done & ~right).sum())


def measure(points: int, seconds: float) -> list[str]:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        run, kills, began = Run(Path(folder), points), 0, time.monotonic()
        while run.until_killed(seconds):
            kills += 1
        wall = time.monotonic() - began
        files = [file for file in run.path.rglob("*") if file.is_file()]
        size = sum(os.stat(file).st_blocks * 512 for file in files) / 1e6
        missing, wrong = run.compare()
        numbers = f"{wall:.0f}", f"{run.longest_resume:.1f}", f"{run.peak:.0f}", f"{len(files):,}"
        ends = f"{size:.1f}", str(run.computed - points + missing), str(missing), str(wrong)
        return [f"{points:,}", str(kills), *numbers, *ends]


def main(words: list[str]) -> None:
    points = int(words[0]) if words else 100_000
    seconds = float(words[1]) if len(words) > 1 else 60.0
    cells = measure(points, seconds)
    print("   ".join(f"{name} {cell}" for name, cell in zip(COLUMNS, cells, strict=True)))
    if not words:
        note = f"Two workers; the driver is killed after every {seconds:.0f} s of work."
        keep_table(
            "sweeps", "killed", COLUMNS, [cells], command="python -m benchmarks.killed", note=note
        )


if __name__ == "__main__":
    main(sys.argv[1:])
