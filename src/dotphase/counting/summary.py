"""What a run came to, in a few numbers with errors: the answer that is printed and drawn."""

from typing import Any, NamedTuple

import jax
import numpy as np

from dotphase.counting.metrics import Estimate, Scores, measure, over_seeds
from dotphase.counting.runs import Run
from dotphase.counting.surgery import Recovery
from dotphase.counting.training import all_data
from dotphase.counting.transformer import Weights


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
    accuracy, settled = mean([seed.accuracy for seed in seeds]), mean([seed.settled for seed in seeds])
    scores = over_seeds([seed.scores for seed in seeds])
    return Summary(mechanism, run.epochs_done, seeds, accuracy, settled, scores)


def mean(values) -> Estimate:
    """The mean over seeds with its standard error, which is unknown (nan) for a single seed."""
    values = np.asarray(values, np.float64)
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(error))


def as_json(answer: Any) -> Any:
    """Plain dictionaries and lists of a summary or a list of recoveries; an unknown error becomes null."""
    if isinstance(answer, Recovery):
        return {**_fields(answer), "moved_share": answer.moved_share}
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return _fields(answer)
    if isinstance(answer, list | tuple):
        return [as_json(item) for item in answer]
    return None if isinstance(answer, float) and not np.isfinite(answer) else answer


def _fields(answer):
    return {name: as_json(value) for name, value in answer._asdict().items()}


def _accuracies(run: Run, s: int) -> tuple[float, float]:
    accuracies = np.asarray(run.history.validation_accuracy[s], np.float64)
    if not len(accuracies):
        return float("nan"), float("nan")
    return float(accuracies[-1]), float(accuracies[-max(1, len(accuracies) // 10) :].mean())
