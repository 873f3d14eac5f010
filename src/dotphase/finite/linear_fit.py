"""The linear positional baseline at finite n: one matrix for all sentences, fitted by ridge
regression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ..numerics.progress import Progress, track
from ..numerics.rules import Rule
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from ..results.tables import numbers
from ..scenario.arguments import array, checked, checked_with
from ..scenario.attentions import catalogue as attentions
from ..scenario.scenario import Scenario
from ..scenario.tokens import no_positions
from .checks import instances
from .data.instance import Instance
from .data.sampling import Grams, Sample, sample
from .data.source import Data
from .test_error import error_of_weights
from .training.objective import gram_loss


@dataclass(frozen=True, repr=False, eq=False)
class LinearFits(Result):
    """The baseline over several seeds: `matrices` W, (seeds, L, L), and per seed the errors they
    make."""

    scenario: Scenario
    dimension: int
    matrices: np.ndarray
    test_errors: tuple[float, ...]
    train_losses: tuple[float, ...]
    seconds: float = field(compare=False)

    row = "seed"

    @property
    def headline(self) -> str:
        size = f"d = {self.dimension}, {len(self.matrices)} seeds, {self.seconds:.1f} s"
        return f"linear positional baseline, {size}"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"test_error": e, "train_loss": l}
            for e, l in zip(self.test_errors, self.train_losses, strict=True)
        ]

    def arrays(self) -> dict[str, Any]:
        return {"matrix": (("seed", "token", "token_"), self.matrices)}

    @property
    def test_error(self) -> Estimate:
        return over_seeds(self.test_errors)

    @property
    def train_loss(self) -> Estimate:
        return over_seeds(self.train_losses)

    @property
    def matrix(self) -> Estimate:
        return over_seeds(list(self.matrices))

    def __str__(self) -> str:
        return (
            f"{self.headline}\n  test_error    {self.test_error}\n  train_loss    {self.train_loss}"
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("test_error", "train_loss", "matrix")
        return {
            "d": self.dimension,
            "scenario": numbers(self.scenario),
            "seeds": len(self.matrices),
            **{name: getattr(self, name).to_dict() for name in names},
            "seconds": self.seconds,
        }


@checked
def fit_linear(
    scenario: Scenario,
    d: int | None = None,
    seeds: int | Iterable[int] = 1,
    *,
    rule: Rule | None = None,
    data: Data | None = None,
    progress: Progress = None,
) -> LinearFits:
    """Fit f_W(x) = Wx, W ∈ R^{L×L}, on n = αd samples: minimise Σ_μ ‖y^μ − Wx^μ‖²/(2d) + (λ/2)‖W‖².

    The minimum is closed-form, W = (Σ_μ T^μ G^μ)(Σ_μ G^μ + λ)^{-1} with G^μ = x^μ x^μᵀ/d. The error
    on new samples, E‖(T − W)x‖²/(dL), is a Gaussian average over the teacher's fields, exact at
    this d.

    **Arguments**: `scenario`, `d`, `seeds`, `data` and `progress` as in `train`; `rule` is for the
    Gaussian average.

    **Returns**: `LinearFits`: the matrix W and the errors of each seed.

    **Example**: `fit_linear(paper(omega=0.3), d=1000, seeds=8).test_error`.
    """
    begin, realised = perf_counter(), instances(scenario, d, seeds, data=data)
    d, fits = realised[0].dimension, []
    for instance in track(realised, f"linear baseline, d = {d}", progress):
        drawn = sample(instance)
        matrix = ridge_matrix(drawn)
        error = linear_test_error(instance, matrix, rule)
        fits.append((matrix, float(error.value), _mean_loss(drawn, matrix)))
    matrices, test_errors, train_losses = zip(*fits, strict=True)
    return LinearFits(
        scenario, d, np.stack(matrices), test_errors, train_losses, perf_counter() - begin
    )


def ridge_matrix(data: Sample) -> np.ndarray:
    """W = (Σ_μ T^μ G^μ)(Σ_μ G^μ + λ)^{-1}, (L, L)."""
    left = np.einsum("ijn,jkn->ik", data.answers, data.grams.true)
    gram = data.grams.true.sum(-1) + data.scenario.ridge * np.eye(data.scenario.length)
    return np.linalg.solve(gram.T, left.T).T


@checked_with(matrix=array(2))
def linear_test_error(instance: Instance, matrix: np.ndarray, rule: Rule | None = None) -> Estimate:
    """E‖(T[xQ*/√d] − W)x‖²/(dL) for a given W, (L, L): a student without encodings that always
    answers W.

    **Returns**: an `Estimate`.
    """
    scenario = instance.scenario
    always = scenario.vary(
        student=attentions.constant(matrix), positions=no_positions(scenario.length)
    )
    blind = Instance(always, instance.dimension, instance.seed, instance.data)
    return error_of_weights(blind, np.zeros((instance.dimension, 1)), rule)


def _mean_loss(data: Sample, matrix: np.ndarray) -> float:
    """The minimised objective divided by d, as for the student."""
    true = data.grams.true
    loss = np.sum(gram_loss(data.answers, matrix[:, :, None], Grams(true, true, true)))
    return float(loss + 0.5 * data.scenario.ridge * (matrix**2).sum()) / data.instance.dimension
