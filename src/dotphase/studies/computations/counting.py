"""`kind = "counting"`: the counting task's transformer, trained with each mechanism, and what
remains after surgery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...scenario.scenario import Scenario
from ..study.computation import Computation, Point, columns
from ..study.layout import Variable
from ._common import Seeds, seeds_of

if TYPE_CHECKING:
    from ...counting import Experiment, Run

SCORES = ("position", "content", "rest", "equal_letter_weight")
HISTORY = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy")
RECOVERY = (
    *(
        "accuracy_before",
        "accuracy_operated",
        "accuracy_after",
        "distance_travelled",
        "distance_shaken",
    ),
    *("distance_moved", "attention_change", "attention_scale"),
)
OVER_SEEDS = ("mechanism", "seed")
MAPS = (*OVER_SEEDS, "sentence", "query", "key")


class Counting(Computation):
    """Trains all seeds of one mechanism at once, which is one unit of work. It does not depend on
    the scenario.

    - `length`, `letters`, `samples`, `width`, `hidden`: the task and the model; `epochs`,
      `minibatch`, `learning_rate`: how it is trained.
    - `sentences`: words whose attention maps are kept.
    - `surgery`: epochs of plain SGD after the restriction is removed and `noise` is added to the
      weights; 0 for none.
    """

    of_scenario: ClassVar[bool] = False
    growing: ClassVar[tuple[str, ...]] = ("mechanisms",)

    kind: Literal["counting"] = "counting"
    mechanisms: tuple[Literal["semantic", "positional", "free"], ...] = ("semantic", "positional")
    seeds: Seeds = 4
    length: int = Field(10, ge=1)
    letters: int = Field(15, ge=1)
    samples: int = Field(50_000, ge=2)
    width: int = Field(64, ge=2)
    hidden: int = Field(128, ge=1)
    epochs: int = Field(200, ge=1)
    minibatch: int = Field(32, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    sentences: tuple[str, ...] = ()
    surgery: int = Field(0, ge=0)
    noise: float = Field(1e-3, ge=0)

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        from ...counting import read_sentence
        from ...counting.metrics import require_enough

        task = self._experiment(self.mechanisms[0]).task
        require_enough(task.samples - task.train_samples)
        for sentence in self.sentences:
            read_sentence(sentence, task)

    def coordinates(self) -> dict[str, Sequence[Any]]:
        places = range(self.length)
        own: dict[str, Sequence[Any]] = {"mechanism": self.mechanisms, "seed": seeds_of(self.seeds)}
        own |= {"epoch": range(1, self.epochs + 1)}
        return own | (
            {"sentence": self.sentences, "query": places, "key": places} if self.sentences else {}
        )

    def variables(self) -> dict[str, Variable]:
        scores = [f"{name}{error}" for name in SCORES for error in ("", "_error")]
        numbers = ["accuracy", "settled", *scores, *(RECOVERY if self.surgery else ()), "seconds"]
        found = {name: Variable(OVER_SEEDS) for name in numbers}
        found |= {name: Variable(OVER_SEEDS, "str") for name in ("outcome", "reason", "verdict")}
        found |= {name: Variable((*OVER_SEEDS, "epoch"), "f4") for name in HISTORY}
        if self.sentences:
            found["attention"] = Variable(MAPS, "f4")
            if self.surgery:
                found["attention_after"] = Variable(MAPS, "f4")
        return found

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        return {"mechanism": 1}

    def compute_point(self, point: Point) -> dict[str, Any]:
        return columns([self._trained(mechanism) for mechanism in point.own["mechanism"]])

    def _experiment(self, mechanism: Any) -> Experiment:
        from ...counting import CountingTask, Experiment, Recipe

        task = CountingTask(self.length, self.letters, self.samples)
        recipe = Recipe(learning_rate=self.learning_rate, batch=self.minibatch, epochs=self.epochs)
        return Experiment(
            mechanism, task, recipe, self.width, self.hidden, tuple(seeds_of(self.seeds))
        )

    def _trained(self, mechanism: Any) -> dict[str, Any]:
        """Everything about one mechanism, seeds on the first axis."""
        from ...counting import Recipe, perform, train, what_stayed
        from ...counting.summary import summarise

        run = train(self._experiment(mechanism))
        each = summarise(run).seeds
        found: dict[str, Any] = {
            name: [getattr(seed, name) for seed in each]
            for name in ("accuracy", "settled", "verdict")
        }
        for name in SCORES:
            found[name] = [getattr(seed.scores, name).value for seed in each]
            found[f"{name}_error"] = [getattr(seed.scores, name).error for seed in each]
        found |= {name: np.asarray(getattr(run.history, name)) for name in HISTORY}
        if self.sentences:
            found["attention"] = self._maps(run)
        if self.surgery:
            after = perform(
                run, recipe=Recipe("sgd", 1e-3, self.minibatch, self.surgery), noise=self.noise
            )
            recoveries = what_stayed(run, after)
            found |= {name: [getattr(seed, name) for seed in recoveries] for name in RECOVERY}
            if self.sentences:
                found["attention_after"] = self._maps(after)
        count = len(each)
        return found | {"outcome": ["trained"] * count, "reason": [""] * count}

    def _maps(self, run: Run) -> np.ndarray:
        """Attention on the sentences: (seeds, sentences, length, length)."""
        from ...counting import attention, read_sentence
        from ...counting.summary import seed_weights

        tokens = np.stack(
            [read_sentence(sentence, run.experiment.task) for sentence in self.sentences]
        )
        seeds = range(len(run.experiment.seeds))
        return np.stack(
            [
                np.asarray(attention(seed_weights(run, s), tokens, run.experiment.mechanism))
                for s in seeds
            ]
        )
