"""`dotphase reproduce`: the figures and a report; `dotphase explore`: the page in a browser;
`dotphase doctor`: is it right on this machine?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json, Workers, folder, print_json, progress_bar

if TYPE_CHECKING:
    from ..figures.frame.reproduce import Record


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Figures, all, or package.module:NAME of yours. [default: all]",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", help="Directory of data, pictures and report; existing data are continued."
        ),
    ] = Path("reproduction"),
    quality: Annotated[
        str, typer.Option("--quality", help="quick (minutes) or full (hours).")
    ] = "quick",
    workers: Workers = None,
    latex: Annotated[
        bool, typer.Option("--latex", help="Set the type with LaTeX, which must be installed.")
    ] = False,
    mix_versions: Annotated[
        bool,
        typer.Option(
            "--mix-versions", help="Continue data that another version of the code has begun."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute and draw the paper's figures. Data, PDF, PNG and a report; run it again to
    continue.

    Example: dotphase reproduce transition --out reproduction
    """
    from ..figures.frame.catalogue import chosen
    from ..figures.frame.reproduce import reproduce as make
    from ..numerics.extras import require
    from ..numerics.threads import available_cores

    require("figures need", "studies", "report")
    figures = chosen(names or [])
    _check(quality, latex)
    folder("--out", out)
    count = workers or available_cores()
    _tell_estimate(figures, quality, out, count)
    records = make(figures, quality, out, count, latex, progress_bar, _tell, mix_versions)
    report = out / "report.html"
    bad = [record for record in records if record.outcome != "made"]
    if as_json:
        print_json({"report": str(report), "figures": [_short(record) for record in records]})
    else:
        typer.echo(f"{len(records) - len(bad)} of {len(records)} figures made: {report}")
    if bad:
        raise typer.Exit(1)


def doctor(as_json: Json = False) -> None:
    """Check dotphase on this machine. Prints versions, precision, cores, memory and cache, and compares
    five answers with stored ones.

    Example: dotphase doctor
    """
    from ..comparison.doctor import examine

    found = examine(progress=True)
    if as_json:
        print_json(found.to_dict() | {"wrong": found.wrong})
    else:
        typer.echo(str(found))
    if found.wrong:
        raise typer.Exit(1)


def explore(
    port: Annotated[
        int, typer.Option("--port", help="Where to serve the page.", min=0, max=65535)
    ] = 8765,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
    host: Annotated[
        str, typer.Option("--host", help="Address to serve on. [default: this machine only]")
    ] = ("127.0.0.1"),
    solvers: Annotated[
        int, typer.Option("--solvers", help="Processes that solve the theory.", min=1, max=64)
    ] = 2,
    static: Annotated[
        Path | None,
        typer.Option("--static", help="Write the page as plain files there, and serve nothing."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write a film of a path through the diagram: .gif or .mp4."),
    ] = None,
) -> None:
    """Explore the phase transition in a browser. Drag the point, watch branches, train networks and
    count letters.

    Example: dotphase explore
    """
    if out is not None:
        from ..explorer.film import write_film

        typer.echo(f"{out}: {write_film(out)} pictures")
    if static is not None:
        from ..explorer.site import write_site

        size = write_site(folder("--static", static))
        typer.echo(f"{static / 'index.html'}: {size / 2**20:.1f} MB in all; open it, or serve it")
    if out is not None or static is not None:
        return
    from ..explorer.server.server import run

    run(host, port, open_page, solvers, lambda line: typer.echo(line, err=True))


def _check(quality: str, latex: bool) -> None:
    import shutil

    from ..figures.frame.figure import QUALITIES

    if quality not in QUALITIES:
        raise ValueError(f"--quality: expected {' or '.join(QUALITIES)}, got {quality!r}")
    if latex and not (shutil.which("latex") and shutil.which("dvipng")):
        raise ValueError(
            "--latex: latex and dvipng are needed and were not found; leave the option out"
        )


def _tell_estimate(figures: list[Any], quality: str, out: Path, workers: int) -> None:
    from ..figures.frame.report import duration
    from ..figures.frame.reproduce import estimate

    seconds = [estimate(figure, quality, out, workers) for figure in figures]
    for figure, each in zip(figures, seconds, strict=True):
        typer.echo(f"  {figure.name:16s} about {duration(each)}", err=True)
    typer.echo(
        f"about {duration(sum(seconds))} in all, {workers} workers, if the machine is otherwise idle",
        err=True,
    )


def _tell(record: Record) -> None:
    reason = f": {record.reason}" if record.reason else ""
    spent = f"{record.seconds:.0f} s, {record.cpu_seconds:.0f} s of processor time"
    typer.echo(f"{record.name}: {record.outcome}{reason} ({spent})", err=True)


def _short(record: Record) -> dict[str, Any]:
    claims = [asdict(claim) | {"deviation": claim.deviation} for claim in record.claims]
    shown = ("name", "quality", "outcome", "reason", "seconds", "cpu_seconds", "estimated_seconds")
    return {name: getattr(record, name) for name in shown} | {"claims": claims}
