"""`dotphase phase`, `phase-diagram` and `transition`: which mechanism wins, and where that changes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import NO_ANSWER
from .options import (
    Along,
    Budget,
    Json,
    Minimum,
    Seed,
    Workers,
    folder,
    grid,
    letter_of,
    numbers,
    of_scenario,
    print_json,
    progress_bar,
)

if TYPE_CHECKING:
    import xarray

    from ..scenario.scenario import Scenario


@of_scenario("sample_ratio", "mixing")
def phase_diagram(
    task: Scenario,
    out: Annotated[Path, typer.Option("--out", help="Directory for the store and the picture.")],
    alphas: Annotated[
        str, typer.Option("--alphas", "--sample-ratios", help="Sample ratios α, first:last:count.")
    ] = "0.1:2:25",
    omegas: Annotated[
        str, typer.Option("--omegas", "--mixings", help="Mixings ω, first:last:count.")
    ] = "0.02:0.5:25",
    nodes: Annotated[
        int, typer.Option("--nodes", help="Nodes of the Gaussian averages, a power of two.")
    ] = 2**13,
    minimum: Minimum = "lowest",
    details: Annotated[
        bool, typer.Option("--details", help="Mark every point that has a caveat in the picture.")
    ] = False,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """The winning mechanism on a grid in (α, ω). Writes a store with every point of both branches,
    and a picture.

    The same command continues after an interruption.

    Example: dotphase phase-diagram --out diagram
    """
    grids = grid("--alphas", alphas), grid("--omegas", omegas)
    from ..figures.paper.phase_diagram import draw_phase_diagram
    from ..numerics.rules import Sobol
    from ..numerics.threads import available_cores
    from ..studies.phase_diagram import phase_diagram_study
    from ..studies.run.runner import run_study

    began, began_cpu = time.perf_counter(), time.process_time()
    try:
        Sobol(nodes)
    except ValueError as error:
        raise ValueError(f"--nodes: {str(error).removeprefix('count: ')}") from None
    study = phase_diagram_study(task, *grids, nodes=nodes, seed=seed, minimum=minimum)
    store, picture = folder("--out", out) / "phase-diagram.zarr", out / "phase-diagram.png"
    with progress_bar("phase diagram") as progress:
        dataset = run_study(
            study, store, workers=workers or available_cores(), progress=progress
        ).load()
    draw_phase_diagram(dataset, picture, details)
    found = _summary(dataset)
    spent, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    if as_json:
        places = {"store": str(store), "picture": str(picture)}
        print_json(found | {"seconds": round(spent, 3), "cpu_seconds": round(cpu, 3)} | places)
        return
    typer.echo(f"{found['solves']} solves")
    for name, counts in (found["outcomes"] | {"winner": found["winners"]}).items():
        typer.echo(f"{name}: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    typer.echo(f"{spent:.1f} s ({cpu:.0f} s of processor time)\n{store}\n{picture}")


@of_scenario()
def phase(
    task: Scenario,
    minimum: Minimum = "lowest",
    nodes: Annotated[
        int, typer.Option("--nodes", help="Nodes of the Gaussian averages, a power of two.")
    ] = 2**15,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check",
            help="Also search from random overlaps and from every saddle. [default: from rank two on]",
        ),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Print which mechanism wins. The winner is the stable fixed point of lowest training loss.

    Example: dotphase phase --alpha 2 --student softmax:rank=2
    """
    from ..numerics.rules import Sobol
    from ..theory.branches.phases import phase as find_phase

    try:
        rule = Sobol(nodes, seed=seed)
    except ValueError as error:
        raise ValueError(f"--nodes: {str(error).removeprefix('count: ')}") from None
    found = find_phase(task, rule=rule, minimum=minimum, check=check, progress=True)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(f"{task}\n{found}")
    if found.winner == "unknown":
        raise typer.Exit(NO_ANSWER)


