"""`dotphase explore`: the phase transition in a browser."""

from __future__ import annotations

from typing import Annotated

import typer


def explore(
    port: Annotated[
        int, typer.Option("--port", help="Where to serve the page.", min=0, max=65535)
    ] = 8765,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
    host: Annotated[
        str, typer.Option("--host", help="The address to serve on: this machine only, unless told.")
    ] = ("127.0.0.1"),
    solvers: Annotated[
        int, typer.Option("--solvers", help="Processes that solve the theory.", min=1, max=64)
    ] = 2,
) -> None:
    """Explore the phase transition in a browser: drag the point, watch branches, train networks,
    count letters."""
    try:
        from ..explorer.server.server import run
    except ModuleNotFoundError as error:
        raise ValueError(f"{error.name} is missing: pip install 'dotphase[explorer]'") from None
    run(host, port, open_page, solvers, lambda line: typer.echo(line, err=True))
