"""Code shared by the commands: options of a scenario, checks of numbers and folders, tables,
progress bars."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..scenario.names import LETTERS, word_of
from . import INTERRUPTED

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from ..text.sentences import Sentences

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the random scrambling of the nodes.")
]
Rtol = Annotated[
    float,
    typer.Option("--rtol", help="Relative standard error asked of test error and training loss."),
]
Minimum = Annotated[
    str,
    typer.Option(
        "--minimum",
        help="The inner minimum z* of each sample: lowest (global) or reached (by training).",
    ),
]
Budget = Annotated[
    int, typer.Option("--budget", help="Largest number of nodes of the Gaussian averages.")
]
Along = Annotated[
    str, typer.Option("--along", help="The parameter that varies: alpha, omega, sigma or lambda.")
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Workers on this machine. [default: one per core]"),
]


def _option(alias: str, type_: Any, text: str) -> Parameter:
    """An option under the name of the paper, and under that of the code."""
    names = dict.fromkeys(f"--{name.replace('_', '-')}" for name in (alias, word_of(alias)))
    annotation = Annotated[type_ | None, typer.Option(*names, help=text)]
    return Parameter(word_of(alias), Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


SCENARIO = (
    _option("alpha", float, "α = n/d. [default: 2]"),
    _option("omega", float, "ω, from semantic (0) to positional (1). [default: 0.3]"),
    _option("sigma", float, "σ, the tokens' deviation. [default: 0.5]"),
    _option("lambda", float, "λ, the ridge. [default: 0.01]"),
    _option("positional", str, "A: standard, alternative, or rows like 0.6,0.4;0.4,0.6."),
    _option(
        "student", str, "An attention of `dotphase attentions`, like kernel or kernel:width=0.8."
    ),
    _option("scenario", Path, "A scenario file; the options above vary it."),
)


DATA = _option(
    "data",
    Path,
    "Sentences written by `dotphase text`: the tokens have their distribution, and experiments use them.",
)


def of_scenario(
    *without: str, data: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that describe a scenario, except those named in `without`. The
    first argument of the command is the scenario.

    With `data` the command also has the option `--data`, and a second argument: the sentences in
    that file, or None. The tokens of the scenario then have the distribution of the sentences."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        described = [option for option in SCENARIO if option.name not in without]
        own = list(
            signature(
                command, eval_str=True, locals={"Scenario": Any, "Sentences": Any}
            ).parameters.values()
        )
        own = own[1 + data :]

        @wraps(command)
        def run(**given: Any) -> None:
            numbers_given = {option.name: given.pop(option.name) for option in described}
            if data:
                command(*_with_data(numbers_given, given.pop("data")), **given)
            else:
                command(_scenario(numbers_given), **given)

        options = [
            *described,
            *[DATA] * data,
            *(option.replace(kind=Parameter.KEYWORD_ONLY) for option in own),
        ]
        run.__signature__ = Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return decorate


def _scenario(given: dict[str, Any]) -> Scenario:
    """The paper's task, or that of a file, with the given numbers changed."""
    from ..scenario.files import read_scenario
    from ..scenario.presets import paper

    file = given.pop("scenario")
    return _varied(paper() if file is None else read_scenario(file), given)


def _varied(base: Scenario, given: dict[str, Any]) -> Scenario:
    """`base` with the options that are given; a matrix and an attention are read from their texts."""
    given = {name: value for name, value in given.items() if value is not None}
    for name, read in (("positional", _matrix), ("student", _student)):
        if name in given:
            given[name] = read(given[name])
    return base.vary(**given)


def _student(text: str) -> Any:
    from ..scenario.tables import attention_from_text

    try:
        return attention_from_text(text)
    except ValueError as error:
        raise ValueError(f"--student: {error}") from None


