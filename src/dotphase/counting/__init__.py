"""The counting task: one small transformer, two ways to solve it, both minima of one landscape.

Run it from the command line (`dotphase counting --help`) or from here:

>>> from dotphase.counting import Experiment, perform, train, what_stayed
>>> run = train(Experiment(mechanism="positional"))  # doctest: +SKIP
>>> recoveries = what_stayed(run, perform(run))  # doctest: +SKIP
"""

from dotphase.counting.data import CountingTask, count_letters, make_data, read_sentence, spell
from dotphase.counting.epochs import Recipe
from dotphase.counting.metrics import Scores, mean_scores, measure, separation
from dotphase.counting.runs import Experiment, Run, RunError, Surgery, load
from dotphase.counting.surgery import Recovery, operate, perform, what_stayed
from dotphase.counting.training import all_data, train, train_from
from dotphase.counting.transformer import (
    MECHANISMS,
    Mechanism,
    Weights,
    attention,
    fold,
    initial_weights,
    logits,
)

__all__ = [
    "MECHANISMS",
    "CountingTask",
    "Experiment",
    "Mechanism",
    "Recipe",
    "Recovery",
    "Run",
    "RunError",
    "Scores",
    "Surgery",
    "Weights",
    "all_data",
    "attention",
    "count_letters",
    "fold",
    "initial_weights",
    "load",
    "logits",
    "make_data",
    "mean_scores",
    "measure",
    "operate",
    "perform",
    "read_sentence",
    "separation",
    "spell",
    "train",
    "train_from",
    "what_stayed",
]
