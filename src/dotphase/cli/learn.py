"""`dotphase learn`: the learning curve of gradient descent, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .dynamics import Shares, chosen_start
from .errors import NO_ANSWER
from .options import Json, Seed, check_picture, of_scenario, print_json, print_table

if TYPE_CHECKING:
    from ..learning.full_batch.learning_curve import LearningCurve
    from ..scenario.scenario import Scenario


@of_scenario()
def learn(
    task: Scenario,
    start: Annotated[
        str, typer.Option("--start", help="semantic, positional or random.")
    ] = "semantic",
    shares: Shares = None,
    steps: Annotated[int | None, typer.Option("--steps", help="How many steps.")] = None,
    time: Annotated[
        float | None,
        typer.Option("--time", help="Sum of the step sizes, instead of --steps. [default: 100]"),
    ] = None,
    step_size: Annotated[
        float | None,
        typer.Option("--step-size", help="η. [default: a safe one for softmax attention]"),
    ] = None,
    momentum: Annotated[float, typer.Option("--momentum", help="β of heavy-ball steps.")] = 0.0,
    d: Annotated[
        int | None,
        typer.Option("--d", help="Dimension d of the start and the loss. [default: d → ∞]"),
    ] = None,
    paths: Annotated[
        int, typer.Option("--paths", help="Paths of one replicate, a power of two.")
    ] = 4096,
    replicates: Annotated[
        int, typer.Option("--replicates", help="Replicates, at least four, a power of two.")
    ] = 8,
    cut: Annotated[
        float,
        typer.Option(
            "--cut",
            help="Fraction of ‖Q‖² up to which forces are summed; smaller is more accurate.",
        ),
    ] = 1e-5,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also draw the curve, in a file like curve.png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learning curves of gradient descent. Losses and overlaps against training time, d → ∞.

    Example: dotphase learn --alpha 1.17 --time 200 --out curve.png
    """
    from ..learning.full_batch.learning_curve import learning_curve

    if out is not None:
        check_picture("--out", out)
    if steps is None and time is None:
        time = 100.0
    found = learning_curve(
        task,
        chosen_start(start, shares),
        steps=steps,
        time=time,
        step_size=step_size,
        momentum=momentum,
        d=d,
        paths=paths,
        replicates=replicates,
        cut=cut,
        seed=seed,
        progress=True,
    )
    if out is not None:
        found.plot().savefig(out)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_curve(found)
    if found.outcome == "unstable":
        raise typer.Exit(NO_ANSWER)


def _print_curve(found: LearningCurve) -> None:
    import numpy as np

    names = {
        "q": "q",
        "m": "|m|",
        "theta": "|θ|",
        "train_loss": "training loss",
        "test_error": "test error",
    }
    shown = np.unique(np.linspace(0, len(found.times) - 1, 11).astype(int)).tolist()
    rows = [["step", "time", *names.values()]]
    for step in shown:
        numbers = [getattr(found, name)[step] for name in names]
        rows.append([str(step), f"{found.times[step]:.6g}", *map(str, numbers)])
    print_table(rows, found.headline)
    typer.echo(f"{found.modes} modes, {found.seconds:.1f} s")
