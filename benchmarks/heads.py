"""One measure for every attention: counting transformers, students, a language model.

    python -m benchmarks.heads DIRECTORY     writes the tables of docs/heads.md (about ten minutes)

DIRECTORY keeps the language model's runs, so that a second call only measures. Counting: 5 positions,
10 letters, 8 epochs, three seeds of each mechanism. Students: three tokens, d = 200, rank one, trained
from informed starts; their sentences are drawn from 12 words, Gaussian vectors like the tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stored import keep_table

COMMAND = "python -m benchmarks.heads DIRECTORY"
AMOUNTS = (2850, 11400, 45538)


def run(directory: str | Path = "language-runs") -> None:
    shares = ["position", "content", "rest", "verdict", "margin"]
    rows = [*_counting(), *_students()]
    note = "Shares of the scores' variance; margin: distance from the threshold in standard errors."
    keep_table(
        "heads", "attentions", ["attention", "seed", *shares], rows, command=COMMAND, note=note
    )
    _teacher()
    _language(Path(directory))
    _variants(Path(directory))


def _counting() -> list[list[Any]]:
    from dotphase.counting import CountingTask, Experiment, Recipe, attention, train
    from dotphase.counting.summary import seed_weights
    from dotphase.counting.training import all_data
    from dotphase.heads import measure

    rows = []
    for mechanism in ("positional", "semantic", "free"):
        task = CountingTask(length=5, letters=10, samples=6000)
        experiment = Experiment(mechanism, task, Recipe(epochs=8), seeds=(0, 1, 2))
        trained = train(experiment)
        ids = np.asarray(all_data(experiment).validation[0])
        for s in experiment.seeds:
            weights = seed_weights(trained, s)
            head = lambda ids, w=weights, m=mechanism: attention(w, ids, m)
            rows.append([f"counting, {mechanism}", s, *_cells(measure(head, ids))])
            print(rows[-1], flush=True)
    return rows


def _students() -> list[list[Any]]:
    import dotphase
    from dotphase.finite.data.instance import Instance
    from dotphase.scenario import isotropic, positions_from_gram

    A = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    scenario = dotphase.Scenario(
        teacher=dotphase.attentions.mixture(A, 0.6),
        student=dotphase.attentions.softmax(1),
        tokens=isotropic(3, 0.5),
        positions=positions_from_gram(4.5 * np.eye(3) - 1.5),
        sample_ratio=2.0,
        ridge=0.01,
    )
    rows, d = [], 200
    for start in ("positional", "semantic"):
        runs = dotphase.train(scenario, d=d, start=start, seeds=[0, 1, 2]).runs
        for found in runs:
            p = Instance(scenario, d, found.seed).positions
            vectors = 0.5 * np.random.default_rng(found.seed).standard_normal((12, d))
            Q = found.weights / np.sqrt(d)
            head = lambda ids, E=vectors, p=p, Q=Q: _products((E[ids] + p) @ Q)
            ids = np.random.default_rng(0).integers(12, size=(1000, 3))
            rows.append(
                [f"student, {start} start", found.seed, *_cells(dotphase.heads.measure(head, ids))]
            )
            print(rows[-1], flush=True)
    return rows


def _products(h: np.ndarray) -> np.ndarray:
    return h @ h.swapaxes(-1, -2)


def _cells(found: Any) -> list[Any]:
    listed = [found.position[0], found.content[0], found.rest[0]]
    return [*(f"{each:()}" for each in listed), found.verdict.word, f"{found.verdict.margin:.3g}"]


def _teacher() -> None:
    """The head that comes with the package, as the teacher: theory, students, students on words."""
    import dotphase
    from dotphase.heads import read_ids, scenario_of, shipped

    model = shipped()
    found = scenario_of(model.only(2), read_ids(model))
    print(found, flush=True)
    rows = []
    for alpha in (0.7, 1.0, 2.0, 4.0):
        scenario = found.scenario.vary(alpha=alpha)
        theory = {
            start: dotphase.solve(scenario, start=start, d=512)
            for start in ("positional", "semantic")
        }
        trained = dotphase.train(scenario, d=512, start="semantic", seeds=16)
        small = dotphase.train(scenario, d=64, start="semantic", seeds=16)
        words = dotphase.train(scenario, data=found.sentences, start="semantic", seeds=16)
        rows.append(
            [
                alpha,
                *(f"{each.test_error:()}" for each in theory.values()),
                f"{trained.test_error:()}",
                f"{trained.theta:()}",
                f"{small.test_error:()}",
                f"{words.test_error:()}",
            ]
        )
        print(rows[-1], flush=True)
    columns = ["α", "ε_g from the positional start", "ε_g from the semantic start"]
    columns += ["trained, d = 512", "its θ", "d = 64", "real words, d = 64"]
    note = f"Head 2 of the language model that comes with the package. {found.headline}."
    keep_table("heads", "teacher", columns, rows, command=COMMAND, note=note)


def _language(directory: Path) -> None:
    from dotphase.heads.language_model import Model
    from dotphase.heads.training import train_language

    rows = []
    for tokens in AMOUNTS:
        found = train_language(Model(), tokens, 1500, range(4), directory, progress=True)
        for row in found.rows()[::2]:
            rows.append([tokens, *(v if k == "step" else f"{v:()}" for k, v in row.items())])
    columns = ["words", "step", "training loss", "held-out loss", "position", "content", "rest"]
    note = "Mean over four heads, then over four seeds; losses in nats per word."
    keep_table("heads", "language", columns, rows, command=COMMAND, note=note)


def _variants(directory: Path) -> None:
    """All the text: other encodings, and a second layer; each layer's heads, mean and extremes."""
    from dotphase.heads.language_model import Model
    from dotphase.heads.training import train_language

    rows = []
    for positions, layers in (("learned", 1), ("rotary", 1), ("learned", 2), ("rotary", 2)):
        model = Model(positions=positions, layers=layers)
        place = directory / f"{positions}-{layers}"
        found = train_language(model, None, 1500, range(4), place, progress=True)
        for layer in range(layers):
            heads = slice(layer * model.heads, (layer + 1) * model.heads)
            cells = []
            for name in ("position", "content", "rest"):
                last = getattr(found, name)[:, -1, heads]
                cells.append(f"{last.mean():.2f} ({last.min():.2f} to {last.max():.2f})")
            losses = [
                f"{found.train_loss[:, -1].mean():.3f}",
                f"{found.held_out_loss[:, -1].mean():.3f}",
            ]
            rows.append([positions, f"{layer + 1} of {layers}", *losses, *cells])
            print(rows[-1], flush=True)
    columns = [
        "positions",
        "layer",
        "training loss",
        "held-out loss",
        "position",
        "content",
        "rest",
    ]
    note = "After 1500 steps on all the text; mean, least and largest of 16 heads (four seeds)."
    keep_table("heads", "variants", columns, rows, command=COMMAND, note=note)


if __name__ == "__main__":
    run(*sys.argv[1:])
