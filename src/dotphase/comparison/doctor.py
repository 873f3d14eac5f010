"""`examine`: are the numbers right on this machine? Five answers compared with stored ones.

The stored answers were computed in double precision with fixed nodes and seeds, so that another
machine differs by rounding only. `python -m dotphase.comparison.doctor` writes them anew.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

from ..finite.checks import size
from ..numerics.extras import free_memory
from ..numerics.progress import Progress, track
from ..results.result import Result
from ..scenario.arguments import checked

STORED = Path(__file__).parent / "data" / "answers.json"
ROUNDING = 1e-6  # relative; the solver's own tolerance is smaller
PACKAGES = ("numpy", "scipy", "jax", "jaxlib", "optax", "xarray", "matplotlib")


@dataclass(frozen=True, repr=False, eq=False)
class Examination(Result):
    """What `examine` found.

    - `machine`: versions, precision, cores, memory in GB, where compilations are kept.
    - `answers`: of this machine, by name;  `stored`: what they should be.
    """

    machine: dict[str, str]
    answers: dict[str, float]
    stored: dict[str, float]
    seconds: float = field(compare=False)

    row = "answer"

    @property
    def wrong(self) -> list[str]:
        """The answers that differ from the stored ones by more than rounding."""
        close = lambda name, right: abs(self.answers[name] - right) <= ROUNDING * abs(right)
        return [name for name, right in self.stored.items() if not close(name, right)]

    @property
    def caveats(self) -> tuple[str, ...]:
        return tuple(f"{name} is not the stored one" for name in self.wrong)

    @property
    def headline(self) -> str:
        right = len(self.stored) - len(self.wrong)
        told = "the numbers are right here" if not self.wrong else f"WRONG: {', '.join(self.wrong)}"
        return f"{right} of {len(self.stored)} answers as stored, {self.seconds:.0f} s: {told}"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"answer": name, "here": self.answers[name], "stored": right,
             "relative difference": abs(self.answers[name] / right - 1)}
            for name, right in self.stored.items()
        ]  # fmt: skip

    def __str__(self) -> str:
        about = "\n".join(f"  {name:<14}{value}" for name, value in self.machine.items())
        return f"{super().__str__()}\n{about}"


@checked
def examine(progress: Progress = None) -> Examination:
    """Compute five answers that are known, and compare: theory of both branches, the reached minimum,
    training, a learning curve.

    **Arguments**: `progress`, True for a bar or a function `progress(done, total)`.

    **Example**: `examine().wrong`, an empty list where all is well.
    """
    begin = perf_counter()
    answers = {}
    for name, compute in track(list(_questions().items()), "five answers", progress):
        answers[name] = compute()
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    return Examination(_machine(), answers, stored, perf_counter() - begin)


def _questions() -> dict[str, Callable[[], float]]:
    from ..finite.training.training import train
    from ..learning.full_batch.learning_curve import learning_curve
    from ..numerics.rules import Sobol
    from ..scenario.presets import paper
    from ..theory.solver.solve import solve

    scenario = paper(alpha=2.0, omega=0.3)
    theory = lambda start, minimum: solve(
        scenario, start, rule=Sobol(2**11), rtol=None, minimum=minimum
    )
    return {
        "semantic test error": lambda: float(theory("semantic", "lowest").test_error),
        "positional training loss": lambda: float(theory("positional", "lowest").train_loss),
        "reached training loss": lambda: float(theory("semantic", "reached").train_loss),
        "training loss at d = 100": lambda: float(
            train(scenario, 100, start="semantic", seeds=[0]).train_loss
        ),
        "learning curve, step 20": lambda: float(
            learning_curve(scenario, steps=20, paths=1024, replicates=4).test_error[-1]
        ),
    }


def _machine() -> dict[str, str]:
    import jax

    from ..numerics.cache import folder
    from ..numerics.precision import in_double
    from ..numerics.threads import available_cores

    double = in_double(lambda: jax.numpy.ones(1).dtype)()
    cache = Path(jax.config.jax_compilation_cache_dir or folder(os.environ))  # pyright: ignore
    return {
        "dotphase": _version("dotphase"),
        "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        "precision": f"{double} inside, x64 {'on' if jax.config.jax_enable_x64 else 'off'} outside",  # pyright: ignore
        "devices": ", ".join(str(device) for device in jax.devices()),
        "cores": f"{available_cores()} of {os.cpu_count()}",
        "memory": _memory(),
        "cache": f"{cache}, {_size(cache)}",
        "encoding": f"{sys.stdout.encoding}, {sys.getfilesystemencoding()} for files",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _memory() -> str:
    free = free_memory()
    return f"{size(free)} free" if isfinite(free) else "unknown"


def _size(cache: Path) -> str:
    if not cache.is_dir():
        return "empty"
    if not os.access(cache, os.W_OK):
        return "cannot be written: every process compiles anew"
    files = [path.stat().st_size for path in cache.iterdir() if path.is_file()]
    return f"{len(files)} compilations, {size(sum(files))}"


def _main() -> None:
    answers = {name: compute() for name, compute in _questions().items()}
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _main()
