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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dotphase.studies.run.runner import run_study
from dotphase.studies.store import code
from dotphase.studies.store.check import check_study
from dotphase.studies.store.status import status
from dotphase.studies.store.store import Store
from dotphase.studies.store.view import open_study
from dotphase.studies.study.computation import Computation
from dotphase.studies.study.layout import Variable

from . import disturbed
from .stored import RESULTS, keep_table

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


def full_table(tries: int, folder: Path) -> Row:
    """The disk has no room for another file, after a random number of them: in turns a real file
    system of memory, where this process may make one, and one that Python pretends."""
    row, dice = Row("out of inodes"), random.Random(6)
    truth = resume(folder / "undisturbed.zarr", TAKES)
    made = sum(1 for _ in (folder / "undisturbed.zarr").rglob("*"))
    for at in range(tries):
        with few_files(folder / f"few{at}", real=at % 2 == 0) as (place, room):
            path = place / "run.zarr"
            process = driver(path, faults=room(dice.randrange(made)))
            _, told = process.communicate()
            kept = "what is finished is kept" in told or "cannot be written" in told
            before, finished = read(path), computed(path)
            room(None)
            after = resume(path, TAKES)
            lost = sum(computed(path)[unit] != 1 for unit in finished)
            row.count(process.returncode == 2 and kept, before, after, truth, lost)
    return row


