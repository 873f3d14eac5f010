"""What a solve returns: an answer with its errors, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ...numerics.rules import Rule, Sobol
from ...overlaps.overlaps import Overlaps, WeightOverlaps
from ...results.estimate import Estimate
from ...results.json import plain
from ...results.result import Result
from ...results.tables import brief, numbers, per_pair, per_token
from ...scenario.scenario import Scenario
from .errors import Scatter
from .starts import mechanism as mechanism_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..stability.stability import Stability

OUTCOMES = {
    "converged": "a fixed point, its observables as precise as asked for",
    "imprecise": "a fixed point, but budget or memory did not bring the errors down to the asked precision",
    "collapsed": "a fixed point of another mechanism: the requested branch does not exist here",
    "stalled": "no fixed point was reached",
}


USABLE = ("converged", "imprecise")  # outcomes that are fixed points of the kind asked for


class SolveError(RuntimeError):
    """Raised instead of returning a solution that is no answer, when `throw=True`."""


class Joint(NamedTuple):
    """Overlaps with two token indices, (L, L, r_s, …): q_ll', V_ll', θ_ll' (and m_l), their errors
    and conjugates."""

    overlaps: Overlaps
    errors: Overlaps
    conjugates: Overlaps


@dataclass(frozen=True, repr=False, eq=False)
class Solution(Result):
    """A fixed point of the theory.

    - `overlaps`, `overlap_errors`: q, V, m, θ per token and their standard errors; `conjugates`:
      q̂, V̂, m̂, θ̂.
    - `joint`: the same for every pair of correlated tokens; else None.
    - `test_error` ε_g, `train_loss` ε_t: value ± standard error; NaN where the solve stalled. The
      `overlaps` are then those of the last iteration: not a solution, but a possible start.
    - `deviations`: how far ε_g and ε_t of each replicate of the nodes lie from the pooled ones.
      Solutions on the same nodes have errors in common, which cancel in the difference of their
      deviations.
    - `minimum`: which inner minimum every sample sits in, "lowest" or "reached".
    - `branch`: the start asked for; `mechanism`: what was found (semantic, positional, uninformed,
      mixed).
    - `outcome`: a word of `OUTCOMES`; `reason`: why, when it is not "converged".
    - `residual`: undamped; `evaluations`: of the map, on all node sets; `rule`: the last of them,
      of `nodes` nodes.
    - `several_minima`: the share of samples whose inner problem has more than one minimum;
      `higher_minima`: the share that sits in another one than the lowest; `blur`: the energy over
      which jumps between them were blurred; `unsettled`: the share whose minimisation did not come
      to rest.
    - `checks`, `caveats`: what would show that the numbers are wrong, and what does.
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
    seconds: float = field(compare=False)
    joint: Joint | None = None
    unsettled: float | None = None

    @property
    def state(self) -> Overlaps:
        """All overlaps that the theory's equations are about: `overlaps`, or, of correlated tokens,
        the joint ones."""
        return self.overlaps if self.joint is None else self.joint.overlaps

    @property
    def ok(self) -> bool:
        """Whether this is a fixed point of the kind asked for, as precise as asked for."""
        return self.outcome == "converged"

    @property
    def q(self) -> Estimate:
        """Tr q_l averaged over tokens; of each token, `overlaps.q`."""
        return self._size("q")

    @property
    def m(self) -> Estimate:
        """‖m_l‖ averaged over tokens: |m| at rank one."""
        return self._size("m")

    @property
    def theta(self) -> Estimate:
        """‖θ_l‖ averaged over tokens: |θ| at rank one."""
        return self._size("theta")

    @property
    def columns(self) -> tuple[str, ...]:
        """What each column of the student's weights does: semantic, positional, mixed or
        uninformed. (Columns that a rotation mixes are those of this very solution.)"""
        rho, words = self.scenario.distribution.rho, []
        for a in range(self.scenario.student.rank):
            one = slice(a, a + 1)
            parts = [
                Overlaps(o.q[:, one, one], o.V[:, one, one], o.m[:, one], o.theta[:, one])
                for o in (self.overlaps, self.overlap_errors)
            ]
            words.append(mechanism_of(parts[0], rho, parts[1]))
        return tuple(words)

    def _size(self, name: str) -> Estimate:
        sizes = lambda of: WeightOverlaps(of.q, of.m, of.theta).mean_sizes[name]
        return Estimate(sizes(self.overlaps), sizes(self.overlap_errors))

    @property
    def headline(self) -> str:
        if self.outcome == "stalled":
            return f"Solution({self.branch}, stalled)  no fixed point was found"
        values = f"ε_g = {self.test_error:()}  ε_t = {self.train_loss:()}  |m| = {self.m:()}  |θ| = {self.theta:()}"
        found = (
            "" if self.outcome != "collapsed" else f": the {self.mechanism} fixed point was found"
        )
        return f"Solution({self.branch}, {self.outcome}{found})  {values}"

    @property
    def checks(self) -> dict[str, Any]:
        """What would show that the numbers are wrong; None where it has not been computed.

        - `residual`: how far the map moves the overlaps, undamped.
        - `unsettled`: the share of nodes whose inner minimisation did not come to rest.
        - `outlier`: whether one replicate of the nodes alone makes the error bars (Grubbs' test).
        - `replica_symmetry`, `stability`: the verdicts of `stability`, once it has been asked for.
        """
        known = self.__dict__.get("stability")
        return {
            "residual": self.residual,
            "unsettled": self.unsettled,
            "outlier": isinstance(self.rule, Sobol) and self.deviations.outlier,
            "replica_symmetry": known and known.symmetry,
            "stability": known and known.branch,
        }

    @property
    def caveats(self) -> tuple[str, ...]:
        """What speaks against its numbers; of its stability, only once `stability` was asked for."""
        rough = 1e-6  # a hundred times the usual tolerance
        found, known = [self.reason] if self.reason else [], self.checks
        # At reached minima the map jumps, and a residual is left on purpose.
        is_rough = self.minimum == "lowest" and not self.residual < rough
        if is_rough and self.outcome != "stalled" and "residual" not in self.reason:
            found.append(f"the residual is {self.residual:.1e}")
        if known["outlier"]:
            one = "the error bars come from one replicate of the nodes alone and may be wrong"
            found.append(f"{one}: take another seed or more nodes")
        if known["stability"] not in (None, "stable"):
            found.append(f"the branch is {known['stability']}")
        if str(known["replica_symmetry"]).startswith("broken"):
            found.append(f"replica symmetry is {known['replica_symmetry']}")
        return tuple(found)

    @property
    def trust(self) -> str:
        """How far it can be trusted: its stability where that has been worked out, the samples that
        may jump, the nodes, and the residual."""
        known = self.__dict__.get("stability")
        stable = "stability not computed" if known is None else known.verdict
        higher = f", {self.higher_minima:.2%} not in the lowest" if self.minimum != "lowest" else ""
        several = f"{self.several_minima:.2%} of samples with several minima{higher}"
        nodes = f"{self.nodes} nodes, residual {self.residual:.0e}"
        return f"{self.minimum} minimum · {stable} · {several}, {nodes}"

    def __str__(self) -> str:
        caveats = [f"  {caveat}" for caveat in self.caveats]
        return "\n".join([self.headline, *caveats, f"  {brief(self.scenario)}", f"  {self.trust}"])

    def rows(self) -> list[dict[str, Any]]:
        words = (
            "branch",
            "minimum",
            "mechanism",
            "outcome",
            "reason",
            "test_error",
            "train_loss",
            "q",
            "m",
            "theta",
        )
        counts = ("several_minima", "higher_minima", "residual", "evaluations", "nodes", "seconds")
        entries = lambda names: {name: getattr(self, name) for name in names}
        return [numbers(self.scenario) | entries(words) | entries(counts)]

    def arrays(self) -> dict[str, Any]:
        joint = (
            {}
            if self.joint is None
            else per_pair(self.joint.overlaps) | per_pair(self.joint.errors, "_error")
        )
        return {
            **per_token(self.overlaps),
            **per_token(self.overlap_errors, "_error"),
            **per_token(self.conjugates, "_hat"),
            **joint,
            **{
                f"{name}_deviations": (("replicate",), part)
                for name, part in self.deviations._asdict().items()
            },
        }

    def plot(self) -> Figure:
        """Its errors beside the linear baseline, its overlaps, and its attention on new sentences
        against the teacher's; `dotphase.plot` draws several solutions in one picture."""
        from ...plotting.quick import draw_solution

        return draw_solution(self)

    @cached_property
    def stability(self) -> Stability:
        """Is it stable? The replicon and the eigenvalues of the map here, as `theory.stability`
        defines them.

        Worked out when first asked for, on the solution's own nodes; a stalled solution has none
        (`SolveError`).
        """
        from ..stability.stability import stability

        return stability(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as `dotphase solve --json` prints them; numbers that are not
        finite become null."""
        return {
            "scenario": numbers(self.scenario),
            "branch": self.branch,
            "minimum": self.minimum,
            "mechanism": self.mechanism,
            "columns": list(self.columns),
            "outcome": self.outcome,
            "reason": self.reason,
            "residual": plain(self.residual),
            "evaluations": self.evaluations,
            "nodes": self.nodes,
            "seconds": round(self.seconds, 4),
            "overlaps": plain(self.overlaps),
            "overlap_errors": plain(self.overlap_errors),
            **({} if self.joint is None else {"joint": plain(self.joint)}),
            "test_error": self.test_error.to_dict(),
            "train_loss": self.train_loss.to_dict(),
            "several_minima": plain(self.several_minima),
            "higher_minima": plain(self.higher_minima),
            "checks": plain(self.checks),
            "caveats": list(self.caveats),
        }
