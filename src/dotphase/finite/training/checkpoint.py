"""Training of any length survives: a tape of every pass over the data, from which a run is played
back.

    with checkpoint("folder"):
        train(scenario, d=20_000)

Optimisers and message passing are deterministic functions of what the passes over the data answer.
So the answers are all that is kept: after a kill the same call asks the same questions, is answered
from the tape up to where it stopped, and goes on bit by bit as if nothing had happened, whatever
the method has in its memory.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.files import written_whole
from ...numerics.kept_programs import stable_name
from ..data.blocks import BlockObjective, TokenFile, sample_to_file
from ..data.instance import Instance
from ..data.sampling import Grams, Sample, sample
from ..data.source import source_of
from .objective import Objective

MEMORY = 4e9  # bytes of tokens above which they go to a file


class Tape:
    """Questions and answers in a file: a digest of the question, then arrays, each record with
    length and checksum."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place, self.synced = 0, 0.0
        self.recorded = path.stat().st_size if path.exists() else 0

    def played(self, question: bytes) -> tuple[np.ndarray, ...] | None:
        """The next answer on the tape; None at its end, which is where a record is damaged or
        incomplete."""
        if self.place >= self.recorded:
            return None
        with open(self.path, "rb") as file:
            file.seek(self.place)
            head = file.read(12)
            body = file.read(int.from_bytes(head[:8], "little")) if len(head) == 12 else b""
        if len(head) < 12 or zlib.crc32(body).to_bytes(4, "little") != head[8:]:
            self.recorded = self.place
            return None
        if body[:32] != question:
            raise ValueError(
                f"{self.path} is the checkpoint of another run, or of other code: choose another folder"
            )
        self.place += 12 + len(body)
        stream, answers = io.BytesIO(body[32:]), []
        while stream.tell() < len(body) - 32:
            answers.append(np.lib.format.read_array(stream, allow_pickle=False))
        return tuple(answers)

    def record(self, question: bytes, answers: tuple[np.ndarray, ...]) -> None:
        sync = 1.0  # seconds between two waits for the disk
        stream = io.BytesIO()
        for answer in answers:
            np.lib.format.write_array(stream, np.asarray(answer), allow_pickle=False)
        body = question + stream.getvalue()
        with open(self.path, "r+b" if self.path.exists() else "wb") as file:
            file.seek(self.place)
            file.truncate()
            file.write(
                len(body).to_bytes(8, "little") + zlib.crc32(body).to_bytes(4, "little") + body
            )
            file.flush()
            if time.monotonic() > self.synced + sync:
                os.fsync(file.fileno())
                self.synced = time.monotonic()
        self.place += 12 + len(body)
        self.recorded = self.place


