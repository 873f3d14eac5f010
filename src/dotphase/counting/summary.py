"""What a run came to, in a few numbers with errors: the answer that is printed and drawn."""

from typing import NamedTuple

import jax
import numpy as np

from dotphase.counting.metrics import Scores, mean_scores, measure
from dotphase.counting.runs import Run
from dotphase.counting.training import all_data
from dotphase.counting.transformer import Weights
from dotphase.estimate import Estimate, over_seeds


class SeedSummary(NamedTuple):
    """One seed: its validation accuracy, what its attention says, and the verdict from that.

    At a constant learning rate the accuracy goes on jumping from epoch to epoch; `settled` is its mean over
    the last tenth of the epochs, `accuracy` that of the weights as they are.
    """

    seed: int
    accuracy: float
    settled: float
    scores: Scores
    verdict: str


class Summary(NamedTuple):
    """A run: seed by seed, and their means with standard errors over seeds."""

    mechanism: str
    epochs: int
    seeds: list[SeedSummary]
    accuracy: Estimate
    settled: Estimate
    scores: Scores


def seed_weights(run: Run, s: int) -> Weights:
    """The present weights of the run's s-th seed."""
    return jax.tree.map(lambda leaf: leaf[s], run.state.weights)


def summarise(run: Run) -> Summary:
    """Measure every seed of a run on its own validation sequences."""
    validation = all_data(run.experiment).validation
    mechanism = run.experiment.mechanism
    seeds = []
    for s, seed in enumerate(run.experiment.seeds):
        scores = measure(seed_weights(run, s), validation[s], mechanism)
        seeds.append(SeedSummary(seed, *_accuracies(run, s), scores, scores.verdict))
    accuracy, settled = (over_seeds([getattr(seed, name) for seed in seeds]) for name in ("accuracy", "settled"))
    scores = mean_scores([seed.scores for seed in seeds])
    return Summary(mechanism, run.epochs_done, seeds, accuracy, settled, scores)


def _accuracies(run: Run, s: int) -> tuple[float, float]:
    accuracies = np.asarray(run.history.validation_accuracy[s], np.float64)
    if not len(accuracies):
        return float("nan"), float("nan")
    return float(accuracies[-1]), float(accuracies[-max(1, len(accuracies) // 10) :].mean())
