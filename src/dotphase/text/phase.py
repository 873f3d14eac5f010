"""Where a text lies in the phase diagram."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..numerics.progress import Progress, reporting
from ..numerics.rules import Sobol
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.tables import brief, numbers
from ..scenario.arguments import checked
from ..scenario.attentions import catalogue as attentions
from ..scenario.names import under_any_name
from ..scenario.scenario import Scenario
from ..scenario.tokens import Positions, Tokens
from ..theory.baseline import linear_baseline
from .distribution import MeasuredTokens, tokens_from_samples
from .sentences import Sentences

if TYPE_CHECKING:
    from ..theory.branches.node_sets import Transition
    from ..theory.branches.phases import Phase


@checked
@under_any_name
def scenario_of(
    tokens: MeasuredTokens | Tokens,
    alpha: float = 2.0,
    omega: float = 0.3,
    ridge: float = 0.01,
) -> Scenario:
    """The paper's task for tokens of any distribution and any number of tokens.

    T = (1 − ω) softmax(h* h*ᵀ) + ω A with A_ll' ∝ (2/3)^|l−l'|,  S = softmax(h hᵀ),  p_l evenly
    from 1 to −1 times (1, …, 1)/√d. At L = 2 these are the paper's A and encodings.

    **Arguments**: `tokens`, measured or given; `alpha`, `omega`, `ridge` as in `paper`.

    **Returns**: a `Scenario` with the measured tokens.

    **Example**: `scenario_of(tokens_from_samples(sentences), alpha=1.5)`.
    """
    tokens = tokens.tokens if isinstance(tokens, MeasuredTokens) else tokens
    length = tokens.gamma.shape[1]
    # falls by 2/3 from token to token: at L = 2 this is the paper's standard A
    A = (2 / 3) ** np.abs(np.subtract.outer(np.arange(length), np.arange(length))).astype(float)
    encodings = Positions(np.linspace(1, -1, length)[None])
    teacher = attentions.mixture(A / A.sum(1, keepdims=True), omega)
    return Scenario(teacher, attentions.softmax(1), tokens, encodings, alpha, ridge)


@dataclass(frozen=True, repr=False, eq=False)
class TextPhase(Result):
    """Where sentences lie in the phase diagram.

    - `scenario`: the task with the distribution of these sentences; `distribution`: that distribution, and
      what it neglects.
    - `deviation`: σ, with its error from the finite number of sentences.
    - `phase`: which mechanism has the lower training loss, by how much, and both branches.
    - `transition`: α_c at this ω, above which the other mechanism wins.
    - `baseline`: ε_lin, the best test error from positions alone.
    """

    scenario: Scenario
    distribution: MeasuredTokens
    deviation: Estimate
    phase: Phase
    transition: Transition
    baseline: Estimate
    seconds: float = field(compare=False)

    row = "branch"

    @property
    def headline(self) -> str:
        mixing = self.scenario.teacher.values.get("mixing")
        at = f"α = {self.scenario.sample_ratio:.4g}" + (
            f", ω = {float(mixing):g}" if mixing is not None else ""
        )
        return f"{at}, σ = {self.deviation}: {self.phase.headline}"

    def rows(self) -> list[dict[str, Any]]:
        return self.phase.rows()

    def __str__(self) -> str:
        found = self.transition
        where = (
            f"no α_c: {found.reason}" if found.outcome == "absent" else f"α_c = {found.location}"
        )
        lines = [self.headline, *(f"  {solution.headline}" for solution in self.phase.solutions)]
        return "\n".join(
            [
                *lines,
                f"  {where}",
                f"  linear baseline ε_lin = {self.baseline}",
                "  measured: the tokens. The teacher and ω are those of the task. Errors are those of "
                "the theory;",
                "  another dimension, or more text, can move α_c by more.",
                "",
                str(self.distribution),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        found = self.transition
        return {
            "scenario": numbers(self.scenario),
            "sigma": self.deviation.to_dict(),
            "winner": self.phase.winner,
            "margin": self.phase.margin.to_dict(),
            "branches": [solution.to_dict() for solution in self.phase.solutions],
            "alpha_c": None if found.outcome == "absent" else found.location.to_dict(),
            "outcome": found.outcome,
            "reason": found.reason,
            "linear_baseline": self.baseline.to_dict(),
            "neglected": self.distribution.neglected,
            "lengths": {
                name: getattr(self.distribution.lengths, name)
                for name in ("spread", "spread_of_gaussians")
            },
            "seconds": self.seconds,
        }


@checked
def phase_of(
    sentences: Sentences,
    scenario: Scenario | None = None,
    *,
    minimum: str = "reached",
    rule: Sobol | None = None,
    progress: Progress = None,
) -> TextPhase:
    """Predict which mechanism a student learns from these sentences, by the theory with their
    measured distribution.

    **Arguments**

    - `sentences`: from `read_text`, `read_embeddings` or `load_sentences`.
    - `scenario`: the task; by default `scenario_of` their distribution with α = n/d. Its tokens are
      replaced by the measured ones.
    - `minimum`: `"reached"` unless given, since this is what training on these sentences finds; or
      `"lowest"`, as in `solve`.
    - `rule`: nodes of the Gaussian averages, 2^15 Sobol' points unless given.
    - `progress`: True for a bar, or a function of (done, total).

    **Returns**: a `TextPhase`: the phase, and what the measured distribution neglects.

    **Example**: `print(phase_of(read_text(dimension=200, length=2)))`.
    """
    between = (0.2, 5.0)  # interval in which α_c is searched
    from ..theory.branches.phases import phase
    from ..theory.branches.transitions import critical

    begin, distribution = perf_counter(), tokens_from_samples(sentences, alike=True)
    task = (
        scenario_of(distribution, alpha=sentences.count / sentences.dimension)
        if scenario is None
        else scenario
    )
    task = task.vary(tokens=distribution.tokens)
    rule = rule or Sobol(2**15)
    with reporting(progress, f"phase of the sentences: {brief(task)}", 3) as report:
        found = phase(task, rule=rule, minimum=minimum)
        report(1)
        baseline = linear_baseline(task).test_error
        report(2)
        transition = critical(
            task, "train-loss", between=between, rule=rule, precision=0.01, minimum=minimum
        )
        report(3)
    return TextPhase(
        task,
        distribution,
        _deviation(sentences),
        found,
        transition,
        baseline,
        perf_counter() - begin,
    )


def _deviation(sentences: Sentences) -> Estimate:
    """σ and its error, from how the squared lengths differ from sentence to sentence."""
    square = np.concatenate(
        [
            (np.asarray(sentences.embeddings[k : k + 4096]) ** 2).mean(1)
            for k in range(0, len(sentences.embeddings), 4096)
        ]
    )
    each = square[sentences.ids].mean(1)
    sigma = float(np.sqrt(each.mean()))
    return Estimate(sigma, float(each.std() / np.sqrt(len(each))) / (2 * sigma))