@contextmanager
def few_files(place: Path, real: bool) -> Iterator[tuple[Path, Callable[[int | None], list[str]]]]:
    """A folder, and a function that gives it room for so many more files, or any number (None); it
    returns the words for `benchmarks.disturbed`."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "nr_inodes=2", "tmpfs", str(place)]
    if not real or subprocess.run(mount, capture_output=True).returncode:
        yield place, lambda files: [f"files={files}"] if files is not None else []
        return

    def room(files: int | None) -> list[str]:
        count = 0 if files is None else 3 + files  # the folder, the study's file, and one for root
        subprocess.run(["mount", "-o", f"remount,nr_inodes={count}", str(place)], check=True)
        return []

    try:
        yield place, room
    finally:
        subprocess.run(["umount", str(place)], check=True)


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


LOCKS = ("ignored", "ENOLCK", "ignored", "ENOSYS", "ignored", "EOPNOTSUPP")


def no_locks(tries: int, folder: Path) -> Row:
    """Two processes begin to write a store at the same moment, where the file system has no locks
    or gives every lock to everyone; in every other try the one that goes on is killed."""
    row, dice = Row("locks not honoured"), random.Random(5)
    truth = resume(folder / "locks.truth.zarr", TAKES)
    for at in range(tries):
        path, said = folder / f"locks{at}.zarr", LOCKS[at % len(LOCKS)]
        refused, goes_on, told = two_drivers(path, said)
        if at % 2:
            wait_for(path, goes_on, dice.randrange(1, 30))
            kill(goes_on)
        else:
            goes_on.communicate()
        before, finished = read(path), computed(path)
        with disturbed.locks(said):
            after = resume(path, TAKES)
        noticed = refused.returncode == 2 and "is being written by process" in told
        noticed &= goes_on.returncode == (-signal.SIGKILL if at % 2 else 0)
        lost = sum(computed(path)[unit] != 1 for unit in finished)
        row.count(noticed, before, after, truth, lost)
    return row


def two_drivers(path: Path, said: str) -> tuple[subprocess.Popen, subprocess.Popen, str]:
    """Two that begin together: the one that ends first, the other, and what the first said."""
    go = path.with_suffix(".go")
    pair = [driver(path, faults=[f"locks={said}", f"begin={go}"]) for _ in range(2)]
    while len(list(path.parent.glob(f"{go.name}.*"))) < 2:
        time.sleep(0.02)
    go.touch()
    while all(process.poll() is None for process in pair):
        time.sleep(0.02)
    pair.sort(key=lambda process: process.poll() is None)
    return pair[0], pair[1], pair[0].communicate()[1]


def other_clock(tries: int, folder: Path) -> Row:
    """A run whose clock is an hour ahead, or behind, is killed; one whose clock is right goes on,
    and tells how long it will take."""
    row, dice = Row("clocks an hour apart"), random.Random(7)
    truth = resume(folder / "clock.truth.zarr", TAKES)
    for at in range(tries):
        path, hour = folder / f"clock{at}.zarr", 3600 * (-1) ** at
        first = driver(path, faults=[f"clock={hour}"])
        wait_for(path, first, dice.randrange(1, 15))
        kill(first)
        finished = computed(path)
        second = driver(path)
        wait_for(path, second, finished.total() + 8)
        told = status(path)
        second.communicate()
        noticed = second.returncode == 0 and is_plausible(told) and is_plausible(status(path))
        lost = sum(computed(path)[unit] != 1 for unit in finished)
        row.count(noticed, read(path), resume(path, TAKES), truth, lost)
    return row


def is_plausible(told: dict[str, Any]) -> bool:
    """Whether the rate is about one unit in `TAKES` seconds, and the time left that of 40 units."""
    rate, left = told["rate"] or 0.0, told["seconds_left"]
    return 0.5 < rate < 2 / TAKES and (left is None or 0 < left < 80)


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


def other_version(tries: int, folder: Path) -> Row:
    """One of two workers of a cluster has another version of the computation; then both have the
    right one."""
    row, truth = Row("dask worker of another version"), resume(folder / "version.truth.zarr", TAKES)
    other = folder / "other"
    shutil.copytree(ROOT / "benchmarks", other / "benchmarks")
    with open(other / "benchmarks" / "faults.py", "a") as file:
        file.write("# another version\n")
    places = os.pathsep.join([str(other), ENVIRONMENT["PYTHONPATH"]])
    first = {"PYTHONPATH": places, "PYTHONSAFEPATH": "1"}  # not from the present folder
    for at in range(tries):
        path = folder / f"version{at}.zarr"
        with cluster(folder / f"version{at}.json", ({}, first)) as (address, _):
            process = driver(path, "--scheduler", address)
            _, told = process.communicate()
        noticed = process.returncode == 2 and "a worker has a different version" in told
        before = read(path)
        with cluster(folder / f"right{at}.json") as (address, _):
            after = resume(path, TAKES, scheduler=address)
        row.count(noticed, before, after, truth, again(path))
    return row


def restarted(tries: int, folder: Path) -> Row:
    """A scheduler is killed, in every other try with its workers, and others started at the same
    address."""
    row, dice = Row("dask scheduler restarted"), random.Random(8)
    truth = resume(folder / "restarted.truth.zarr", TAKES)
    for at in range(tries):
        path, file = folder / f"restarted{at}.zarr", folder / f"restarted{at}.json"
        with cluster(file) as (address, parts):
            process = driver(path, "--scheduler", address)
            wait_for(path, process, dice.randrange(1, 20))
            for part in parts if at % 2 else parts[:1]:
                kill(part)
            file.unlink()
            parts.append(scheduler(file, port=int(address.rpartition(":")[2])))
            parts += [worker(address_in(file)) for _ in range(2)]
            _, told = process.communicate()
        gone = process.returncode == 2 and "is gone; what is finished is kept" in told
        before = read(path)
        after = resume(path, TAKES)
        row.count(gone or process.returncode == 0, before, after, truth, again(path))
    return row


TAKES = 0.05
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def driver(path: Path, *words: str, faults: Sequence[str] = ()) -> subprocess.Popen:
    """A run in a process of its own, on a system disturbed by `faults`."""
    file = path.with_suffix(".toml")
    tables = study(TAKES)
    waves = "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in tables["compute"]["waves"].items()
    )
    axes = "\n".join(
        f"{name} = {{ linspace = {axis['linspace']} }}" for name, axis in tables["axes"].items()
    )
    file.write_text(f'name = "faults"\n[axes]\n{axes}\n[compute.waves]\n{waves}\n')
    program = ["benchmarks.disturbed", *faults] if faults else ["dotphase"]
    command = [sys.executable, "-m", *program, "sweep", str(file), "--out", str(path)]
    return subprocess.Popen(
        [*command, "--trust-code", *words],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


DASK = (sys.executable, "-m", "dask")
Cluster = tuple[str, list[subprocess.Popen]]  # the address, and the processes: scheduler, workers


@contextmanager
def cluster(file: Path, others: Sequence[dict[str, str]] = ({}, {})) -> Iterator[Cluster]:
    """A scheduler and workers, in processes of their own; `others`: what is different in the
    environment of each worker."""
    parts = [scheduler(file)]
    try:
        address = address_in(file)
        parts += [worker(address, other) for other in others]
        yield address, parts
    finally:
        for part in parts:
            kill(part)


def scheduler(file: Path, port: int = 0) -> subprocess.Popen:
    words = ["--port", str(port), "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    command = [*DASK, "scheduler", "--no-dashboard", *words, "--scheduler-file", str(file)]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)


def address_in(file: Path) -> str:
    while not file.exists() or not file.read_text():
        time.sleep(0.05)
    return json.loads(file.read_text())["address"]


def worker(address: str, other: dict[str, str] | None = None) -> subprocess.Popen:
    command = [*DASK, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    environment = ENVIRONMENT | (other or {})
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)


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
    "inodes": (20, full_table),
    "changes": (30, changed),
    "driver": (10, killed_driver),
    "drivers": (5, lambda tries, folder: killed_driver(tries, folder, workers=2)),
    "worker": (5, killed_worker),
    "dask-worker": (5, lambda tries, folder: killed_on_cluster(tries, folder, "worker")),
    "dask-scheduler": (3, lambda tries, folder: killed_on_cluster(tries, folder, "scheduler")),
    "locks": (12, no_locks),
    "clocks": (8, other_clock),
    "dask-version": (5, other_version),
    "dask-restart": (5, restarted),
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
    if scale >= 1:
        keep(rows)


def keep(rows: Sequence[Row]) -> None:
    """Put rows into the table, in place of what they said before."""
    stored = json.loads((RESULTS / "sweeps.json").read_text(encoding="utf-8"))
    table = {cells[0]: cells for cells in stored["tables"]["faults"]["rows"]}
    table |= {row.name: row.cells for row in rows}
    command = "python -m benchmarks.faults"
    keep_table("sweeps", "faults", COLUMNS, list(table.values()), command=command)


if __name__ == "__main__":
    numbers = [word for word in sys.argv[1:] if word.replace(".", "").isdigit()]
    run(
        [word for word in sys.argv[1:] if word not in numbers],
        float(numbers[0]) if numbers else 1.0,
    )
