"""Code shared by the computations: seeds, and rows of named numbers from results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator

from ...results.estimate import Estimate

if TYPE_CHECKING:
    from ...theory.solver.solution import Solution
    from ...theory.stability.breaking import Breaking

PLAIN = (
    "outcome",
    "reason",
    "mechanism",
    "residual",
    "evaluations",
    "nodes",
    "seconds",
    "several_minima",
)


def with_errors(**estimates: Estimate) -> dict[str, float]:
    """`name` and `name_error` of each estimate."""
    found = {name: float(estimate.value) for name, estimate in estimates.items()}
    return found | {f"{name}_error": float(estimate.error) for name, estimate in estimates.items()}


def solution_row(solution: Solution) -> dict[str, Any]:
    """Everything a study may ask of a solution; q, m and theta as `Solution` has them, V the
    largest of its entries."""
    row = {name: getattr(solution, name) for name in PLAIN}
    V, errors = np.abs(solution.overlaps.V), solution.overlap_errors.V
    overlaps = {"q": solution.q, "V": Estimate(V.max(), errors.flat[V.argmax()]), "m": solution.m}
    losses = {"test_error": solution.test_error, "train_loss": solution.train_loss}
    return row | with_errors(**overlaps, theta=solution.theta, **losses)


BREAKING = ("replicon", "jump_density", "squared_jump", "breaking")


def breaking_row(found: Breaking | None) -> dict[str, Any]:
    """`replicon`, its regular part; `jump_density` and `squared_jump` of samples at a jump;
    `breaking`, Δ/q: each with its error, not a number where it is not known. `symmetry`: the
    verdict, in words."""
    unknown = Estimate(np.nan, np.inf)
    if found is None:
        return with_errors(**dict.fromkeys(BREAKING, unknown)) | {"symmetry": ""}
    known = (found.regular, found.density, found.squared_jump, found.ratio)
    named = zip(BREAKING, known, strict=True)
    return with_errors(**{name: at or unknown for name, at in named}) | {"symmetry": found.verdict}


def seeds_of(seeds: int | tuple[int, ...]) -> list[int]:
    """The list of seeds: `count` of them from 0, or as given."""
    return list(range(seeds)) if isinstance(seeds, int) else list(seeds)


def _sensible(seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
    listed = seeds_of(seeds)
    if not listed or min(listed) < 0 or len(set(listed)) < len(listed):
        raise ValueError(
            f"expected a positive number of seeds or different seeds from 0 up, got {seeds!r}"
        )
    return seeds


Seeds = Annotated[int | tuple[int, ...], AfterValidator(_sensible)]
