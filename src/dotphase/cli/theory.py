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
    stability: Annotated[
        bool, typer.Option("--stability/--no-stability", help="Also say how stable each branch is.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Solve the theory: test error, training loss, overlaps and stability of a branch, each with its error."""
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
        if as_json:
            answers = [solution.to_dict() for solution in found]
            for answer, solution in zip(answers, found, strict=True):
                answer |= {"stability": _stability(solution)[0]} if stability else {}
            typer.echo(json.dumps(answers if branch == "all" else answers[0], indent=2))
        else:
            typer.echo(str(task))
            _print_solutions(found, stability)


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
            typer.echo(json.dumps(fits.to_dict(), indent=2) if as_json else str(fits))
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


def _stability(solution: Solution) -> tuple[dict, dict[str, str]]:
    """The stability of a solution, for a file and as the rows of a table; and why, where it cannot be told."""
    from dotphase.theory import SolveError

    try:
        at = solution.stability
    except (SolveError, ArithmeticError) as error:
        return {"verdict": "unknown", "reason": str(error)}, {"stability": "unknown"}
    along = {f"eigenvalue along {name}": str(value) for name, value in at.shown.items()}
    return at.to_dict(), {"stability": at.verdict, "replicon (regular part)": str(at.replicon)} | along


def _print_solutions(found: list[Solution], stability: bool) -> None:
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
        "several minima": lambda s: f"{s.several_minima:.2%} of samples",
        "residual": lambda s: f"{s.residual:.1e}",
    }
    table = Table("", *(s.branch for s in found), title="fixed points, values ± standard errors")
    for name, entry in rows.items():
        table.add_row(name, *(entry(s) for s in found))
    stable = [_stability(s)[1] if stability else {} for s in found]
    for name in dict.fromkeys(name for rows_of in stable for name in rows_of):
        table.add_row(name, *(rows_of.get(name, "") for rows_of in stable))
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

    from dotphase.theory.transitions import phase_of

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
        losses = [str(semantic.train_loss), str(positional.train_loss), phase_of([semantic, positional]).winner]
        table.add_row(f"{ratio:g}", *losses, str(semantic.test_error), str(positional.test_error), outcomes)
    Console().print(table)
