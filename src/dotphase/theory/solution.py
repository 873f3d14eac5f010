"""What a solve returns: an answer with its errors, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..estimate import Estimate, plain
from ..gaussian import Rule
from ..overlaps import Overlaps
from ..scenario.scenario import Scenario

if TYPE_CHECKING:
    from .stability import Stability

OUTCOMES = {
    "converged": "a fixed point, its observables as precise as asked for",
    "imprecise": "a fixed point, but the node budget did not bring the errors down to the asked precision",
    "collapsed": "a fixed point of another kind than the start: the branch asked for does not exist here",
    "stalled": "no fixed point was reached",
}


USABLE = ("converged", "imprecise")  # outcomes that are fixed points of the kind asked for


class SolveError(RuntimeError):
    """Raised instead of returning a solution that is no answer, when `throw=True`."""


class Scatter(NamedTuple):
    """How far ε_g and ε_t of each replicate of the nodes lie from the pooled ones, (R,) each."""

    test_error: np.ndarray
    train_loss: np.ndarray


@dataclass(frozen=True)
class Solution:
    """A fixed point of the theory.

    - `overlaps`, `overlap_errors`: q, V, m, θ per token and their standard errors; `conjugates`: q̂, V̂, m̂, θ̂.
    - `test_error` ε_g, `train_loss` ε_t: value ± standard error.
    - `deviations`: how far ε_g and ε_t of each replicate of the nodes lie from the pooled ones. Solutions on the same
      nodes have errors in common, which cancel in the difference of their deviations.
    - `minimum`: which inner minimum every sample sits in, "lowest" or "reached".
    - `branch`: the start asked for; `mechanism`: what was found (semantic, positional, uninformed, mixed).
    - `outcome`: a word of `OUTCOMES`; `reason`: why, when it is not "converged".
    - `residual`: undamped; `evaluations`: of the map, on all node sets; `rule`: the last of them, of `nodes` nodes.
    - `several_minima`: the share of samples whose inner problem has more than one minimum; `higher_minima`: the share
      that sits in another one than the lowest; `blur`: the energy over which jumps between them were blurred.
    """

    scenario: Scenario
    branch: str
    minimum: str
    mechanism: str
    outcome: str
    reason: str
    overlaps: Overlaps
    overlap_errors: Overlaps
    conjugates: Overlaps
    test_error: Estimate
    train_loss: Estimate
    deviations: Scatter
    residual: float
    evaluations: int
    rule: Rule
    nodes: int
    several_minima: float
    higher_minima: float
    blur: float
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether this is a fixed point of the kind asked for, as precise as asked for."""
        return self.outcome == "converged"

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.branch}: {self.outcome}{reason}; test error {self.test_error}; training loss {self.train_loss}"

    @cached_property
    def stability(self) -> Stability:
        """Is it stable? The replicon and the eigenvalues of the map here, as `theory.stability` defines them.

        Worked out when first asked for, on the solution's own nodes; a stalled solution has none (`SolveError`).
        """
        from .stability import stability

        return stability(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as `dotphase solve --json` prints them; numbers that are not finite become null."""
        return {
            "branch": self.branch,
            "minimum": self.minimum,
            "mechanism": self.mechanism,
            "outcome": self.outcome,
            "reason": self.reason,
            "residual": plain(self.residual),
            "evaluations": self.evaluations,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 4),
            "overlaps": plain(self.overlaps),
            "overlap_errors": plain(self.overlap_errors),
            "test_error": self.test_error.to_dict(),
            "train_loss": self.train_loss.to_dict(),
            "several_minima": plain(self.several_minima),
            "higher_minima": plain(self.higher_minima),
        }
