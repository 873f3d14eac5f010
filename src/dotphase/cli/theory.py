"""`dotphase solve`, `baseline` and `branches`: what the theory says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    Alpha,
    File,
    Json,
    Omega,
    Positional,
    Ridge,
    Sigma,
    one_line_errors,
    progress_bar,
    scenario_from,
)

if TYPE_CHECKING:
    from dotphase.theory import Solution

Rtol = Annotated[float, typer.Option("--rtol", help="Relative standard error asked of test error and training loss.")]


def solve(
    alpha: Alpha = None,
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    branch: Annotated[str, typer.Option("--branch", help="semantic, positional, uninformed or all.")] = "all",
    rtol: Rtol = 5e-3,
    seed: Annotated[int, typer.Option("--seed", help="Which random scrambles of the nodes.")] = 0,
    stability: Annotated[bool, typer.Option("--stability", help="Also say how stable each branch is.")] = False,
    as_json: Json = False,
) -> None:
    """Solve the theory: test error, training loss and overlaps of a branch, each with its error."""
    with one_line_errors():
        from dotphase.gaussian import Sobol
        from dotphase.theory import solve_many
        from dotphase.theory.starts import NAMES

        if branch not in (*NAMES, "all"):
            raise ValueError(f"--branch: expected {', '.join(NAMES)} or all, got {branch!r}")
        if not rtol > 0:
            raise ValueError(f"--rtol: must be positive, got {rtol:g}")
        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
        starts = list(NAMES) if branch == "all" else [branch]
        with progress_bar("solving") as progress:
            rule = Sobol(seed=seed)
            found = solve_many([task] * len(starts), starts, rule=rule, rtol=rtol, progress=progress)
        stable = [s.stability() if stability and s.outcome != "stalled" else None for s in found]
        if as_json:
            answers = [solution.to_dict() for solution in found]
            for answer, at in zip(answers, stable, strict=True):
                answer |= {} if at is None else {"stability": at.to_dict()}
            typer.echo(json.dumps(answers if branch == "all" else answers[0], indent=2))
        else:
            typer.echo(str(task))
            _print_solutions(found)
            for s, at in zip(found, stable, strict=True):
                if at is not None:
                    typer.echo(f"{s.branch}: {at}")


def baseline(
    alpha: Alpha = None,
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    d: Annotated[int | None, typer.Option("--d", help="Fit at this dimension, on αd samples; else d → ∞.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="How many realisations at finite d.")] = 8,
    as_json: Json = False,
) -> None:
    """The linear positional baseline: the best test error without looking at the tokens."""
    with one_line_errors():
        task = scenario_from(scenario, alpha, omega, sigma, ridge, positional)
        if d is not None:
            from .finite import finite_baseline

            fits = finite_baseline(task, d, seeds)
            typer.echo(json.dumps(fits.as_json(), indent=2) if as_json else str(fits))
            return
        from dotphase.theory import linear_baseline

        found = linear_baseline(task)
        if as_json:
            error = {"value": float(found.test_error.value), "error": float(found.test_error.error)}
            typer.echo(json.dumps({"test_error": error, "weights": found.weights.tolist()}, indent=2))
        else:
            typer.echo(f"linear positional baseline: ε_lin = {found.test_error}")


def branches(
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    rtol: Rtol = 5e-3,
    alphas: Annotated[str, typer.Option("--alphas", help="Sample ratios α, comma-separated.")] = "0.75,1,1.25,1.5,2",
) -> None:
    """A table of the semantic and the positional branch over several α, and which of them wins."""
    with one_line_errors():
        from dotphase.theory import linear_baseline, solve_many

        ratios = [float(entry) for entry in alphas.split(",")]
        base = scenario_from(scenario, None, omega, sigma, ridge, positional)
        tasks = [base.vary(alpha=ratio) for ratio in ratios for _ in range(2)]
        starts = ["semantic", "positional"] * len(ratios)
        with progress_bar("solving") as progress:
            found = solve_many(tasks, starts, rtol=rtol, progress=progress)
        typer.echo(str(base))
        typer.echo(f"linear positional baseline: ε_lin = {linear_baseline(base).test_error}")
        _print_branches(ratios, found)


def _print_solutions(found: list[Solution]) -> None:
    from rich.console import Console
    from rich.table import Table

    rows = {
        "outcome": lambda s: s.outcome,
        "test error ε_g": lambda s: str(s.test_error),
        "training loss ε_t": lambda s: str(s.train_loss),
        "q": lambda s: _overlap(s.overlaps.q),
        "m": lambda s: _overlap(s.overlaps.m),
        "θ": lambda s: _overlap(s.overlaps.theta),
        "V": lambda s: _overlap(s.overlaps.V),
        "several minima": lambda s: f"{s.prox_disagreement:.2%} of samples",
        "residual": lambda s: f"{s.residual:.1e}",
    }
    table = Table("", *(s.branch for s in found), title="fixed points, values ± standard errors")
    for name, entry in rows.items():
        table.add_row(name, *(entry(s) for s in found))
    Console().print(table)
    for s in found:
        if s.reason:
            typer.echo(f"{s.branch}: {s.reason}")
    typer.echo(f"{sum(s.evaluations for s in found)} evaluations, {max(s.seconds for s in found):.1f} s")


def _overlap(values) -> str:
    import numpy as np

    flat = np.asarray(values).ravel()
    return " ".join(f"{value:.4g}" for value in flat[:6]) + (" …" if flat.size > 6 else "")


def _print_branches(ratios: list[float], found: list[Solution]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="the two mechanisms as data grows: the one of lower training loss wins")
    for name in (
        "α",
        "semantic ε_t",
        "positional ε_t",
        "winner",
        "semantic ε_g",
        "positional ε_g",
        "outcome",
    ):
        table.add_column(name)
    for ratio, semantic, positional in zip(ratios, found[::2], found[1::2], strict=True):
        outcomes = " / ".join(dict.fromkeys((semantic.outcome, positional.outcome)))
        losses = [str(semantic.train_loss), str(positional.train_loss), _winner(semantic, positional)]
        table.add_row(f"{ratio:g}", *losses, str(semantic.test_error), str(positional.test_error), outcomes)
    Console().print(table)


def _winner(semantic: Solution, positional: Solution) -> str:
    if "stalled" in (semantic.outcome, positional.outcome):
        return "unknown"
    margin = float(semantic.train_loss.value - positional.train_loss.value)
    error = float((semantic.train_loss.error**2 + positional.train_loss.error**2) ** 0.5)
    if abs(margin) < 2 * error:
        return "undecided"
    return positional.mechanism if margin > 0 else semantic.mechanism
