"""`dotphase dynamics` and `dotphase bayes`: learning in one pass over the data, and the
Bayes-optimal limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .errors import NO_ANSWER
from .options import Json, of_scenario, print_json, print_table

if TYPE_CHECKING:
    from ..learning.online.decomposition import Start
    from ..learning.online.one_pass import OnePass
    from ..scenario.scenario import Scenario

Shares = Annotated[
    str | None,
    typer.Option("--shares", help="a,b,c of Q = a Q* + b √d p_1 + c N(0, 1), instead of --start."),
]


@of_scenario()
def dynamics(
    task: Scenario,
    start: Annotated[
        str, typer.Option("--start", help="semantic, positional, mixed or random.")
    ] = "random",
    shares: Shares = None,
    rate: Annotated[float, typer.Option("--rate", help="η, the step on one sample's loss.")] = 10.0,
    until: Annotated[float, typer.Option("--until", help="Samples seen, in units of d.")] = 100.0,
    evaluations: Annotated[
        int,
        typer.Option(
            "--evaluations", min=1, help="Largest number of evaluations of the equations."
        ),
    ] = 20_000,
    decay: Annotated[
        float | None, typer.Option("--decay", help="λ₁, the ridge of one sample. [default: λ/α]")
    ] = None,
    d: Annotated[
        int | None,
        typer.Option(
            "--d",
            help="Dimension of the simulation; a random start then has overlaps of order 1/√d.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="Number of simulations at --d.")] = 0,
    flow: Annotated[
        bool,
        typer.Option(
            "--flow", help="Print the rest points of the flow and their growth rates instead."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """One-pass learning: every sample is used once. Solves the equations as d → ∞, and compares them
    with a simulation.

    Example: dotphase dynamics --rate 20 --until 40 --d 1000 --seeds 4
    """
    first = chosen_start(start, shares)
    if seeds == 1 or seeds < 0 or (seeds and d is None):
        raise ValueError("--seeds: a simulation needs --d and at least two seeds")
    if flow:
        _flow(task, decay, as_json)
        return
    from ..learning.online.one_pass import one_pass
    from ..learning.online.simulation import simulate

    found = one_pass(
        task, first, rate, until, ridge=decay, d=d, max_evaluations=evaluations, progress=True
    )
    seen = (
        simulate(task, d or 0, first, rate, found.times[::20], seeds, ridge=decay, progress=True)
        if seeds and found.outcome == "finished"
        else None
    )
    if as_json:
        print_json(found.to_dict() | ({"simulation": seen.to_dict()} if seen else {}))
    else:
        _print_path(found)
        if d is None and first == "random":
            typer.echo(
                "a random start keeps m = θ = 0 as d → ∞; give --d for overlaps of order 1/√d"
            )
        if seen is not None:
            _print_deviations(seen)
    if found.outcome != "finished":
        raise typer.Exit(NO_ANSWER)


@of_scenario("ridge")
def bayes(
    task: Scenario,
    d: Annotated[
        int | None, typer.Option("--d", help="Also run message passing at this dimension.")
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", help="How many realisations at finite d.")] = 8,
    as_json: Json = False,
) -> None:
    """The Bayes-optimal limit. The lowest test error that any method can have with αd samples, and
    the α of weak recovery.

    Example: dotphase bayes --alpha 0.4
    """
    if seeds < 1:
        raise ValueError(f"--seeds: at least one is needed, got {seeds}")
    from ..bayes.limit import bayes as solve_bayes
    from ..bayes.limit import weak_recovery
    from ..bayes.message_passing import bayes_message_passing
    from ..theory.baseline import linear_baseline

    found = [solve_bayes(task, name, progress=True) for name in ("uninformed", "informed")]
    threshold, linear = weak_recovery(task), linear_baseline(task).test_error
    passed = None if d is None else bayes_message_passing(task, d, seeds, progress=True)
    if as_json:
        answer = {each.start: each.to_dict() for each in found} | {
            "weak_recovery": threshold.to_dict()
        }
        answer |= {"linear_baseline": linear.to_dict()} | (
            {"message_passing": passed.to_dict()} if passed else {}
        )
        print_json(answer)
    else:
        typer.echo("\n".join(map(str, found)))
        closed = f"1/(L(L+1)) = {threshold.closed_form:.6g}"
        typer.echo(
            f"weak recovery from α = {float(threshold.sample_ratio):.6g} on ({closed}); "
            f"linear baseline {linear}"
        )
        if passed is not None:
            typer.echo(str(passed))
    if any(each.outcome == "stalled" for each in found):
        raise typer.Exit(NO_ANSWER)


def chosen_start(name: str, shares: str | None) -> str | Start:
    """The start of `--start`, or that of `--shares`."""
    from ..learning.online.decomposition import Start, as_start

    if shares is None:
        as_start(name)
        return name
    try:
        semantic, positional, noise = (float(part) for part in shares.split(","))
    except ValueError:
        raise ValueError(
            f"--shares: expected three numbers like 0.3,0.2,0.4, got {shares!r}"
        ) from None
    return Start(semantic, positional, noise)


def _print_path(found: OnePass) -> None:
    import numpy as np

    rows: list[list[object]] = [["t", "q", "m", "θ", "test error"]]
    first = lambda estimate, k: str(estimate[k][tuple([0] * np.ndim(estimate[k].value))])
    for k in dict.fromkeys(np.linspace(0, len(found.times) - 1, 11).astype(int).tolist()):
        overlaps = [first(getattr(found, name), k) for name in ("q", "m", "theta")]
        rows.append([f"{found.times[k]:.4g}", *overlaps, found.test_error[k]])
    headline, *_, last = str(found).splitlines()
    print_table(rows, headline)
    typer.echo(last)


def _print_deviations(seen) -> None:
    from ..learning.online.agreement import agreement

    found = agreement(seen)
    worst = ", ".join(f"{name} {value:.1f}" for name, value in found.worst.items())
    typer.echo(
        f"simulation at d = {seen.dimension}, {found.seeds} seeds: largest deviations in standard errors: {worst}"
    )
    typer.echo(f"  test error at the end {seen.test_error}")


def _flow(task: Scenario, decay: float | None, as_json: bool) -> None:
    from ..learning.online.escape import escape_rates
    from ..learning.online.phase_portrait import plane

    found, rates = plane(task, ridge=decay), escape_rates(task, ridge=decay)
    if as_json:
        print_json(found.to_dict() | {"escape_rates": rates})
        return
    typer.echo(
        f"λ₁ = {found.ridge:g}; rates per unit of ηt of small deviations along m and θ, and of noise"
    )
    for point in found.rest:
        growth = ", ".join(f"{rate:+.5f}" for rate in point.rates)
        head = f"  {point.mechanism:<11}{point.kind:<8} m {point.m:.5f}  θ/ρ {point.theta:.5f}"
        typer.echo(f"{head}  loss {point.loss:.6f}  rates {growth}")
    typer.echo(f"from a small random start m grows at {rates['m']:.5f}, θ at {rates['theta']:.5f}")
