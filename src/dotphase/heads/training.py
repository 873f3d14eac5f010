"""Train the language model on growing amounts of text, and measure its heads on the way."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..numerics.files import written_whole
from ..numerics.progress import Progress, reporting
from ..results.result import Result
from ..results.statistics import over_seeds
from ..text.sentences import in_sentences
from ..text.words import DEFAULT, Corpus, keep_frequent, read_words
from .language_model import (
    Model,
    Weights,
    compiled_steps,
    forward,
    initial_states,
    loss,
)
from .layouts import Rotary
from .measure import Heads, measure

ORDER = 0  # the seed of the order of documents, the same for all runs


@dataclass(frozen=True, repr=False, eq=False)
class LanguageRun(Result):
    """What was learned from some amount of text, at some steps.

    - `tokens`: of the text trained on;  `step`: of the records, (records,);  `seeds`.
    - `train_loss`, `held_out_loss`: nats per word, (seeds, records).
    - `position`, `content`, `rest`: shares of every head, (seeds, records, layers · heads), and
      `position_error`, `content_error`.
    - `weights`: at the end, by name, seeds on the first axis.  `seconds`: of training.
    """

    tokens: int
    step: np.ndarray
    seeds: tuple[int, ...]
    train_loss: np.ndarray
    held_out_loss: np.ndarray
    position: np.ndarray
    content: np.ndarray
    rest: np.ndarray
    position_error: np.ndarray
    content_error: np.ndarray
    weights: dict[str, np.ndarray]
    seconds: float = field(compare=False)

    row, curve = "step", False

    @property
    def headline(self) -> str:
        return f"trained on {self.tokens} words, {len(self.seeds)} seeds, {self.seconds:.0f} s"

    def rows(self) -> list[dict[str, Any]]:
        mean = lambda a, r: over_seeds(
            list(np.asarray(a)[:, r].reshape(len(self.seeds), -1).mean(1))
        )
        names = ("train_loss", "held_out_loss", "position", "content", "rest")
        return [
            {"step": int(step), **{name: mean(getattr(self, name), r) for name in names}}
            for r, step in enumerate(self.step)
        ]


def texts(model: Model, files: Sequence[str | Path] = ()) -> tuple[np.ndarray, np.ndarray, Corpus]:
    """Training text and held-out text (a fifth of the documents) as ids, and their corpus."""
    corpus = keep_frequent(read_words(files), 1, model.words)
    if len(corpus.words) < model.words:
        raise ValueError(f"words: {model.words} asked for, the text has {len(corpus.words)}")
    order = np.random.default_rng(ORDER).permutation(len(corpus.documents))
    shuffled = np.concatenate([corpus.documents[k] for k in order])
    cut = len(shuffled) * 4 // 5
    if len(shuffled) - cut < 10 * (model.length + 1):
        raise ValueError(f"text: {len(shuffled)} words are too few to train on")
    return shuffled[:cut], shuffled[cut:], corpus


def train_language(
    model: Model,
    tokens: int | None = None,
    steps: int = 2000,
    seeds: Sequence[int] = (0, 1, 2, 3),
    directory: str | Path | None = None,
    files: Sequence[str | Path] = (),
    progress: Progress = None,
) -> LanguageRun:
    """Train on the first `tokens` words of the text, and measure loss and heads at steps 0, …, `steps`.

    **Arguments**: `directory`: where weights are kept at every record, so that a stopped run
    continues; `files`: Python's help texts by default.
    """
    train, held_out, _ = texts(model, files)
    text = train if tokens is None else train[:tokens]
    if len(text) <= model.length + 1:
        raise ValueError(f"tokens: {len(text)} words are too few for sentences of {model.length}")
    seeds = tuple(seeds)
    records = record_steps(steps)
    place = None if directory is None else Path(directory)
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    with jax.enable_x64(False):
        kept, losses, seconds = _trained(model, jnp.asarray(text), records, seeds, place, progress)
        cut = in_sentences(held_out, model.length + 1)
        held = np.array(
            [[float(loss(_seed(w, s), jnp.asarray(cut))) for w in kept] for s in range(len(seeds))]
        )
        found = _measured(model, kept, len(seeds), np.concatenate([train, held_out]))
    shape = (len(seeds), len(records), -1)
    part = lambda name, what: getattr(getattr(found, name), what).reshape(shape)
    return LanguageRun(
        tokens=len(text),
        step=records,
        seeds=seeds,
        train_loss=losses,
        held_out_loss=held,
        position=part("position", "value"),
        content=part("content", "value"),
        rest=part("rest", "value"),
        position_error=part("position", "error"),
        content_error=part("content", "error"),
        weights={name: np.asarray(a) for name, a in kept[-1]._asdict().items()},
        seconds=seconds,
    )


def record_steps(steps: int) -> np.ndarray:
    """0 and about two steps per factor of three, up to `steps`."""
    count = max(2, round(2 * np.log(steps / 10) / np.log(3)) + 1) if steps > 10 else 2
    return np.unique([0, *np.geomspace(min(10, steps), steps, count).astype(int)])


def save_heads(path: str | Path, run: LanguageRun, words: Sequence[str], seed: int = 0) -> None:
    """Keep the first layer's heads of one seed as arrays for `load`, with their provenance."""
    at = run.seeds.index(seed)
    arrays = {name: run.weights[name][at] for name in ("E", "P")}
    if not len(arrays["P"]):
        arrays = {"E": arrays["E"], "rotary": np.array(Rotary(0).base)}
    arrays |= {name: run.weights[name][at][0] for name in ("W_Q", "W_K")}
    about = {
        "text": DEFAULT,
        "tokens": run.tokens,
        "steps": int(run.step[-1]),
        "seed": seed,
        "made by": "dotphase language-model",
    }
    arrays |= {"words": np.array(words), "causal": np.array(1)}
    np.savez_compressed(path, **arrays, provenance=np.array(json.dumps(about)))


