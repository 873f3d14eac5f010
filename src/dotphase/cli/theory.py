"""`dotphase solve`, `baseline`, `branches`: predictions of the theory; `attentions`: the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import NO_ANSWER
from .options import (
    Along,
    Budget,
    Json,
    Minimum,
    Rtol,
    Seed,
    letter_of,
    of_scenario,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from ..theory.branches.curves import Branches
    from ..theory.solver.solution import Solution


@of_scenario()
def solve(
    task: Scenario,
    start: Annotated[
        str, typer.Option("--start", help="semantic, positional, mixed, uninformed or all.")
    ] = "all",
    minimum: Minimum = "lowest",
    d: Annotated[
        int | None,
        typer.Option(
            "--d",
            help="Finite d: adds ½ Tr[S p pᵀ Sᵀ]/d to the loss. [default: d → ∞]",
        ),
    ] = None,
    rtol: Rtol = 5e-3,
    budget: Budget = 2**17,
    seed: Seed = 0,
    stability: Annotated[
        bool,
        typer.Option("--stability/--no-stability", help="Also print the stability of each branch."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Solve the theory from each start. Prints test error, training loss, overlaps and stability,
    each with its error.

    Example: dotphase solve --alpha 2 --omega 0.3
    """
    from ..numerics.progress import reporting
    from ..numerics.rules import Sobol
    from ..theory.solver.solve import solve_many
    from ..theory.solver.starts import NAMES, usual_starts

    if start not in (*NAMES, "all"):
        raise ValueError(f"--start: expected {', '.join(NAMES)} or all, got {start!r}")
    starts = [*usual_starts(task), "uninformed"] if start == "all" else [start]
    options = {"minimum": minimum, "d": d, "rule": Sobol(seed=seed), "rtol": rtol, "budget": budget}
    found = solve_many([task] * len(starts), starts, progress=True, **options)
    with reporting(stability, "stability", None):
        stable = [_stability(s) if stability else ({}, {}) for s in found]
    if as_json:
        answers = [
            s.to_dict() | ({"stability": at} if stability else {})
            for s, (at, _) in zip(found, stable, strict=True)
        ]
        print_json(answers if start == "all" else answers[0])
    else:
        typer.echo(str(task))
        _print_solutions(found, [rows for _, rows in stable])
    _exit_if_stalled(found)


@of_scenario()
def baseline(
    task: Scenario,
    d: Annotated[
        int | None, typer.Option("--d", help="Fit at this dimension, on αd samples; else d → ∞.")
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="How many realisations at finite d.")
    ] = 8,
    as_json: Json = False,
) -> None:
    """The linear positional baseline. The best test error without looking at the tokens.

    Example: dotphase baseline --omega 0.3 --d 1000
    """
    if d is not None:
        from ..finite.linear_fit import fit_linear

        fits = fit_linear(task, d, seeds, progress=True)
        if as_json:
            print_json(fits.to_dict())
        else:
            typer.echo(str(fits))
        return
    from ..theory.baseline import linear_baseline

    found = linear_baseline(task)
    if as_json:
        answer = {"test_error": found.test_error.to_dict(), "weights": found.weights.tolist()}
        print_json(answer)
    else:
        typer.echo(f"linear positional baseline: ε_lin = {found.test_error}")


