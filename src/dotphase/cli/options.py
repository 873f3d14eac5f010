"""What the commands share: the options that describe a scenario, one-line errors, progress on the error stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dotphase.scenario import Scenario

Alpha = Annotated[float | None, typer.Option("--alpha", help="α = n/d. [default: 2]")]
Omega = Annotated[float | None, typer.Option("--omega", help="ω, from semantic (0) to positional (1). [default: 0.3]")]
Sigma = Annotated[float | None, typer.Option("--sigma", help="σ, the tokens' deviation. [default: 0.5]")]
Ridge = Annotated[float | None, typer.Option("--lambda", help="λ, the ridge. [default: 0.01]")]
Positional = Annotated[
    str | None, typer.Option("--positional", help="A: standard, alternative, or rows like 0.6,0.4;0.4,0.6.")
]
File = Annotated[Path | None, typer.Option("--scenario", help="A scenario file; the options above vary it.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]


def scenario_from(file: Path | None, alpha, omega, sigma, ridge, positional: str | None) -> Scenario:
    """The scenario the options describe: the paper's task, or a file, with the given numbers changed."""
    from dotphase.scenario import paper, read_scenario

    base = paper() if file is None else read_scenario(file)
    given = {"alpha": alpha, "omega": omega, "sigma": sigma, "lambda": ridge}
    if positional is not None:
        given["positional"] = _matrix(positional)
    return base.vary(**{name: value for name, value in given.items() if value is not None})


def _matrix(text: str):
    from dotphase.scenario.presets import POSITIONAL

    if text in POSITIONAL:
        return POSITIONAL[text]
    try:
        return [[float(entry) for entry in row.split(",")] for row in text.split(";")]
    except ValueError:
        names = ", ".join(POSITIONAL)
        raise ValueError(f"--positional: expected {names} or rows like 0.6,0.4;0.4,0.6, got {text!r}") from None


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Bad input is one line on the error stream and exit code 2; an interruption is one line and code 130."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """A bar on the error stream, with the rate and the time left; yields `progress(done, total, failed=0)`."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, told="")

        def progress(done: int, total: int, failed: int = 0) -> None:
            speed = bar.tasks[0].speed
            told = [f"{failed} failed"] * (failed > 0) + [f"{speed or 0:.3g}/s"] * (speed is not None)
            bar.update(task, completed=done + failed, total=total, told=", ".join(told))

        yield progress