def _trained(model, text, records, seeds, place, progress):
    """Weights and training losses at the records, seeds on the first axis."""
    size = len(text)
    states, kept, losses = initial_states(model, seeds), [], []
    steps = compiled_steps(model)
    began = time.perf_counter()
    with reporting(progress, f"training on {size} words", int(records[-1])) as report:
        before = 0
        for step in records.tolist():
            file = None if place is None else place / f"{size}-{step}.npz"
            value = jnp.full(len(seeds), np.nan)
            if file is not None and file.exists():
                states, value = _read(file, states, model, seeds)
            elif step > before:
                states, value = steps(states, text, step - before)
            if file is not None and not file.exists():
                _keep(file, states, value, model, seeds)
            kept.append(jax.tree.map(np.asarray, states.weights))
            losses.append(np.asarray(value, float))
            before = step
            report(step, f"loss {np.mean(losses[-1]):.3f}")
    return kept, np.array(losses).T, time.perf_counter() - began


def _measured(model: Model, kept: list[Weights], seeds: int, text: np.ndarray) -> Heads:
    """The heads of all seeds and records at once: they share the sentences and their fit."""
    scores = jax.jit(lambda weights, ids: forward(weights, ids)[1])

    def head(ids: np.ndarray) -> np.ndarray:
        listed = [scores(_seed(w, s), jnp.asarray(ids)) for s in range(seeds) for w in kept]
        return np.concatenate([np.asarray(each) for each in listed], axis=1).astype(np.float32)

    return measure(head, in_sentences(text, model.length)[:1000], permutations=0)


def _seed(weights: Weights, seed: int) -> Weights:
    return Weights(*(array[seed] for array in weights))


def _about(model: Model, seeds: tuple[int, ...]) -> str:
    return json.dumps({**asdict(model), "seeds": seeds})


def _keep(file: Path, states: Any, value: Any, model: Model, seeds: tuple[int, ...]) -> None:
    leaves = jax.tree.leaves(states._replace(key=jax.random.key_data(states.key)))
    arrays: dict[str, Any] = {f"leaf{k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    with written_whole(file) as unfinished:
        np.savez(unfinished, **arrays, loss=np.asarray(value), about=np.array(_about(model, seeds)))


def _read(file: Path, states: Any, model: Model, seeds: tuple[int, ...]) -> tuple[Any, Any]:
    plain = states._replace(key=jax.random.key_data(states.key))
    leaves, shape = jax.tree.flatten(plain)
    with np.load(file, allow_pickle=False) as found:
        if str(found["about"]) != _about(model, seeds):
            raise ValueError(f"{file}: of another model; choose another directory")
        read = [jnp.asarray(found[f"leaf{k}"]) for k in range(len(leaves))]
        value = found["loss"]
    again = jax.tree.unflatten(shape, read)
    return again._replace(key=jax.random.wrap_key_data(again.key)), value
