"""`dotphase counting`: train the two mechanisms, remove their restriction, draw them."""

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .errors import Commands
from .options import Json, folder, print_json, print_table, resumable

app: typer.Typer = typer.Typer(
    help="The counting task. One small transformer that attends to positions or to letters.\n\n"
    "Example: dotphase counting train --mechanism positional --out run",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=Commands,
)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Directory of the run; continues an interrupted run.")],
    mechanism: Annotated[str, typer.Option(help="semantic, positional or free.")] = "semantic",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to train at once.")] = 4,
    first_seed: Annotated[int, typer.Option(help="The first of the consecutive seeds.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training data.")] = 200,
    length: Annotated[int, typer.Option(min=1, help="Letters in a sequence, L.")] = 10,
    letters: Annotated[int, typer.Option(min=1, help="Letters in the alphabet, T.")] = 15,
    samples: Annotated[
        int, typer.Option(min=1, help="Different sequences, training and validation.")
    ] = 50_000,
    batch: Annotated[int, typer.Option(min=1, help="Sequences per step.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="Adam's step size.")] = 1e-3,
    as_json: Json = False,
) -> None:
    """Train a mechanism over several seeds. Prints what each seed learned.

    Example: dotphase counting train --mechanism positional --out run
    """
    from ..counting import CountingTask, Experiment, Recipe
    from ..counting import train as train_run
    from ..counting.metrics import require_enough

    folder("--out", out.parent)
    task = CountingTask(length, letters, samples)
    require_enough(task.samples - task.train_samples)
    experiment = Experiment(
        mechanism=mechanism,  # pyright: ignore[reportArgumentType]  (checked by Experiment)
        task=task,
        recipe=Recipe(learning_rate=learning_rate, batch=batch, epochs=epochs),
        seeds=tuple(range(first_seed, first_seed + seeds)),
    )
    with _training(mechanism, epochs) as on_epoch:
        run = train_run(experiment, out, on_epoch)
    _print_run(out, run, as_json)


@app.command()
def surgery(
    directory: Annotated[
        Path, typer.Argument(help="A finished run; the answer goes to DIRECTORY/surgery.")
    ],
    epochs: Annotated[
        int, typer.Option(min=1, help="Passes over the training data after surgery.")
    ] = 100,
    noise: Annotated[
        float, typer.Option(help="Standard deviation of the noise added to each weight.")
    ] = 1e-3,
    learning_rate: Annotated[
        float, typer.Option(help="Step size of the plain gradient steps.")
    ] = 1e-3,
    as_json: Json = False,
) -> None:
    """Remove the restriction of a trained run. Adds noise, continues with plain SGD, and prints
    what remains.

    Example: dotphase counting surgery run
    """
    from ..counting import Recipe, Surgery, load, perform, what_stayed

    before = load(directory)
    if not before.finished:
        raise ValueError(f"{directory} is at epoch {before.epochs_done}: finish its training first")
    batch = before.experiment.recipe.batch
    recipe = Recipe("sgd", learning_rate=learning_rate, batch=batch, epochs=epochs)
    Surgery(before.experiment.mechanism, noise)  # refuses bad noise before anything is done
    with _training("after surgery", epochs) as on_epoch:
        after = perform(before, directory / "surgery", recipe, noise, on_epoch)
    _print_recoveries(before.experiment.mechanism, what_stayed(before, after), as_json)


@app.command()
def show(
    directories: Annotated[
        list[Path], typer.Argument(help="One or more runs; each is one row of panels.")
    ],
    sentence: Annotated[str | None, typer.Option(help="L letters, such as BAADEBCMMA.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed to draw. [default: the first]")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the pictures. [default: the first run]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw the attention of trained models on a sentence. Also their learning curves; prints their
    answers.

    Example: dotphase counting show run --sentence BAADEBCMMA
    """
    from ..counting import load
    from ..counting.plots import learning_curves
    from ..counting.show import look

    runs = [load(directory) for directory in directories]
    operated = [load(d / "surgery") if (d / "surgery").is_dir() else None for d in directories]
    view = look(list(zip(runs, operated, strict=True)), sentence, seed)
    place = folder("--out", out or directories[0])
    view.figure.savefig(place / "attention.png", dpi=150)
    learning_curves(runs).savefig(place / "learning.png", dpi=150)
    pictures = [str(place / name) for name in ("attention.png", "learning.png")]
    _print_view(view, pictures, as_json)


@contextmanager
def _training(title: str, epochs: int):
    """Progress of a training, which can be resumed; yields what is called after each epoch."""
    from ..numerics.progress import reporting

    with resumable(), reporting(True, title, epochs) as report:
        yield lambda run: report(run.epochs_done, run.reached)


def _print_run(directory, run, as_json):
    from ..counting.summary import summarise
    from ..results.json import plain

    summary = summarise(run)
    if as_json:
        print_json({"directory": str(directory), **plain(summary)})
        return
    typer.echo(f"{directory}: {summary.mechanism}, {summary.epochs} epochs")
    header = [
        "seed",
        "accuracy",
        "settled",
        "position",
        "content",
        "rest",
        "on equal letters",
        "verdict",
    ]
    rows = [
        [s.seed, f"{s.accuracy:.5f}", f"{s.settled:.5f}", *_shares(s.scores), s.verdict]
        for s in summary.seeds
    ]
    mean = [
        "mean",
        summary.accuracy,
        summary.settled,
        *_shares(summary.scores),
        summary.scores.verdict,
    ]
    print_table([header, *rows, mean])


def _shares(scores):
    return scores.position, scores.content, scores.rest, scores.equal_letter_weight


def _print_recoveries(mechanism, recoveries, as_json):
    from ..results.json import plain
    from ..results.statistics import over_seeds

    if as_json:
        print_json({"mechanism": mechanism, "seeds": plain(recoveries)})
        return
    typer.echo(f"{mechanism}, after surgery")
    header = [
        "seed",
        "accuracy before",
        "operated",
        "after",
        "travelled",
        "moved",
        "share",
        "attention moved",
        "",
    ]
    rows = [
        [r.seed, f"{r.accuracy_before:.5f}", f"{r.accuracy_operated:.5f}", f"{r.accuracy_after:.5f}",
         f"{r.distance_travelled:.2f}", f"{r.distance_moved:.3f}", f"{r.moved_share:.3%}",
         f"{r.attention_change:.4f} of {r.attention_scale:.2f}",
         f"{r.scores_before.verdict} → {r.scores_after.verdict}"]
        for r in recoveries
    ]  # fmt: skip
    columns = ("accuracy_before", "accuracy_operated", "accuracy_after", "distance_travelled",
               "distance_moved", "moved_share", "attention_change")  # fmt: skip
    means = [str(over_seeds([getattr(r, name) for r in recoveries])) for name in columns]
    print_table([header, *rows, ["mean", *means, ""]])


def _print_view(view, pictures, as_json):
    if as_json:
        answer = {name: getattr(view, name) for name in ("sentence", "counts", "answers")}
        print_json({**answer, "pictures": pictures})
        return
    answers = [[title, *answer] for title, answer in view.answers.items()]
    print_table([["sentence", *view.sentence], ["counts", *view.counts], *answers])
    typer.echo("pictures: " + ", ".join(pictures))
