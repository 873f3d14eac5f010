"""`dotphase phase-diagram` and `transition`: which mechanism wins, and where that changes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import File, Json, Omega, Positional, Ridge, Sigma, one_line_errors, progress_bar, scenario_from

if TYPE_CHECKING:
    import xarray


def phase_diagram(
    out: Annotated[Path, typer.Option("--out", help="Directory for the store and the picture.")],
    alphas: Annotated[str, typer.Option("--alphas", help="Sample ratios α, first:last:count.")] = "0.1:2:25",
    omegas: Annotated[str, typer.Option("--omegas", help="Mixings ω, first:last:count.")] = "0.02:0.5:25",
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    nodes: Annotated[int, typer.Option("--nodes", help="Nodes of the Gaussian averages, a power of two.")] = 2**13,
    workers: Annotated[int | None, typer.Option("--workers", help="Threads. [default: one per core]")] = None,
) -> None:
    """Both branches over a grid in (α, ω): a store with every point, and a picture of who wins.

    The same command goes on where it was interrupted.
    """
    with one_line_errors():
        grids = _grid("--alphas", alphas), _grid("--omegas", omegas)
        from dotphase.figures.phase_diagram import draw_phase_diagram
        from dotphase.sweeps import run_sweep
        from dotphase.sweeps.phase_diagram import phase_diagram_study
        from dotphase.threads import available_cores

        began, began_cpu = time.perf_counter(), time.process_time()
        study = phase_diagram_study(scenario_from(scenario, None, None, sigma, ridge, positional), *grids, nodes=nodes)
        store, picture = out / "phase-diagram.zarr", out / "phase-diagram.png"
        with progress_bar("phase diagram") as progress:
            dataset = run_sweep(study, store, workers=workers or available_cores(), progress=progress).load()
        draw_phase_diagram(dataset, picture)
        _summarise(dataset)
        spent, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        typer.echo(f"{spent:.1f} s ({cpu:.0f} s of processor time)\n{store}\n{picture}")


def transition(
    kind: Annotated[
        str,
        typer.Argument(
            help="train-loss (α_c), linear (α_l), spinodal (a branch ends), instability (a small signal grows on a "
            "branch) or replicon (replica symmetry breaks on a branch)."
        ),
    ],
    omega: Omega = None,
    sigma: Sigma = None,
    ridge: Ridge = None,
    positional: Positional = None,
    scenario: File = None,
    branch: Annotated[
        str, typer.Option("--branch", help="Of spinodal, instability and replicon: semantic, positional or uninformed.")
    ] = "semantic",
    direction: Annotated[
        str | None,
        typer.Option("--direction", help="Of instability: q, V, m or theta. [default: the other mechanism's]"),
    ] = None,
    between: Annotated[str, typer.Option("--between", help="Where to look for α, first:last.")] = "0.2:5",
    precision: Annotated[float, typer.Option("--precision", help="Standard error of α asked for.")] = 4e-3,
    budget: Annotated[int, typer.Option("--budget", help="Most nodes of the Gaussian averages.")] = 2**18,
    as_json: Json = False,
) -> None:
    """The α at which a transition takes place, with its error, by root-finding on solved branches."""
    with one_line_errors():
        from dotphase.theory.transitions import KINDS, critical

        if kind not in KINDS:
            raise ValueError(f"transition: expected {', '.join(KINDS)}, got {kind!r}")
        task = scenario_from(scenario, None, omega, sigma, ridge, positional)
        low, high = _numbers("--between", between, 2)
        options = {"precision": precision, "budget": budget, "branch": branch, "direction": direction}
        found = critical(task, kind, between=(low, high), **options)
        absent = found.outcome == "absent"
        if as_json:
            alpha = None if absent else {"value": float(found.location.value), "error": float(found.location.error)}
            counts = {
                "evaluations": found.evaluations,
                "nodes": found.nodes,
                "seconds": round(found.seconds, 3),
            }
            answer = {"kind": kind, "alpha": alpha, "outcome": found.outcome, "reason": found.reason} | counts
            typer.echo(json.dumps(answer, indent=2))
        elif absent:
            typer.echo(f"{kind}: no transition: {found.reason}")
        else:
            typer.echo(f"{kind}: α = {found.location}" + (f"  ({found.reason})" if found.reason else ""))
            typer.echo(f"{found.evaluations} evaluations, up to {found.nodes} nodes, {found.seconds:.1f} s")


def _numbers(option: str, text: str, count: int) -> list[float]:
    try:
        values = [float(entry) for entry in text.split(":")]
    except ValueError:
        values = []
    if len(values) != count:
        raise ValueError(f"{option}: expected {'first:last:count' if count == 3 else 'first:last'}, got {text!r}")
    return values


def _grid(option: str, text: str) -> list[float]:
    import numpy as np

    first, last, count = _numbers(option, text, 3)
    if count != int(count) or count < 1 or (count > 1 and not first < last) or not np.isfinite([first, last]).all():
        raise ValueError(f"{option}: expected first < last and a whole number of points, got {text!r}")
    return np.linspace(first, last, int(count)).tolist()


def _summarise(dataset: xarray.Dataset) -> None:
    import numpy as np

    outcomes, winners = dataset["theory_outcome"], dataset["theory_winner"].values
    typer.echo(f"{outcomes.size} solves")
    for branch in dataset["branch"].values:
        words, counts = np.unique(outcomes.sel(branch=branch).values.astype(str), return_counts=True)
        typer.echo(f"{branch}: " + ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True)))
    kinds, counts = np.unique(winners.astype(str), return_counts=True)
    typer.echo("winner: " + ", ".join(f"{count} {kind}" for kind, count in zip(kinds, counts, strict=True)))
