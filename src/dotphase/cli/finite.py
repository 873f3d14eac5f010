"""`dotphase train`, `gamp` and `compare`: experiments in d dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import NO_ANSWER
from .options import Json, Minimum, check_picture, of_scenario, print_json, resumable

if TYPE_CHECKING:
    from ..finite.training.runs import Runs
    from ..scenario.scenario import Scenario
    from ..text.sentences import Sentences

Dimension = Annotated[
    int | None, typer.Option("--d", help="The dimension d. [default: 1000, or that of the data]")
]
Start = Annotated[str, typer.Option("--start", help="semantic, positional, mixed or random.")]
Seeds = Annotated[int, typer.Option("--seeds", help="How many consecutive seeds.")]
FirstSeed = Annotated[int, typer.Option("--first-seed", min=0, help="The first of the seeds.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Folder of checkpoints, to continue after an interruption; large data are stored there too.",
    ),
]


@of_scenario(data=True)
def train(
    task: Scenario,
    data: Sentences | None,
    d: Dimension = None,
    start: Start = "semantic",
    optimiser: Annotated[str, typer.Option("--optimiser", help="lbfgs, gd or adam.")] = "lbfgs",
    rate: Annotated[float | None, typer.Option("--rate", help="Step size of gd and adam.")] = None,
    seeds: Seeds = 8,
    first_seed: FirstSeed = 0,
    checkpoint: Checkpoint = None,
    as_json: Json = False,
) -> None:
    """Train the student on αd samples and print what it learned.

    Example: dotphase train --start positional --d 500 --seeds 4
    """
    from ..finite.training.training import train as run

    with _kept(checkpoint):
        found = run(
            task,
            _size(d, data),
            start,
            _optimiser(optimiser, rate),
            range(first_seed, first_seed + seeds) if first_seed else seeds,
            data=data,
            progress=True,
        )
    _answer(found, as_json)


@of_scenario(data=True)
def gamp(
    task: Scenario,
    data: Sentences | None,
    d: Dimension = None,
    start: Start = "semantic",
    seeds: Seeds = 8,
    damping: Annotated[
        float, typer.Option("--damping", help="Share of the old state kept per iteration.")
    ] = 0.8,
    iterations: Annotated[
        int, typer.Option("--iterations", min=1, help="Largest number of iterations.")
    ] = 1000,
    minimum: Minimum = "lowest",
    checkpoint: Checkpoint = None,
    as_json: Json = False,
) -> None:
    """Find a critical point of training by message passing.

    Example: dotphase gamp --alpha 2 --d 500 --seeds 4
    """
    from ..finite.message_passing.gamp import gamp as run

    with _kept(checkpoint):
        options = {"damping": damping, "iterations": iterations, "minimum": minimum}
        found = run(task, _size(d, data), start, seeds, data=data, progress=True, **options)
    _answer(found, as_json)


@of_scenario(data=True)
def compare(
    task: Scenario,
    data: Sentences | None,
    d: Dimension = None,
    seeds: Seeds = 8,
    minimum: Minimum = "reached",
    picture: Annotated[
        Path | None, typer.Option("--picture", help="File of the picture, such as compare.png.")
    ] = None,
    checkpoint: Checkpoint = None,
    as_json: Json = False,
) -> None:
    """Compare theory, message passing and training. Prints standard errors, and deviations in
    standard errors.

    Example: dotphase compare --alpha 2 --d 500 --picture compare.png
    """
    from ..comparison.compare import compare as run
    from ..comparison.plots import draw_comparison

    if picture is not None:
        check_picture("--picture", picture)
    with _kept(checkpoint):
        found = run(task, _size(d, data), seeds, minimum=minimum, data=data, progress=True)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))
    if picture is not None:
        draw_comparison(found, picture)
        typer.echo(f"drawn: {picture}", err=True)


def _size(d: int | None, data: Sentences | None) -> int | None:
    """The dimension: as given, else that of the data, else 1000."""
    return 1000 if d is None and data is None else d


@contextmanager
def _kept(folder: Path | None) -> Iterator[None]:
    from ..finite.training.checkpoint import checkpoint

    if folder is None:
        yield
        return
    with resumable(), checkpoint(folder):
        yield


def _optimiser(name: str, rate: float | None) -> Any:
    if rate is None:
        return name
    from ..finite.training.optimisers import Adam, GradientDescent

    optimisers = {"gd": GradientDescent, "adam": Adam}
    if name not in optimisers:
        raise ValueError(f"--rate: {name} has no rate; use --optimiser gd or adam")
    if not rate > 0:
        raise ValueError(f"--rate: must be positive, got {rate:g}")
    return optimisers[name](rate=rate)


def _answer(found: Runs, as_json: bool) -> None:
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(_as_text(found))
    if all(run.outcome == "diverged" for run in found.runs):
        raise typer.Exit(NO_ANSWER)


def _as_text(found: Runs) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in found.outcomes.items())
    head = f"{found.method} from the {found.start} start, d = {found.dimension}"
    lines = [f"{head}: {outcomes}, {found.seconds:.1f} s"]
    lines += [
        f"  {name:<14}{getattr(found, name)}"
        for name in ("test_error", "train_loss", "m", "theta", "q")
    ]
    if found.gradient_norm.count:
        lines.append(f"  {'gradient_norm':<14}{found.gradient_norm:.1e}")
    failed = [run for run in found.runs if run.outcome == "diverged"]
    lines += [f"  seed {run.seed}: diverged, {run.reason}" for run in failed]
    return "\n".join(lines)
