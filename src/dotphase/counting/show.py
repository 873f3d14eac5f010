"""Attention maps and answers of several runs on one sentence, before and after surgery."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from .data import count_letters, make_data, read_sentence, spell
from .plots import COLOURS, Panel, attention_maps
from .runs import Run
from .summary import seed_weights
from .transformer import logits


class View(NamedTuple):
    """A sentence, its true counts, the answers of every model (by panel title), and their attention
    maps."""

    sentence: str
    counts: list[int]
    answers: dict[str, list[int]]
    figure: Figure


def look(runs: Sequence[tuple[Run, Run | None]], sentence: str | None, seed: int | None) -> View:
    """Show `sentence` to one `seed` of every run and of the run after its surgery, if there is one.

    Without a sentence, the first validation sequence is shown; without a seed, the first run's
    first one.
    """
    first = runs[0][0].experiment
    seed = first.seeds[0] if seed is None else seed
    tokens = (
        read_sentence(sentence, first.task)
        if sentence
        else make_data(first.task, seed).validation[0]
    )
    if any(run.experiment.task != first.task for run, _ in runs):
        raise ValueError(
            "these runs have different tasks: one sentence cannot be shown to all of them"
        )
    rows = [_panels(run, operated, seed) for run, operated in runs]
    answers = {panel.title: _answer(panel, tokens) for row in rows for panel in row}
    return View(
        "".join(spell(tokens)),
        count_letters(tokens).tolist(),
        answers,
        attention_maps(rows, tokens),
    )


def _panels(run: Run, operated: Run | None, seed: int) -> list[Panel]:
    if seed not in run.experiment.seeds:
        raise ValueError(
            f"no seed {seed} in a run of seeds {', '.join(map(str, run.experiment.seeds))}"
        )
    s, name = run.experiment.seeds.index(seed), run.experiment.mechanism
    colour = COLOURS[name]
    panels = [Panel(f"{name}, seed {seed}", seed_weights(run, s), name, colour)]
    if operated is not None:
        panels.append(
            Panel(f"{name}, seed {seed}, after surgery", seed_weights(operated, s), "free", colour)
        )
    return panels


def _answer(panel: Panel, tokens: np.ndarray) -> list[int]:
    return np.asarray(logits(panel.weights, tokens, panel.mechanism)).argmax(-1).tolist()
