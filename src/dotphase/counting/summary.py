"""The summary of a run: a few numbers with errors, to print and to draw."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from .metrics import Scores, mean_scores, measure, no_scores
from .runs import Run
from .training import all_data
from .transformer import Weights


@dataclass(frozen=True, repr=False, eq=False)
class SeedSummary(Result):
    """One seed: its validation accuracy, the scores of its attention, and the resulting verdict
    ("diverged" if the attention is not finite).

    At a constant learning rate the accuracy fluctuates from epoch to epoch; `settled` is its
    mean over the last tenth of the epochs, `accuracy` is that of the present weights.
    """

    seed: int
    accuracy: float
    settled: float
    scores: Scores
    verdict: str

    @property
    def headline(self) -> str:
        return f"seed {self.seed}: {self.verdict}"

    def rows(self) -> list[dict[str, Any]]:
        words = {name: getattr(self, name) for name in ("seed", "accuracy", "settled", "verdict")}
        return [words | self.scores.rows()[0]]


@dataclass(frozen=True, repr=False, eq=False)
class Summary(Result):
    """A run: seed by seed, and their means with standard errors over seeds."""

    mechanism: str
    epochs: int
    seeds: list[SeedSummary]
    accuracy: Estimate
    settled: Estimate
    scores: Scores

    row = "seed"

    @property
    def headline(self) -> str:
        answer = f"accuracy {self.accuracy}, settled {self.settled}, {self.scores.verdict}"
        return f"counting, {self.mechanism} mechanism, {self.epochs} epochs: {answer}"

    def rows(self) -> list[dict[str, Any]]:
        return [row for seed in self.seeds for row in seed.rows()]


def seed_weights(run: Run, s: int) -> Weights:
    """The present weights of the run's s-th seed."""
    return jax.tree.map(lambda leaf: leaf[s], run.state.weights)


def summarise(run: Run) -> Summary:
    """Measure every seed of a run on its own validation sequences."""
    validation = all_data(run.experiment).validation
    mechanism = run.experiment.mechanism
    seeds = []
    for s, seed in enumerate(run.experiment.seeds):
        lost = bool(run.diverged[s])
        scores = no_scores() if lost else measure(seed_weights(run, s), validation[s], mechanism)
        seeds.append(
            SeedSummary(seed, *_accuracies(run, s), scores, "diverged" if lost else scores.verdict)
        )
    kept = [seed for seed in seeds if seed.verdict != "diverged"]
    accuracy, settled = (
        over_seeds([getattr(seed, name) for seed in kept]) for name in ("accuracy", "settled")
    )
    scores = mean_scores([seed.scores for seed in seeds])
    return Summary(mechanism, run.epochs_done, seeds, accuracy, settled, scores)


def _accuracies(run: Run, s: int) -> tuple[float, float]:
    accuracies = np.asarray(run.history.validation_accuracy[s], np.float64)
    if not len(accuracies):
        return float("nan"), float("nan")
    return float(accuracies[-1]), float(accuracies[-max(1, len(accuracies) // 10) :].mean())
