"""`dotphase text`, `phase-of`, `heads` and `language-model`: real sentences as data, their place in the
phase diagram, what the heads of a transformer do with them, and a small model to train on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json, Minimum, check_picture, folder, of_scenario, print_json, resumable

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario
    from ..text.sentences import Sentences


def text(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="UTF-8 text. [default: the help texts that come with Python]"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="File for the sentences, .npz.")] = Path(
        "tokens.npz"
    ),
    dimension: Annotated[
        int | None,
        typer.Option(
            "--dimension", help="The dimension d. [default: 200, or all columns of --embeddings]"
        ),
    ] = None,
    length: Annotated[int, typer.Option("--length", help="L, tokens per sentence.")] = 2,
    window: Annotated[
        int, typer.Option("--window", help="Largest distance of neighbouring words.")
    ] = 5,
    least: Annotated[
        int, typer.Option("--least", help="Words that occur less often than this are left out.")
    ] = 5,
    centre: Annotated[
        bool, typer.Option("--centre/--no-centre", help="Subtract the mean token.")
    ] = True,
    whiten: Annotated[
        bool, typer.Option("--whiten/--no-whiten", help="Make the tokens' covariance σ²I.")
    ] = False,
    sigma: Annotated[
        float, typer.Option("--sigma", "--token-deviation", help="σ of the tokens.")
    ] = 0.5,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            "--embeddings", help="Your own vectors: .npy, .npz or .safetensors, FILE or FILE:NAME."
        ),
    ] = None,
    ids: Annotated[
        Path | None, typer.Option("--ids", help="The token ids that go with --embeddings.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Turn text into sentences of L word vectors. For `--data` of train, gamp, compare and
    phase-of.

    Example: dotphase text war-and-peace.txt --out tokens.npz
    """
    if out.suffix != ".npz":
        raise ValueError(f"--out: expected a name ending in .npz, got {str(out)!r}")
    folder("--out", out.parent)
    if (embeddings is None) != (ids is None):
        raise ValueError("--embeddings, --ids: give both or neither")
    if embeddings is not None and files:
        raise ValueError("--embeddings: vectors and ids replace the text; give no FILE")
    from ..numerics.progress import reporting
    from ..text.reading import read_embeddings, read_text

    options = {"centre": centre, "whiten": whiten, "deviation": sigma}
    with reporting(True, "reading", None):
        if embeddings is not None and ids is not None:
            found = read_embeddings(embeddings, ids, dimension, length, **options)
        else:
            size = 200 if dimension is None else dimension
            found = read_text(files or (), size, length, window=window, least=least, **options)
    found.save(out)
    if as_json:
        print_json(found.to_dict() | {"file": str(out)})
    else:
        typer.echo(f"{found!r}\n{out}")


@of_scenario("sample_ratio", data=True)
def phase_of(
    task: Scenario,
    data: Sentences | None,
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", "--sample-ratio", help="α. [default: n/d of the sentences]"),
    ] = None,
    minimum: Minimum = "reached",
    as_json: Json = False,
) -> None:
    """The place of sentences in the phase diagram. Prints their distribution, the mechanism that
    wins, and α_c.

    Example: dotphase phase-of --data tokens.npz --omega 0.3
    """
    if data is None:
        raise ValueError("--data: give a file of sentences; `dotphase text` writes one")
    from ..text.phase import phase_of as run

    ratio = data.count / data.dimension if alpha is None else alpha
    found = run(data, task.vary(sample_ratio=ratio), minimum=minimum, progress=True)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))


def heads(
    file: Annotated[
        Path | None,
        typer.Argument(help=".safetensors or .npz of a model. [default: ours, in the package]"),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option("--text", help="UTF-8 text, or token ids. [default: Python's help texts]"),
    ] = None,
    layer: Annotated[
        int, typer.Option("--layer", help="Layer of the model; only the first one, 0.")
    ] = 0,
    head: Annotated[int | None, typer.Option("--head", help="One head. [default: all]")] = None,
    length: Annotated[int, typer.Option("--length", min=3, help="L, tokens per sentence.")] = 16,
    sentences: Annotated[
        int, typer.Option("--sentences", min=1, help="Largest number of sentences.")
    ] = 2000,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also draw a picture, in a file like heads.png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What the heads of a transformer do. Prints how much of their scores follows from positions and
    how much from words.

    Example: dotphase heads model.safetensors --out heads.png
    """
    if layer:
        raise ValueError(
            f"--layer: the input of layer {layer} needs a forward pass; measure it in Python with "
            "`dotphase.heads.from_transformers`"
        )
    if out is not None:
        check_picture("--out", out)
    from ..heads.loading import load, shipped
    from ..heads.measure import measure
    from ..heads.reading import read_ids
    from ..numerics.progress import reporting

    with reporting(True, "measuring heads", None):
        model = shipped() if file is None else load(file)
        ids = read_ids(model, text, length)[:sentences]
        found = measure(model if head is None else model.only(head), ids, words=model.words)
    if out is not None:
        found.plot().savefig(out)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))


def language_model(
    out: Annotated[Path, typer.Option("--out", help="Folder of the run; continues a stopped one.")],
    tokens: Annotated[
        list[int] | None,
        typer.Option("--tokens", min=100, help="Words trained on; several times. [default: all]"),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps of Adam.")] = 1500,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds at once.")] = 4,
    layers: Annotated[int, typer.Option("--layers", min=1, help="Layers of attention.")] = 1,
    positions: Annotated[
        str, typer.Option("--positions", help="Positional encodings: learned or rotary.")
    ] = "learned",
    as_json: Json = False,
) -> None:
    """Train a small causal language model and measure its heads. Trains on Python's help texts;
    prints loss and mechanism against time.

    Example: dotphase language-model --out language --steps 500
    """
    folder("--out", out)
    from ..heads.language_model import Model
    from ..heads.training import save_heads, texts, train_language

    model = Model(layers=layers, positions=positions)
    with resumable():
        runs = [
            train_language(model, size, steps, range(seeds), out, progress=True)
            for size in tokens or [None]
        ]
    save_heads(out / "heads.npz", runs[-1], texts(model)[2].words)
    for run in runs:
        run.save(out / f"{run.tokens}.dotphase")
    if as_json:
        shown = [run.to_dict() | {"weights": str(out / "heads.npz")} for run in runs]
        print_json(shown)
    else:
        typer.echo("\n".join(map(str, runs)))
