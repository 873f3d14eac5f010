"""The phase diagram as a study: both branches over a grid in (ω, α), and the lines of transitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..scenario.scenario import Scenario
from ..theory.solver.starts import usual_starts
from .study.study import Study, study_from


def phase_diagram_study(
    scenario: Scenario | dict[str, Any],
    alphas: Sequence[float],
    omegas: Sequence[float],
    nodes: int = 2**13,
    lines: bool = True,
    seed: int = 0,
    minimum: str = "lowest",
) -> Study:
    """Every point of a grid of sample ratios α and mixings ω.

    Along every row (one ω) branches are followed from α to α. **Computations**: `theory`, the
    branches, the winner and its margin, and its replica symmetry; `linear`, the baseline; with
    `lines`, at every third ω, α_c and α_l by root-finding in the interval of the grid in which they
    must lie. Where columns can share the work, the branches are semantic, positional and mixed, and
    the line is where the positional one becomes unstable and turns mixed.

    **Arguments**: `scenario`, whose α and ω do not matter: a `Scenario` of built-in parts, or
    tables as in a study; `minimum`, the inner minimum z* of each sample, as in
    `dotphase.solve`.
    """
    same: dict[str, Any] = {"nodes": nodes, "minimum": minimum}
    compute: dict[str, Any] = {
        "theory": same | {"kind": "theory", "seed": seed, "follow": "alpha", "stability": "winner"},
        "linear": {"kind": "baseline"},
    }
    axes = {"omega": list(omegas), "alpha": list(alphas)}
    whole: dict[str, Any] = {"name": "phase diagram", "scenario": scenario, "axes": axes}
    starts = usual_starts(study_from(whole | {"compute": compute}).base)
    compute["theory"]["branches"] = list(starts)
    at = {"omega": list(omegas)[::3]}  # every third row of the grid
    if lines and "mixed" in starts:
        ends = {"between": [min(alphas), max(alphas)], "branch": "positional"}
        wanted: dict[str, Any] = {"kind": "transitions", "transitions": ["instability"]}
        compute["lines"] = wanted | ends | {"precision": 0.03, "minimum": minimum, "at": at}
    elif lines:
        compute["lines"] = same | {
            "kind": "transitions",
            "near": "theory",
            "precision": 0.01,
            "at": at,
        }
    return study_from(whole | {"compute": compute})
