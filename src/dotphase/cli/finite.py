"""`dotphase train`, `gamp`, `compare`, and the baseline at finite n: experiments in d dimensions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dotphase.finite import LinearFits, Runs
    from dotphase.scenario import Scenario

Alpha = Annotated[float | None, typer.Option("--alpha", help="α = n/d. [default: 2]")]
Omega = Annotated[float | None, typer.Option("--omega", help="ω, from semantic (0) to positional (1). [default: 0.3]")]
Sigma = Annotated[float | None, typer.Option("--sigma", help="σ, the tokens' deviation. [default: 0.5]")]
Ridge = Annotated[float | None, typer.Option("--lambda", help="λ, the ridge. [default: 0.01]")]
Positional = Annotated[str | None, typer.Option("--positional", help="A: standard or alternative. [default: standard]")]
File = Annotated[Path | None, typer.Option("--scenario", help="A scenario file; the options above vary it.")]
Dimension = Annotated[int, typer.Option("--d", help="The dimension d.")]
Start = Annotated[str, typer.Option("--start", help="semantic, positional or random.")]
Seeds = Annotated[int, typer.Option("--seeds", help="How many realisations: seeds 0, 1, …")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]


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
    as_json: Json = False,
) -> None:
    """Train the student on αd samples and say what it learned."""
    with one_line_errors():
        from dotphase.finite import train as run

        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
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
    iterations: Annotated[int, typer.Option("--iterations", help="The most that are made.")] = 400,
    as_json: Json = False,
) -> None:
    """Find a critical point of training by message passing."""
    with one_line_errors():
        from dotphase.finite import gamp as run

        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
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
    as_json: Json = False,
) -> None:
    """Lay theory, message passing and training over each other, with errors."""
    with one_line_errors():
        from dotphase.comparison import compare as run
        from dotphase.comparison import draw_comparison

        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
        if picture is not None:
            check_picture(picture)
        found = run(task, d, seeds, progress=True)
        typer.echo(json.dumps(found.as_json(), indent=2) if as_json else str(found))
        if picture is not None:
            draw_comparison(found, picture)
            typer.echo(f"drawn: {picture}", err=True)


def finite_baseline(scenario: Scenario, d: int, seeds: int = 8, progress: bool = True) -> LinearFits:
    """The linear positional baseline fitted on αd samples: what `dotphase baseline --d …` prints (`as_json()`)."""
    from dotphase.finite import fit_linear

    return fit_linear(scenario, d, seeds, progress=progress)


def scenario_from(file: Path | None, alpha, omega, sigma, ridge, positional: str | None) -> Scenario:
    """The scenario the options describe: the paper's task, or a file, with the given numbers changed."""
    from dotphase.scenario import paper, read_scenario
    from dotphase.scenario.presets import POSITIONAL

    if positional is not None and positional not in POSITIONAL:
        raise ValueError(f"--positional: expected one of {', '.join(POSITIONAL)}, got {positional!r}")
    base = paper() if file is None else read_scenario(file)
    given = {"alpha": alpha, "omega": omega, "sigma": sigma, "lambda": ridge}
    if positional is not None:
        given["positional"] = POSITIONAL[positional]
    return base.vary(**{name: value for name, value in given.items() if value is not None})


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Bad input is one line on the error stream and exit code 2; an interruption is one line and code 130."""
    try:
        yield
    except ValueError as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(130) from None


def check_picture(path: Path) -> None:
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
        typer.echo(json.dumps(found.as_json(), indent=2))
        return
    outcomes = ", ".join(f"{count} {name}" for name, count in found.outcomes.items())
    lines = [f"{found.method} from the {found.start} start, d = {found.dimension}: {outcomes}, {found.seconds:.1f} s"]
    labels = ("test_error", "train_loss", "m", "theta", "q", "gradient_norm")
    lines += [f"  {label:<14}{getattr(found, label)}" for label in labels]
    lines += [f"  seed {run.seed}: {run.outcome}, {run.reason}" for run in found.runs if run.outcome == "diverged"]
    typer.echo("\n".join(lines))