class KeptObjective(Objective):
    """`Objective` whose passes are on tape; its data are made when the tape ends, or never."""

    def __init__(self, instance: Instance, precision: str, folder: Path, memory: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        length, d = instance.gamma.shape
        shape = (length, instance.sample_count, d)
        self.precision, self.folder = precision, folder
        large = float(np.prod(shape)) * np.dtype(precision).itemsize > memory
        self.file = TokenFile(folder / "tokens", shape, precision) if large else None
        self.tape, self.kept = Tape(folder / "passes"), folder / "products.npz"
        self.passes: Objective | None = None
        self.identity = _identity(instance, precision)
        self._prepare(self._small(instance) or self._drawn(instance))

    def _run(self, function: Callable, *arrays: np.ndarray) -> Any:
        name = self._passes._fields[self._passes.index(function)]
        question = hashlib.sha256(
            name.encode() + b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)
        )
        found: tuple[Any, ...] | None = self.tape.played(question.digest())
        if found is None:
            answer = self._live()._run(function, *arrays)
            found = answer if isinstance(answer, tuple) else (answer,)
            self.tape.record(question.digest(), found)
        return found[0] if len(found) == 1 else found

    def _live(self) -> Objective:
        """The objective with its data."""
        if self.passes is None:
            if self.file is None:
                self.passes = Objective(sample(self.sample.instance, precision=self.precision))
            else:
                if not self.file.is_complete():
                    sample_to_file(self.sample.instance, self.file)
                self.passes = BlockObjective(self.sample, self.file)
        return self.passes

    def _small(self, instance: Instance) -> Sample | None:
        """Answers and scalar products of an earlier run, without the tokens."""
        try:
            with np.load(self.kept, allow_pickle=False) as kept:
                if "identity" not in kept or str(kept["identity"]) != self.identity:
                    raise ValueError(
                        f"{self.folder} is the checkpoint of another run: choose another folder"
                    )
                grams = Grams(*(kept[name] for name in Grams._fields))
                return _without_tokens(instance, kept["answers"], grams)
        except FileNotFoundError:
            return None

    def _drawn(self, instance: Instance) -> Sample:
        """The data, drawn now; what is small of them is kept."""
        if self.file is None:
            data = sample(instance, precision=self.precision)
            self.passes = Objective(data)
            answers, grams = data.answers, data.grams
        else:
            answers, grams = sample_to_file(instance, self.file)
        with written_whole(self.kept) as unfinished:
            np.savez(unfinished, identity=self.identity, answers=answers, **grams._asdict())
        return _without_tokens(instance, answers, grams)


def _identity(instance: Instance, precision: str) -> str:
    """A digest of what is trained on what: the numbers of the scenario, the seed and the data."""
    scenario = instance.scenario
    functions = [stable_name(each.form) for each in (scenario.teacher, scenario.student)]
    numbers = [
        *(instance.gamma, instance.positions, instance.teacher_weights),
        *(value for each in (scenario.teacher, scenario.student) for value in each.values.values()),
    ]
    plain = (scenario.ridge, instance.sample_count, instance.seed, precision, functions)
    digest = hashlib.sha256(repr((*plain, scenario.tokens.scales)).encode())
    if instance.Gamma is not None:
        numbers.append(instance.Gamma)
    if instance.data is not None:  # of large data the first sentences tell
        few = np.arange(min(instance.data.count, 1000))
        numbers.append(np.asarray(instance.data.tokens(few)))
    for each in numbers:
        digest.update(np.ascontiguousarray(each).tobytes())
    return digest.hexdigest()


def _without_tokens(instance: Instance, answers: np.ndarray, grams: Grams) -> Sample:
    scales = source_of(instance, "tokens", instance.sample_count).scales
    return Sample(instance, np.empty((0, 0, 0)), answers, grams, scales)


class _Folder:
    """Where the runs of a `checkpoint` are kept: numbered in the order in which they are begun."""

    def __init__(self, path: Path, memory: float) -> None:
        self.path, self.memory, self.begun = path, memory, 0

    def objective(self, instance: Instance, precision: str) -> Objective:
        run = self.path / f"{self.begun:04d}"
        if self.begun:  # the one before is finished: its tape is enough
            (self.path / f"{self.begun - 1:04d}" / "tokens").unlink(missing_ok=True)
        self.begun += 1
        return KeptObjective(instance, precision, run, self.memory)


_here: ContextVar[_Folder | None] = ContextVar("checkpoint", default=None)


@contextmanager
def checkpoint(folder: str | Path, memory: float = MEMORY) -> Iterator[None]:
    """Whatever is trained, or passes messages, in this block is kept in `folder`; the same block
    goes on after a kill.

    **Arguments**

    - `folder`: of its own for each such block. It can be deleted when the block is done.
    - `memory`: bytes of tokens above which they are written to the folder and read block by block.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    token = _here.set(_Folder(path, memory))
    try:
        yield
    finally:
        _here.reset(token)


def objective_of(instance: Instance, precision: str = "float64") -> Objective:
    """The training objective of an instance, on tape inside of `checkpoint`."""
    folder = _here.get()
    return (
        Objective(sample(instance, precision=precision))
        if folder is None
        else folder.objective(instance, precision)
    )