@of_scenario()
def transition(
    task: Scenario,
    name: Annotated[
        str,
        typer.Argument(
            metavar="TRANSITION",
            help="train-loss (α_c), linear (α_l), spinodal (a branch ends), instability (a small signal grows on a "
            "branch) or replicon (replica symmetry breaks on a branch).",
        ),
    ],
    start: Annotated[
        str,
        typer.Option(
            "--start",
            help="The branch, for spinodal, instability and replicon: semantic, positional, "
            "mixed or uninformed.",
        ),
    ] = "semantic",
    direction: Annotated[
        str | None,
        typer.Option(
            "--direction",
            help="For instability, the overlap that grows: q, V, m or theta. "
            "[default: m on the semantic branch, else theta]",
        ),
    ] = None,
    minimum: Minimum = "lowest",
    along: Along = "alpha",
    between: Annotated[
        str | None,
        typer.Option(
            "--between",
            help="For train-loss: two mechanisms, like semantic,mixed. "
            "[default: semantic,positional; "
            "from rank two on, the winners at the two ends of the interval]",
        ),
    ] = None,
    interval: Annotated[
        str, typer.Option("--range", help="Interval of the parameter to search, first:last.")
    ] = "0.2:5",
    precision: Annotated[
        float, typer.Option("--precision", help="Largest standard error of the parameter.")
    ] = 2e-3,
    budget: Budget = 2**19,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """The α (or another parameter) of a transition. With its error, by root-finding on solved branches.

    Example: dotphase transition train-loss --omega 0.3
    """
    from ..theory.branches.transitions import critical, first_nodes

    low, high = numbers("--range", interval, "first:last")
    if not low < high:
        raise ValueError(f"--range: expected the lower end first, got {interval!r}")
    options = {"precision": precision, "budget": budget, "start": start, "direction": direction}
    options |= {"rule": first_nodes(name, budget, seed), "minimum": minimum}
    options |= {"mechanisms": _two_mechanisms(between)}
    found = critical(task, name, along, between=(low, high), progress=True, **options)
    absent = found.outcome == "absent"
    if as_json:
        counts = {
            "evaluations": found.evaluations,
            "nodes": found.nodes,
            "seconds": round(found.seconds, 3),
        }
        location = None if absent else found.location.to_dict()
        answer = {
            "transition": name,
            along: location,
            "outcome": found.outcome,
            "reason": found.reason,
        } | counts
        print_json(answer)
    elif absent:
        typer.echo(f"{name}: no transition: {found.reason}")
    else:
        typer.echo(
            f"{name}: {letter_of(along)} = {found.location}"
            + (f"  ({found.reason})" if found.reason else "")
        )
        typer.echo(
            f"{found.evaluations} evaluations, up to {found.nodes} nodes, {found.seconds:.1f} s"
        )


def _two_mechanisms(between: str | None) -> tuple[str, str] | None:
    from ..theory.solver.starts import NAMES

    if between is None:
        return None
    names = between.split(",")
    if len(names) != 2 or names[0] == names[1] or not set(names) <= set(NAMES):
        raise ValueError(
            f"--between: expected two of {', '.join(NAMES)}, like semantic,mixed, got {between!r}; "
            "the interval of the parameter is --range"
        )
    return names[0], names[1]


def _summary(dataset: xarray.Dataset) -> dict[str, Any]:
    """How often each outcome and each winner occurs."""
    import numpy as np

    def counts(values: Any) -> dict[str, int]:
        words, numbers_of = np.unique(np.asarray(values).astype(str), return_counts=True)
        return dict(zip(words.tolist(), numbers_of.tolist(), strict=True))

    outcomes = dataset["theory_outcome"]
    by_branch = {str(name): counts(outcomes.sel(branch=name)) for name in dataset["branch"].values}
    return {
        "solves": int(outcomes.size),
        "outcomes": by_branch,
        "winners": counts(dataset["theory_winner"]),
    }
