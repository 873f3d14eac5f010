"""`dotphase train`, `gamp`, `compare`, and the baseline at finite n: experiments in d dimensions."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Alpha, File, Json, Omega, Positional, Ridge, Sigma, one_line_errors, scenario_from

if TYPE_CHECKING:
    from dotphase.finite import LinearFits, Runs
    from dotphase.scenario import Scenario

Dimension = Annotated[int, typer.Option("--d", help="The dimension d.")]
Start = Annotated[str, typer.Option("--start", help="semantic, positional or random.")]
Seeds = Annotated[int, typer.Option("--seeds", help="How many realisations: seeds 0, 1, …")]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", help="Folder to go on from after a kill; large data go there, too.")
]


def train(
    alpha: Alpha = None,
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    d: Dimension = 1000,
    start: Start = "semantic",
    optimiser: Annotated[str, typer.Option("--optimiser", help="lbfgs, gd or adam.")] = "lbfgs",
    rate: Annotated[float | None, typer.Option("--rate", help="Step size of gd and adam.")] = None,
    seeds: Seeds = 8,
    checkpoint: Checkpoint = None,
    as_json: Json = False,
) -> None:
    """Train the student on αd samples and say what it learned."""
    with one_line_errors():
        from dotphase.finite import train as run

        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
        with _kept(checkpoint):
            found = run(task, d, start, _optimiser(optimiser, rate), seeds, progress=True)
        _print_runs(found, as_json)


def gamp(
    alpha: Alpha = None,
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    d: Dimension = 1000,
    start: Start = "semantic",
    seeds: Seeds = 8,
    damping: Annotated[float, typer.Option("--damping", help="Share of the old state kept per iteration.")] = 0.8,
    iterations: Annotated[int, typer.Option("--iterations", help="The most that are made.")] = 1000,
    checkpoint: Checkpoint = None,
    as_json: Json = False,
) -> None:
    """Find a critical point of training by message passing."""
    with one_line_errors():
        from dotphase.finite import gamp as run

        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
        with _kept(checkpoint):
            found = run(task, d, start, seeds, damping=damping, iterations=iterations, progress=True)
        _print_runs(found, as_json)


def compare(
    alpha: Alpha = None,
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    d: Dimension = 1000,
    seeds: Seeds = 8,
    picture: Annotated[Path | None, typer.Option("--picture", help="Where to draw it, such as compare.png.")] = None,
    checkpoint: Checkpoint = None,
    as_json: Json = False,
) -> None:
    """Lay theory, message passing and training over each other, with errors."""
    with one_line_errors():
        from dotphase.comparison import compare as run
        from dotphase.comparison import draw_comparison

        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
        if picture is not None:
            _check_picture(picture)
        with _kept(checkpoint):
            found = run(task, d, seeds, progress=True)
        typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))
        if picture is not None:
            draw_comparison(found, picture)
            typer.echo(f"drawn: {picture}", err=True)


def finite_baseline(scenario: Scenario, d: int, seeds: int = 8, progress: bool = True) -> LinearFits:
    """The linear positional baseline fitted on αd samples: what `dotphase baseline --d …` prints
    (`to_dict()`)."""
    from dotphase.finite import fit_linear

    return fit_linear(scenario, d, seeds, progress=progress)


def _kept(folder: Path | None) -> AbstractContextManager[None]:
    from dotphase.finite.checkpoint import checkpoint

    return nullcontext() if folder is None else checkpoint(folder)


def _check_picture(path: Path) -> None:
    """Refuse what cannot be drawn before anything is computed."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--picture: expected a name ending in .png, .pdf or .svg, got {str(path)!r}")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"--picture: no directory {str(path.parent)!r}")


def _optimiser(name: str, rate: float | None) -> Any:
    if rate is None:
        return name
    from dotphase.finite import Adam, GradientDescent

    kinds = {"gd": GradientDescent, "adam": Adam}
    if name not in kinds:
        raise ValueError(f"--rate: {name} has no rate; gd and adam have")
    if not rate > 0:
        raise ValueError(f"--rate: must be positive, got {rate:g}")
    return kinds[name](rate=rate)


def _print_runs(found: Runs, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
        return
    outcomes = ", ".join(f"{count} {name}" for name, count in found.outcomes.items())
    head = f"{found.method} from the {found.start} start, d = {found.dimension}"
    lines = [f"{head}: {outcomes}, {found.seconds:.1f} s"]
    lines += [f"  {name:<14}{getattr(found, name)}" for name in ("test_error", "train_loss", "m", "theta", "q")]
    if found.gradient_norm.count:
        lines.append(f"  {'gradient_norm':<14}{found.gradient_norm:.1e}")
    failed = [run for run in found.runs if run.outcome == "diverged"]
    lines += [f"  seed {run.seed}: diverged, {run.reason}" for run in failed]
    typer.echo("\n".join(lines))
