"""The first weights of a learning curve, by the words that training uses."""

from __future__ import annotations

import numpy as np

from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from ...scenario.validation import thaw
from ..online.decomposition import Decomposition, Start, as_start, at_dimension

FirstWeights = str | Start | Decomposition


def first_weights(
    scenario: Scenario, start: FirstWeights, distribution: Distribution, d: int | None, seed: int
) -> Decomposition:
    """F and Δ of Q(0) = F X + noise of covariance Δ, in each group of directions.

    - `"semantic"`: Q = Q*; `"random"`: Q_i ~ 0.1 N(0, 1).
    - `"positional"`: Q = p_1, as in training, where d is given. As d → ∞ that is no weights at all,
      so without d it is Q = √d p_1, as in one-pass learning.
    - Columns that a named direction does not fill are noise of a tenth of its size, as in training.
    - A `Start` or a `Decomposition`: itself.

    With d the noise has overlaps of order 1/√d with encodings and teacher, drawn by `seed`.
    """
    if isinstance(start, Decomposition):
        return _checked(start, scenario)
    named = as_start(start)
    if start == "positional":
        named = Start(positional=1.0 if d is None else d**-0.5)
        if scenario.distribution.gram[0, 0] == 0:
            raise ValueError("start: p_1 = 0 here, so there is no positional start")
    first = named.decomposition(scenario)
    if start in ("semantic", "positional"):
        first = Decomposition(first.shares, first.noise + _unfilled(scenario, named))
    return first if d is None else at_dimension(first, distribution, d, seed)


def _unfilled(scenario: Scenario, named: Start) -> np.ndarray:
    """The covariance of the columns that the named direction leaves empty."""
    spread: np.ndarray = thaw(scenario.student.spread)  # type: ignore[arg-type]
    if named.semantic:
        filled, size = scenario.teacher.rank, named.semantic
    else:
        filled, size = 1, named.positional * np.sqrt(scenario.distribution.gram[0, 0])
    empty = spread[filled:]
    return (0.1 * size) ** 2 * empty.T @ empty


def _checked(start: Decomposition, scenario: Scenario) -> Decomposition:
    r_s, r_t = scenario.ranks
    groups = len(scenario.distribution.weight)
    wanted = (groups, r_s, scenario.length + r_t), (groups, r_s, r_s)
    given = np.shape(start.shares), np.shape(start.noise)
    if given != wanted:
        raise ValueError(f"start: expected shares and noise of shapes {wanted}, got {given}")
    return start
