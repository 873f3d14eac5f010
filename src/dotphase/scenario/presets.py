"""Scenarios with a name: the paper's task."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .arguments import checked
from .attentions import catalogue as attentions
from .names import under_any_name
from .scenario import Scenario
from .tokens import isotropic, opposite_positions

POSITIONAL = {
    "standard": ((0.6, 0.4), (0.4, 0.6)),
    "alternative": ((0.3, 0.7), (0.8, 0.2)),
}


@under_any_name
@checked
def paper(
    alpha: float = 2.0,
    omega: float = 0.3,
    sigma: float = 0.5,
    ridge: float = 0.01,
    positional: str | ArrayLike = "standard",
    student_rank: int = 1,
    **words: float,
) -> Scenario:
    """The task of arXiv 2402.03902: two tokens, a rank-one teacher that mixes meaning and position.

    T = (1 − ω) softmax(h* h*ᵀ) + ω A,  S = softmax(h hᵀ),  Σ_l = σ² I,  p_1 = −p_2 = (1, …, 1)/√d.

    **Arguments**

    - `alpha`: α = n/d.
    - `omega`: ω, from 0 (semantic teacher) to 1 (positional teacher).
    - `sigma`: σ.
    - `ridge`: λ.
    - `positional`: A: `"standard"`, `"alternative"`, or a 2×2 matrix.
    - `student_rank`: r_s; the paper's theory has one.
    - `words`: `sample_ratio`, `mixing`, `token_deviation`, for those who say α, ω, σ so.

    **Returns**: a `Scenario`.

    **Example**

        paper(alpha=2, omega=0.3) == paper(sample_ratio=2, mixing=0.3)      # True
    """
    if words:
        raise TypeError(f"{', '.join(words)}: not a number of the paper's task")
    if isinstance(positional, str):
        if positional not in POSITIONAL:
            raise ValueError(
                f"positional: expected one of {', '.join(POSITIONAL)} or a matrix, got {positional!r}"
            )
        positional = POSITIONAL[positional]
    return Scenario(
        teacher=attentions.mixture(positional, omega),
        student=attentions.softmax(student_rank),
        tokens=isotropic(2, sigma),
        positions=opposite_positions(),
        sample_ratio=alpha,
        ridge=ridge,
    )
