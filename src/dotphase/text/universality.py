"""Does the theory hold for these sentences? Compares training on them, training on Gaussian
surrogates of the same distribution, and the theory.

`gaussian` has the covariances of the tokens, Γ; `scaled` has their lengths, too. Where training on
the sentences agrees with a surrogate, only that distribution matters; where the surrogate agrees
with its theory, d is large enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..finite.checks import several_seeds
from ..finite.training.runs import Runs
from ..finite.training.training import train
from ..numerics.progress import Progress, reporting
from ..numerics.rules import Sobol
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from ..results.tables import brief
from ..scenario.arguments import checked
from ..scenario.scenario import Scenario
from .distribution import MeasuredTokens, tokens_from_samples
from .phase import scenario_of
from .sentences import Sentences

if TYPE_CHECKING:
    from ..theory.solver.solution import Solution


OBSERVABLES = ("test_error", "train_loss", "q", "m", "theta")
SURROGATES = ("gaussian", "scaled")
STARTS = ("semantic", "positional")

# Properties that distinguish real tokens, removed one at a time: applied to the centred, whitened
# sentences.
VARIANTS: dict[str, Callable[[Sentences], Sentences]] = {
    "as they are": lambda raw: raw.centred().whitened(),
    "not centred": lambda raw: raw.whitened(),
    "not whitened": lambda raw: raw.centred(),
    "without repeats": lambda raw: raw.centred().whitened().without_repeats(),
    "shuffled": lambda raw: raw.centred().whitened().shuffled(),
    "Gaussian words": lambda raw: raw.centred().whitened().gaussian_words(),
    "equal lengths": lambda raw: raw.centred().whitened().equal_lengths(),
    "every word once": lambda raw: raw.every_word_once().centred().whitened(),
}


@checked
def variant(sentences: Sentences, name: str) -> Sentences:
    """Sentences with one property changed, at the same σ; `sentences` neither centred nor
    whitened.

    **Returns**: `Sentences` with one property changed.
    """
    if name not in VARIANTS:
        raise ValueError(f"name: expected a variant, one of {', '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name](sentences).scaled_to(sentences.deviation)


@dataclass(frozen=True, repr=False, eq=False)
class Universality(Result):
    """Training on sentences (`trained`), on surrogates (`surrogates`, by name) and theories
    (`theories`, by name), from one start."""

    scenario: Scenario
    distribution: MeasuredTokens
    start: str
    trained: Runs
    surrogates: dict[str, Runs]
    theories: dict[str, Solution]
    seconds: float = field(compare=False)

    row = "observable"

    @property
    def headline(self) -> str:
        size = f"{self.start} start, d = {self.trained.dimension}"
        return f"real tokens against their surrogates, {size}: {brief(self.scenario)}"

    def value(self, source: str, name: str) -> Estimate:
        """An observable of `"sentences"`, of training on a surrogate, `"gaussian"` or `"scaled"`,
        or of its theory, `"theory gaussian"` or `"theory scaled"`."""
        if source.startswith("theory "):
            found = self.theories.get(source.removeprefix("theory "))
            known = found is not None and found.outcome in ("converged", "imprecise")
            return getattr(found, name) if known else Estimate(np.nan, np.inf)
        runs = self.trained if source == "sentences" else self.surrogates[source]
        return runs.adjusted(name)

    def difference(self, surrogate: str, name: str) -> Estimate:
        """Sentences less surrogate, seed by seed: both have the same teacher."""
        pairs = zip(self.trained.values(name), self.surrogates[surrogate].values(name), strict=True)
        return over_seeds([None if a is None or b is None else a - b for a, b in pairs])

    def rows(self) -> list[dict[str, Any]]:
        return [self._row(name) for name in OBSERVABLES]

    def _row(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {"observable": name, "sentences": self.value("sentences", name)}
        for surrogate in self.surrogates:
            difference = self.difference(surrogate, name)
            row |= {
                surrogate: self.value(surrogate, name),
                f"{surrogate} s.e.": f"{difference.deviation():+.1f}",
            }
        for theory in self.theories:
            value = self.value(f"theory {theory}", name)
            row[f"theory {theory}"] = None if np.isnan(value.value) else value
        return row

    def to_dict(self) -> dict[str, Any]:
        sources = ("sentences", *self.surrogates, *(f"theory {name}" for name in self.theories))
        return {
            "start": self.start,
            "d": self.trained.dimension,
            "sentences": self.distribution.count,
            **{
                source: {name: self.value(source, name).to_dict() for name in OBSERVABLES}
                for source in sources
            },
            **{
                f"sentences less {each}": {
                    name: self.difference(each, name).to_dict() for name in OBSERVABLES
                }
                for each in self.surrogates
            },
            "outcomes": {"sentences": self.trained.outcomes}
            | {name: runs.outcomes for name, runs in self.surrogates.items()}
            | {f"theory {name}": solution.outcome for name, solution in self.theories.items()},
            "neglected": self.distribution.neglected,
            "spread of lengths": self.distribution.lengths.spread,
            "seconds": self.seconds,
        }


@checked
def universality(
    sentences: Sentences,
    start: str = "semantic",
    seeds: int | Iterable[int] = 8,
    *,
    alpha: float = 2.0,
    omega: float = 0.3,
    ridge: float = 0.01,
    theory: bool = True,
    rule: Sobol | None = None,
    progress: Progress = None,
) -> Universality:
    """Train on sentences and on Gaussian surrogates with the same covariances, with and without the
    same lengths, and solve the theory (reached minima) of both.

    **Arguments**: `sentences`; `start` and `seeds` of training; `alpha`, `omega`, `ridge` of the
    task (`scenario_of`); `theory`, whether to solve it; `rule`, nodes of its averages, 2^15 Sobol'
    points unless given; `progress`.

    **Returns**: a `Universality`: training on the sentences, on each surrogate, and the theory.

    **Example**: `print(universality(read_text(whiten=True), "positional"))`.
    """
    from ..theory.solver.solve import solve

    begin, seeds, rule = perf_counter(), several_seeds(seeds), rule or Sobol(2**15)
    distributions = {
        name: tokens_from_samples(sentences, scales=name == "scaled", alike=True)
        for name in SURROGATES
    }
    tasks = {
        name: scenario_of(distribution, alpha, omega, ridge)
        for name, distribution in distributions.items()
    }
    distribution, d = distributions["scaled"], sentences.dimension
    with reporting(progress, f"{start} start, d = {d}", 3 + 2 * theory) as report:
        trained = train(
            tasks["scaled"], None, start, seeds=seeds, data=distribution.rotated(sentences)
        )
        report(1)
        surrogates = {}
        for done, name in enumerate(SURROGATES, start=2):
            surrogates[name] = train(tasks[name], d, start, seeds=seeds)
            report(done)
        theories = {}
        for done, name in enumerate(SURROGATES if theory else (), start=4):
            theories[name] = solve(tasks[name], start, rule=rule, rtol=None, minimum="reached")
            report(done)
    return Universality(
        tasks["scaled"], distribution, start, trained, surrogates, theories, perf_counter() - begin
    )
