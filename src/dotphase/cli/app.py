"""All commands in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from . import (
    attentions,
    counting,
    dynamics,
    explore,
    finite,
    phases,
    reproduce,
    sweeps,
    text,
    theory,
)
from .errors import Commands

app: typer.Typer = typer.Typer(
    help="When does attention learn position, and when does it learn meaning? Theory, message passing and training.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    cls=Commands,
)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        from dotphase import __version__

        typer.echo(f"dotphase {__version__}")
        raise typer.Exit()


for _command in (
    theory.solve,
    theory.baseline,
    theory.branches,
    finite.train,
    finite.gamp,
    finite.compare,
):
    app.command()(_command)
for _command in (dynamics.dynamics, dynamics.bayes):
    app.command()(_command)
app.command()(attentions.attentions)
app.command("phase-diagram")(phases.phase_diagram)
app.command()(phases.transition)
app.command()(text.text)
app.command("phase-of")(text.phase_of)
app.command()(reproduce.reproduce)
app.command()(explore.explore)
app.add_typer(counting.app, name="counting")
app.add_typer(sweeps.app, name="sweep")
app.command()(sweeps.export)