def _with_data(given: dict[str, Any], path: Path | None) -> tuple[Scenario, Sentences | None]:
    """The scenario with the distribution of the sentences in a file, and these sentences in the
    coordinates of that distribution."""
    if path is None:
        return _scenario(given), None
    from ..scenario.files import read_scenario
    from ..text.distribution import tokens_from_samples
    from ..text.phase import scenario_of
    from ..text.sentences import load_sentences

    file, deviation = given.pop("scenario"), given.pop("token_deviation")
    sentences = load_sentences(path)
    if deviation is not None:
        sentences = sentences.scaled_to(deviation)
    distribution = tokens_from_samples(sentences, alike=True)
    tokens = distribution.tokens
    base = scenario_of(distribution) if file is None else read_scenario(file).vary(tokens=tokens)
    return _varied(base, given), distribution.rotated(sentences)


def _matrix(text: str) -> Any:
    from ..scenario.presets import POSITIONAL

    if text in POSITIONAL:
        return POSITIONAL[text]
    try:
        return [[float(entry) for entry in row.split(",")] for row in text.split(";")]
    except ValueError:
        names = ", ".join(POSITIONAL)
        raise ValueError(
            f"--positional: expected {names} or rows like 0.6,0.4;0.4,0.6, got {text!r}"
        ) from None


def numbers(option: str, text: str, form: str) -> list[float]:
    """The numbers of a text such as 0.2:5, as many as `form` (first:last) has."""
    try:
        values = [float(entry) for entry in text.split(":")]
    except ValueError:
        values = []
    if len(values) != form.count(":") + 1:
        raise ValueError(f"{option}: expected {form}, got {text!r}")
    return values


def grid(option: str, text: str) -> list[float]:
    """The values of a text such as 0.1:2:25."""
    import numpy as np

    first, last, count = numbers(option, text, "first:last:count")
    if np.isfinite(count) and count < 1:
        raise ValueError(f"{option}: at least one point is needed, got {text!r}")
    if not (
        np.isfinite([first, last, count]).all()
        and count == int(count)
        and (first < last or count == 1)
    ):
        raise ValueError(
            f"{option}: expected first < last and a whole number of points, got {text!r}"
        )
    return np.linspace(first, last, int(count)).tolist()


def folder(option: str, path: Path) -> Path:
    """The folder, created if necessary; a folder without write access is refused before any
    computation."""
    import tempfile

    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ValueError(f"{option}: cannot write to {path}: {error.strerror or error}") from None
    return path


def check_picture(option: str, path: Path) -> None:
    """Refuse a file type that cannot be drawn, or a folder without write access, before any
    computation."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(
            f"{option}: expected a name ending in .png, .pdf or .svg, got {str(path)!r}"
        )
    folder(option, path.parent)


def letter_of(along: str) -> str:
    """The letter of the parameter that varies, for tables."""
    return LETTERS.get(word_of(along), along)


def print_json(value: Any, ascii_only: bool = True) -> None:
    """A value as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=ascii_only))


def print_table(rows: list[list[Any]], title: str = "") -> None:
    """Rows of anything in aligned columns, the first row their names. No digit is cut off: columns
    beyond the width of the terminal follow below, with the first column repeated."""
    import shutil
    import sys

    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sum(widths)
    if title:
        typer.echo(title)
    for columns in _fitting(widths, width):
        for row in cells:
            typer.echo("".join("  " + row[at].ljust(widths[at] - 2) for at in columns).rstrip())


def _fitting(widths: list[int], width: int) -> Iterator[list[int]]:
    shown = [0]
    for at in range(1, len(widths)):
        if len(shown) > 1 and sum(widths[column] for column in (*shown, at)) > width:
            yield shown
            shown = [0]
        shown.append(at)
    yield shown


@contextmanager
def resumable() -> Iterator[None]:
    """Say, after an interruption of what is inside, that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "what is finished is kept, and the same command continues"
        typer.echo(f"interrupted: {kept}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """Progress of a study, which can be resumed; yields `progress(done, total, failed=0)`."""
    from ..numerics.progress import reporting

    with resumable(), reporting(True, title, None) as report:
        yield lambda done, total, failed=0: report(
            done + failed, f"{failed} failed" if failed else "", total
        )
