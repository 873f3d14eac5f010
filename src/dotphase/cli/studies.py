"""`dotphase sweep` and `dotphase export`: compute studies into a store, and export them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import Commands, one_line_errors
from .options import Json, folder, print_json, progress_bar

if TYPE_CHECKING:
    import xarray


class _RunUnlessNamed(Commands):
    """`dotphase sweep STUDY.toml` is short for `dotphase sweep run STUDY.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


app: typer.Typer = typer.Typer(
    help="Compute a study. `dotphase sweep STUDY.toml --out RUN.zarr` starts it, or continues it.\n\n"
    "Example: dotphase sweep study.toml --out run.zarr --workers 2",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=_RunUnlessNamed,
)


@app.command()
def run(
    study: Annotated[Path, typer.Argument(help="The study, a TOML file.")],
    out: Annotated[
        Path,
        typer.Option("--out", help="The store; an existing store of the same study is continued."),
    ],
    workers: Annotated[int, typer.Option("--workers", min=1, help="Workers on this machine.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a running dask scheduler, tcp://…")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the study: axes.alpha.linspace=[0.1,2,5]; repeatable."),
    ] = None,
    trust_code: Annotated[
        bool,
        typer.Option(
            "--trust-code",
            help="Import the modules that the study names (computations, scenarios).",
        ),
    ] = False,
    mix_versions: Annotated[
        bool,
        typer.Option(
            "--mix-versions",
            help="Continue although another version of the code computed the store.",
        ),
    ] = False,
    patience: Annotated[
        float | None,
        typer.Option(
            "--patience",
            help="Give up after so many seconds without a dask worker. [default: never]",
        ),
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option("--certificates", help="Folder of the dask scheduler's certificates."),
    ] = None,
) -> None:
    """Compute a study into a store. The same command continues after an interruption; finished
    points are kept.

    Example: dotphase sweep study.toml --out run.zarr --workers 2
    """
    with one_line_errors():
        from ..studies.run.certificates import read_certificates
        from ..studies.run.runner import run_study
        from ..studies.study.study import read_study

        declared = read_study(study, changes or [], trust_code=trust_code)
        options: dict[str, Any] = {"workers": workers, "scheduler": scheduler, "patience": patience}
        folder("--out", out.parent)
        options["security"] = None if certificates is None else read_certificates(certificates)
        _print_finished(out)
        with progress_bar(declared.name) as progress:
            dataset = run_study(
                declared, out, **options, progress=progress, mix_versions=mix_versions
            )
        failed = _print_outcomes(dataset, list(declared.compute))
        typer.echo(str(out))
        if failed:
            typer.echo("some points failed; the same command tries them again", err=True)
            raise typer.Exit(1)


def _print_finished(out: Path) -> None:
    from ..studies.store.status import status as look

    # No store, or an unreadable one: the run itself reports that.
    with suppress(ValueError, OSError):
        found = look(out)
        if found["done"]:
            typer.echo(
                f"{out}: {found['done']} of {found['total']} units are finished already", err=True
            )


@app.command()
def status(
    store: Annotated[Path, typer.Argument(help="The store of a study.")],
    as_json: Json = False,
) -> None:
    """The progress of a study.

    Example: dotphase sweep status run.zarr
    """
    from ..studies.store.status import status as look

    found = look(store)
    if as_json:
        print_json(found)
        return
    typer.echo(
        f"{found['study']}: {_counts(found)}; {'running' if found['running'] else 'not running'}"
    )
    for label, counts in found["compute"].items():
        typer.echo(f"  {label} ({counts['kind']}, {counts['points']} points): {_counts(counts)}")
    if found["damaged"]:
        typer.echo(
            f"{found['damaged']} damaged lines in the log: the next run computes their units again"
        )
    if len(found["codes"]) > 1:
        shares = ", ".join(f"{count} units by {code}" for code, count in found["codes"].items())
        typer.echo(f"computed by several versions of the code: {shares}")
    if found["rate"]:
        left = found["seconds_left"]
        typer.echo(
            f"{found['rate']:.3g} units per second" + (f", {_time(left)} left" if left else "")
        )


@app.command()
def check(
    store: Annotated[Path, typer.Argument(help="The store of a study.")],
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Repair everything that can be repaired without computing."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check every byte of a store; exit code 1 if it is damaged.

    Example: dotphase sweep check run.zarr --repair
    """
    from ..studies.store.check import check_study

    found = check_study(store, repair)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo("\n".join(found.problems[:8]) or "everything is as it was written")
        if len(found.problems) > 8:
            typer.echo(f"… and {len(found.problems) - 8} more (--json lists them)")
        if found.problems:
            typer.echo(
                "repaired"
                if found.repaired
                else "--repair, or the next run, repairs what can be repaired"
            )
        missing = [
            f"{count} {what}"
            for count, what in (
                (found.damaged, "damaged"),
                (found.not_computed, "not computed yet"),
            )
            if count
        ]
        rest = f"; {' and '.join(missing)}: `dotphase sweep` computes them" if missing else ""
        typer.echo(f"{found.intact} units are intact{rest}")
    if found.problems and not found.repaired:
        raise typer.Exit(1)


@app.command()
def certificates(
    place: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Folder to write them to; only you can read it."),
    ],
) -> None:
    """Create certificates, so that a dask scheduler accepts work only from you.

    Example: dotphase sweep certificates keys
    """
    from ..studies.run.certificates import make_certificates

    make_certificates(place)
    typer.echo(str(place))


@app.command()
def schema() -> None:
    """The JSON schema of study files, for editors.

    Example: dotphase sweep schema > study.schema.json
    """
    from ..studies.study.study import study_schema

    print_json(study_schema())


def export(
    store: Annotated[Path, typer.Argument(help="The store of a study.")],
    form: Annotated[str, typer.Option("--format", help="csv, parquet or netcdf.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder. [default: where the store is]")
    ] = None,
) -> None:
    """Write a study as CSV, Parquet or NetCDF files.

    Example: dotphase export run.zarr --format csv --out tables
    """
    from ..studies.study.export import export as write

    for file in write(store, form, out):
        typer.echo(str(file))


def _counts(counts: dict[str, Any]) -> str:
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    return f"{counts['done']} of {counts['total']} units done{failed}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _print_outcomes(dataset: xarray.Dataset, labels: list[str]) -> bool:
    """Print the count of each outcome and the first reason of a failure; return whether there is
    one."""
    import numpy as np

    anything = False
    for label in labels:
        outcomes = dataset[f"{label}_outcome"].values
        words, counts = np.unique(outcomes.astype(str), return_counts=True)
        typer.echo(
            f"{label}: "
            + ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True))
        )
        failed = outcomes == "failed"
        if failed.any():
            anything = True
            typer.echo(f"{label}: {dataset[f'{label}_reason'].values[failed][0]}", err=True)
    return anything
