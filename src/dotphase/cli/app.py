"""All commands in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from . import counting, dynamics, finite, learn, phases, reproduce, studies, text, theory
from .errors import Commands

app: typer.Typer = typer.Typer(
    help="When does attention learn position, and when does it learn meaning? Theory, message passing and training.\n\n"
    "Example: dotphase solve --alpha 2 --omega 0.3",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    *(theory.solve, theory.baseline, theory.branches),
    *(finite.train, finite.gamp, finite.compare),
    *(learn.learn, dynamics.dynamics, dynamics.bayes),
    *(theory.attentions, phases.phase, phases.phase_diagram, phases.transition),
    *(text.text, text.phase_of, text.heads, text.language_model),
    *(reproduce.reproduce, reproduce.explore, reproduce.doctor),
):
    app.command(_command.__name__.replace("_", "-"))(_command)
app.add_typer(counting.app, name="counting")
app.add_typer(studies.app, name="sweep")
app.command()(studies.export)