@of_scenario()
def branches(
    base: Scenario,
    values: Annotated[
        str,
        typer.Option(
            "--values",
            "--alphas",
            "--sample-ratios",
            help="Values of the parameter, comma-separated.",
        ),
    ] = "0.75,1,1.25,1.5,2",
    along: Along = "alpha",
    minimum: Minimum = "lowest",
    rtol: Rtol = 5e-3,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Follow the mechanisms along a parameter, α by default. Prints the branches, and which wins.

    Example: dotphase branches --along omega --values 0.2,0.3,0.4
    """
    from ..numerics.rules import Sobol
    from ..theory.branches.curves import branches as follow_branches

    try:
        numbers = [float(entry) for entry in values.split(",")]
    except ValueError:
        option = "--alphas" if along == "alpha" else "--values"
        raise ValueError(f"{option}: expected numbers like 0.75,1,2, got {values!r}") from None
    options = {"minimum": minimum, "rule": Sobol(seed=seed), "rtol": rtol}
    found = follow_branches(base, numbers, along, progress=True, **options)
    if as_json:
        print_json(_branches_to_dict(found, along))
    else:
        typer.echo(str(base))
        if _same_baseline(found):
            typer.echo(f"linear positional baseline: ε_lin = {found.baseline[0]}")
        _print_branches(found, along)
    _exit_if_stalled([each for followed in found.solutions.values() for each in followed])


def attentions(as_json: Json = False) -> None:
    """The catalogue of attentions. Each by its name, with its formula and its parameters.

    Example: dotphase attentions
    """
    from ..scenario.attentions.catalogue import ENTRIES

    if as_json:
        print_json([entry.to_dict() for entry in ENTRIES], ascii_only=False)
        return
    listed = lambda numbers: "; ".join(f"{name}: {text}" for name, text in numbers.items())
    rows = [[entry.kind, entry.formula, listed(entry.numbers)] for entry in ENTRIES]
    title = "attentions, s = h hᵀ, or h_Q h_Kᵀ if not tied; by name in scenario files and with --student"
    print_table([["attention", "S[h]_ij", "parameters"], *rows], title)


def _exit_if_stalled(found: Iterable[Solution]) -> None:
    """Exit with code 3 if a solve has no answer."""
    if any(solution.outcome == "stalled" for solution in found):
        raise typer.Exit(NO_ANSWER)


def _stability(solution: Solution) -> tuple[dict[str, Any], dict[str, str]]:
    """The stability of a solution, for JSON and as rows of a table; the reason where it is
    unknown."""
    from ..theory.solver.solution import SolveError

    try:
        at = solution.stability
    except (SolveError, ArithmeticError) as error:
        return {"verdict": "unknown", "reason": str(error)}, {"stability": "unknown"}
    along = {f"eigenvalue along {name}": str(value) for name, value in at.shown.items()}
    words = {
        "branch": at.branch,
        "replica symmetry": at.symmetry,
        "replicon (regular part)": str(at.replicon),
    }
    return at.to_dict(), words | along


def _print_solutions(found: list[Solution], stable: list[dict[str, str]]) -> None:
    rows = {
        "outcome": lambda s: s.outcome,
        "found": lambda s: "nothing" if s.outcome == "stalled" else s.mechanism,
        "test error ε_g": lambda s: _known(s, s.test_error),
        "training loss ε_t": lambda s: _known(s, s.train_loss),
        "q": lambda s: _known(s, _overlap(s.overlaps.q)),
        "m": lambda s: _known(s, _overlap(s.overlaps.m)),
        "θ": lambda s: _known(s, _overlap(s.overlaps.theta)),
        "V": lambda s: _known(s, _overlap(s.overlaps.V)),
        "several minima": lambda s: f"{s.several_minima:.2%} of samples",
        "residual": lambda s: f"{s.residual:.1e}",
    }
    table: list[list[Any]] = [[name, *(entry(s) for s in found)] for name, entry in rows.items()]
    for name in dict.fromkeys(name for rows_of in stable for name in rows_of):
        table.append([name, *(rows_of.get(name, "") for rows_of in stable)])
    print_table(
        [["", *(s.branch for s in found)], *table], "fixed points, values ± standard errors"
    )
    for s in found:
        for caveat in s.caveats:
            typer.echo(f"{s.branch}: {caveat}")
    typer.echo(
        f"{sum(s.evaluations for s in found)} evaluations, {max(s.seconds for s in found):.1f} s"
    )


def _known(solution: Solution, value: Any) -> Any:
    """The value, or a dash: a solve that has stalled has no observables."""
    return "-" if solution.outcome == "stalled" else value


def _overlap(values: Any) -> str:
    import numpy as np

    flat = np.asarray(values).ravel()
    return " ".join(f"{value:.4g}" for value in flat[:6]) + (" …" if flat.size > 6 else "")


def _same_baseline(found: Branches) -> bool:
    """The linear baseline depends neither on α nor on λ."""
    return found.along in ("sample_ratio", "ridge")


def _branches_to_dict(found: Branches, along: str) -> dict[str, Any]:
    points = []
    for k, phase in enumerate(found.phases):
        both = {name: followed[k].to_dict() for name, followed in found.solutions.items()}
        head = {along: float(found.values[k]), "winner": phase.winner}
        linear = {"linear_test_error": found.baseline[k].to_dict()}
        points.append(head | {"margin": phase.margin.to_dict()} | linear | both)
    if not _same_baseline(found):
        return {"points": points}
    return {"linear_test_error": found.baseline[0].to_dict(), "points": points}


def _print_branches(found: Branches, along: str) -> None:
    starts = list(found.solutions)
    head = [letter_of(along), *(f"{start} ε_t" for start in starts), "winner"]
    head += [*(f"{start} ε_g" for start in starts), "outcome"]
    table: list[list[Any]] = []
    each = zip(*found.solutions.values(), strict=True)
    for value, phase, several in zip(found.values, found.phases, each, strict=True):
        outcomes = " / ".join(dict.fromkeys(s.outcome for s in several))
        losses = [*(s.train_loss for s in several), phase.winner]
        table.append([f"{value:g}", *losses, *(s.test_error for s in several), outcomes])
    print_table([head, *table], "the mechanisms: the minimum of lowest training loss wins")
    for value, phase in zip(found.values, found.phases, strict=True):
        if phase.reason:
            typer.echo(f"{letter_of(along)} = {value:g}: {phase.reason}")
