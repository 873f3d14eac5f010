"""What a store survives: faults are made at random, and the result after a resume is compared with
an undisturbed one.

python -m benchmarks.faults [TRIES] [NAME…]      TRIES scales all counts: 1 (minutes) unless given

A fault is *detected* if a run, `check` or a refusal notices it, *repaired* if the same command then
gives the undisturbed result bit by bit; a unit is *lost* if it was finished, untouched, and
computed again or not there; a number is *wrong*, silently, if reading the store gives it although
it is not the undisturbed one.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dotphase.studies.run.runner import run_study
from dotphase.studies.store import code
from dotphase.studies.store.check import check_study
from dotphase.studies.store.store import Store
from dotphase.studies.store.view import open_study
from dotphase.studies.study.computation import Computation
from dotphase.studies.study.layout import Variable

from .stored import keep_table

ROOT = Path(__file__).parents[1]
ALPHAS, OMEGAS = 10, 4


class Waves(Computation):
    """Numbers and words whose computation only waits for a given time; `change` only makes
    it another study."""

    kind: str = "benchmarks.faults:Waves"
    takes: float = 0.0
    change: int = 0

    def coordinates(self) -> dict[str, Any]:
        return {"seed": range(3)}

    def variables(self) -> dict[str, Variable]:
        return {
            "sine": Variable(("seed",)),
            "count": Variable(("seed",), "i8"),
            "word": Variable((), "str"),
        }

    def compute_point(self, point: Any) -> dict[str, Any]:
        time.sleep(self.takes)
        alpha, omega = point.scenario.sample_ratio, point.values["omega"]
        seeds = list(point.own["seed"])
        return {
            "sine": [np.sin(alpha + omega + s) for s in seeds],
            "count": seeds,
            "word": f"{alpha:.3f} at {omega:.3f}",
        }


def study(takes: float = 0.0, **parameters: Any) -> dict[str, Any]:
    axes = {"omega": {"linspace": [0.1, 0.9, OMEGAS]}, "alpha": {"linspace": [0.5, 3.0, ALPHAS]}}
    waves = {"kind": "benchmarks.faults:Waves", "takes": takes, **parameters}
    return {"name": "faults", "axes": axes, "compute": {"waves": waves}}


@dataclass
class Row:
    """What came of all tries of one fault."""

    name: str
    tries: int = 0
    detected: int = 0
    repaired: int = 0
    lost: int = 0
    wrong: int = 0

    def count(self, detected: bool, before: Any, after: Any, truth: Any, lost: int = 0) -> None:
        """`before`: what could be read after the fault, None if that was refused; `after`: the
        resumed result."""
        self.tries += 1
        self.detected += detected
        self.repaired += same(after, truth)
        self.lost += lost
        self.wrong += not (consistent(before, truth) and consistent(after, truth))

    @property
    def cells(self) -> list[str]:
        return [
            self.name,
            *map(str, (self.tries, self.detected, self.repaired, self.lost, self.wrong)),
        ]

    def __str__(self) -> str:
        return f"{self.name:<44}" + "".join(f"{number:>10}" for number in self.cells[1:])


def same(one: Any, two: Any) -> bool:
    """Whether two datasets are equal bit by bit, seconds apart."""
    names = [name for name in two.variables if not name.endswith("seconds")]
    return set(one.variables) == set(two.variables) and all(
        np.array_equal(one[name].values, two[name].values) for name in names
    )


def consistent(found: Any, truth: Any) -> bool:
    """Whether everything that is said to be done is what it should be."""
    if found is None:
        return True
    if set(found.variables) != set(truth.variables) or found.sizes != truth.sizes:
        return False
    done = (found["waves_outcome"].values == "done").all(-1)
    axes = all(np.array_equal(found[name].values, truth[name].values) for name in truth.coords)
    return axes and all(
        np.array_equal(found[f"waves_{name}"].values[done], truth[f"waves_{name}"].values[done])
        for name in ("sine", "count", "word", "reason")
    )


def read(path: Path) -> Any:
    try:
        return open_study(path)
    except ValueError:
        return None


def resume(path: Path, takes: float = 0.0, **options: Any) -> Any:
    return run_study(study(takes), path, trust_code=True, **options)


def computed(path: Path) -> Counter[int]:
    """How often each unit was finished."""
    try:
        done = (record for record in Store(path).unit_records() if record["status"] == "done")
        records = {(record["unit"], record["time"]) for record in done}
    except ValueError:
        return Counter()
    return Counter(unit for unit, _ in records)


def again(path: Path) -> int:
    return sum(count - 1 for count in computed(path).values())


# Damage to files


def damaged(
    name: str, tries: int, damage: Callable[[Path, random.Random], None], folder: Path
) -> Row:
    """Each time a copy of a finished store, with one thing wrong with one file."""
    row, dice = Row(name), random.Random(name)
    whole = folder / "whole.zarr"
    truth = resume(whole) if not whole.exists() else open_study(whole)
    files = sorted(file.relative_to(whole) for file in whole.rglob("*") if file.is_file())
    for at in range(tries):
        path = folder / "copy.zarr"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(whole, path)
        damage(path / files[at % len(files)], dice)
        noticed = is_noticed(path)
        before = read(path)
        row.count(noticed, before, resume(path), truth, again(path))
        row.repaired -= bool(check_study(path, repair=True).problems and check_study(path).problems)
    return row


def is_noticed(path: Path) -> bool:
    try:
        return bool(check_study(path).problems)
    except ValueError:
        return True


def flip(file: Path, dice: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    file.write_bytes(content)


def cut(file: Path, dice: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: dice.randrange(file.stat().st_size)])


def delete(file: Path, dice: random.Random) -> None:
    file.unlink()


def copy_neighbour(file: Path, dice: random.Random) -> None:
    """Another file's content, or in the log, another unit's line."""
    if file.name == "log":
        lines = file.read_bytes().splitlines(keepends=True)
        places = [at for at, line in enumerate(lines) if b'"numbers"' in line]
        one, two = dice.sample(places, 2)
        lines[one] = lines[two]
        file.write_bytes(b"".join(lines))
        return
    store = next(parent for parent in file.parents if parent.suffix == ".zarr")
    others = [
        other
        for other in store.rglob("*")
        if other.is_file() and other.read_bytes() != file.read_bytes()
    ]
    file.write_bytes(dice.choice(sorted(others)).read_bytes())


# Disks, code and studies


def full_disk(tries: int, folder: Path) -> Row:
    """The system refuses to let a file grow beyond a random size, in the middle of a line as a
    rule."""
    row, dice = Row("disk full"), random.Random(1)
    truth = resume(folder / "undisturbed.zarr")
    size = (folder / "undisturbed.zarr" / ".sweep" / "log").stat().st_size
    for at in range(tries):
        path, refused = folder / f"full{at}.zarr", False
        try:
            with limited_files(dice.randrange(12_000, size)):
                resume(path)
        except ValueError as error:
            refused = "what is finished is kept" in str(error) or "cannot be written" in str(error)
        row.count(refused, read(path), resume(path), truth, again(path))
    return row


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def changed(tries: int, folder: Path) -> Row:
    """A source file, a library, or the study is another one."""
    row, dice = Row("code, version or study changed"), random.Random(2)
    path = folder / "changed.zarr"
    truth = resume(path)
    for at in range(tries):
        refused = False
        try:
            if at % 3 == 2:
                run_study(study(change=1 + at), path, trust_code=True)
            else:
                with changed_part(dice.choice(sorted(code._sources())) if at % 3 else "numpy"):
                    resume(path)
        except ValueError as error:
            refused = "another version of the code" in str(error) or "another study" in str(error)
        row.count(refused, read(path), resume(path), truth, again(path))
    return row


@contextmanager
def changed_part(part: str) -> Iterator[None]:
    sources = code._sources()
    before = sources.get(part)
    sources[part] = "other"
    try:
        yield
    finally:
        sources.pop(part) if before is None else sources.update({part: before})


# Kills


def killed_driver(tries: int, folder: Path, workers: int = 1) -> Row:
    row = Row(f"driver killed, {workers} worker{'s' * (workers > 1)}")
    dice, truth = random.Random(workers), resume(folder / f"driver{workers}.truth.zarr", TAKES)
    for at in range(tries):
        path = folder / f"driver{workers}.{at}.zarr"
        process = driver(path, "--workers", str(workers))
        wait_for(path, process, dice.randrange(1, 30))
        kill(process)
        before, finished = read(path), computed(path)
        after = resume(path, TAKES)
        lost = sum(computed(path)[unit] != 1 for unit in finished)
        row.count(len(finished) < ALPHAS * OMEGAS, before, after, truth, lost)
    return row


def killed_worker(tries: int, folder: Path) -> Row:
    """One of two worker processes on this machine, at a random moment."""
    row, dice = Row("local worker killed"), random.Random(4)
    truth = resume(folder / "worker.truth.zarr", TAKES)
    for at in range(tries):
        path = folder / f"worker{at}.zarr"
        process = driver(path, "--workers", "2")
        wait_for(path, process, dice.randrange(1, 20))
        victims = children(process.pid)
        os.kill(dice.choice(victims), signal.SIGKILL)
        process.communicate()
        row.count(process.returncode == 0, read(path), resume(path, TAKES), truth, again(path))
    return row


def killed_on_cluster(tries: int, folder: Path, victim: str) -> Row:
    """A worker, or the scheduler, of a dask cluster."""
    row, dice = Row(f"dask {victim} killed"), random.Random(victim)
    truth = resume(folder / f"{victim}.truth.zarr", TAKES)
    for at in range(tries):
        path = folder / f"{victim}{at}.zarr"
        with cluster(folder / f"{victim}{at}.json") as (address, parts):
            process = driver(path, "--scheduler", address)
            wait_for(path, process, dice.randrange(1, 20))
            kill(parts[0 if victim == "scheduler" else 1])
            _, told = process.communicate()
        ended, said = process.returncode, "is gone; what is finished is kept" in told
        noticed = ended == 0 if victim == "worker" else ended == 2 and said
        row.count(noticed, read(path), resume(path, TAKES), truth, again(path))
    return row


TAKES = 0.05
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def driver(path: Path, *words: str) -> subprocess.Popen:
    file = path.with_suffix(".toml")
    tables = study(TAKES)
    waves = "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in tables["compute"]["waves"].items()
    )
    axes = "\n".join(
        f"{name} = {{ linspace = {axis['linspace']} }}" for name, axis in tables["axes"].items()
    )
    file.write_text(f'name = "faults"\n[axes]\n{axes}\n[compute.waves]\n{waves}\n')
    command = [
        sys.executable,
        "-m",
        "dotphase",
        "sweep",
        str(file),
        "--out",
        str(path),
        "--trust-code",
        *words,
    ]
    return subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


@contextmanager
def cluster(file: Path) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """A scheduler and two workers, in processes of their own."""
    dask = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"env": ENVIRONMENT, "stderr": subprocess.DEVNULL}
    words = [
        "--port",
        "0",
        "--host",
        "127.0.0.1",
        "--dashboard-address",
        "127.0.0.1:0",
        "--scheduler-file",
        str(file),
    ]
    parts = [subprocess.Popen([*dask, "scheduler", "--no-dashboard", *words], **quiet)]
    while not file.exists() or not file.read_text():
        time.sleep(0.05)
    address = json.loads(file.read_text())["address"]
    worker = [*dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    parts += [subprocess.Popen(worker, **quiet) for _ in range(2)]
    try:
        yield address, parts
    finally:
        for part in parts:
            kill(part)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(path: Path, process: subprocess.Popen, units: int) -> None:
    """Until so many units are finished, and a random moment more."""
    while sum(computed(path).values()) < units and process.poll() is None:
        time.sleep(0.02)
    time.sleep(random.random() * TAKES)


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()  # which also closes its pipes


FAULTS: dict[str, tuple[int, Callable[[int, Path], Row]]] = {
    "flips": (300, lambda tries, folder: damaged("bit flipped, in any file", tries, flip, folder)),
    "cuts": (40, lambda tries, folder: damaged("file cut short", tries, cut, folder)),
    "missing": (40, lambda tries, folder: damaged("file missing", tries, delete, folder)),
    "copies": (
        40,
        lambda tries, folder: damaged(
            "content copied from a neighbour", tries, copy_neighbour, folder
        ),
    ),
    "disk": (20, full_disk),
    "changes": (30, changed),
    "driver": (10, killed_driver),
    "drivers": (5, lambda tries, folder: killed_driver(tries, folder, workers=2)),
    "worker": (5, killed_worker),
    "dask-worker": (5, lambda tries, folder: killed_on_cluster(tries, folder, "worker")),
    "dask-scheduler": (3, lambda tries, folder: killed_on_cluster(tries, folder, "scheduler")),
}
COLUMNS = ("fault", "tries", "detected", "repaired", "lost", "silently wrong")
HEAD = f"{COLUMNS[0]:<44}" + "".join(f"{word.split()[-1]:>10}" for word in COLUMNS[1:])


def make(name: str, tries: int) -> Row:
    """Make one fault so many times."""
    with tempfile.TemporaryDirectory() as folder:
        return FAULTS[name][1](tries, Path(folder))


def run(chosen: list[str] | None = None, scale: float = 1.0) -> None:
    print(HEAD, flush=True)
    rows = []
    for name, (tries, _) in FAULTS.items():
        if not chosen or name in chosen:
            rows.append(make(name, max(1, round(scale * tries))))
            print(rows[-1], flush=True)
    if not chosen and scale >= 1:
        keep_table(
            "sweeps",
            "faults",
            COLUMNS,
            [row.cells for row in rows],
            command="python -m benchmarks.faults",
        )


if __name__ == "__main__":
    numbers = [word for word in sys.argv[1:] if word.replace(".", "").isdigit()]
    run(
        [word for word in sys.argv[1:] if word not in numbers],
        float(numbers[0]) if numbers else 1.0,
    )
