"""Arbitrary scenarios from a seed: what the solver has to take as it comes. For tests and
benchmarks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .attentions import catalogue as attentions
from .attentions.attention import Attention
from .scenario import Scenario
from .tokens import Positions, Tokens


def arbitrary_scenario(seed: int) -> Scenario:
    """Of one to four tokens, ranks one and two, one to three groups of directions, students of the
    catalogue, ω between 0 and 1, and σ, λ, α over decades; half of them with tied softmax students.
    """
    rng = np.random.default_rng(seed)
    length, groups, rank = (int(rng.integers(1, most + 1)) for most in (4, 3, 2))
    student = attentions.softmax(rank) if rng.random() < 0.5 else _student(rng, length, rank)
    matrix = rng.dirichlet(np.ones(length), size=length)
    teacher = attentions.mixture(
        matrix, float(rng.random()), attentions.softmax(int(rng.integers(1, 3)))
    )
    decades = lambda low, high: float(10 ** rng.uniform(np.log10(low), np.log10(high)))
    sigma = decades(0.3, 2.0)
    gamma = sigma**2 * rng.gamma(2.0, 0.5, size=(groups, length))
    return Scenario(
        teacher,
        student,
        Tokens(gamma, rng.dirichlet(np.ones(groups))),
        Positions(rng.normal(size=(groups, length))),
        sample_ratio=decades(0.3, 10.0),
        ridge=decades(1e-4, 0.1),
    )


def _student(rng: np.random.Generator, length: int, rank: int) -> Attention:
    makers: list[Callable[[], Attention]] = [
        lambda: attentions.softmax(rank, tied=False),
        lambda: attentions.linear(rank),
        lambda: attentions.tempered(rank, temperature=float(rng.uniform(0.3, 3.0))),
        lambda: attentions.causal(rank),
        lambda: attentions.sink(rank),
        lambda: attentions.sigmoid(rank, threshold=float(rng.normal())),
        lambda: attentions.relative(rank, bias=rng.normal(size=2 * length - 1)),
        lambda: attentions.kernel(rank, width=float(rng.uniform(0.5, 2.0))),
        lambda: attentions.heads(2, shares=[0.7, 0.3]),
    ]
    return makers[int(rng.integers(len(makers)))]()
