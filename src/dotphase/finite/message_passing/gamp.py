"""Generalised approximate message passing, whose fixed points are the critical points of training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...inner.minima import as_minimum
from ...numerics.progress import Progress, track_with_notes
from ...overlaps.overlaps import WeightOverlaps
from ...results.result import Result
from ...results.tables import per_token
from ...scenario.arguments import checked
from ...scenario.scenario import Scenario
from ..checks import instances
from ..data.instance import Instance
from ..data.source import Data
from ..overlaps import overlaps
from ..training.checkpoint import objective_of
from ..training.objective import Objective
from ..training.optimisers import Descent
from ..training.runs import Run, Runs
from ..training.starts import Start, name_of, start_weights
from ..training.training import answer
from .local_problem import LocalProblem
from .response import Coupling

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class State(NamedTuple):
    """What the next iteration needs.

    - `weights`: Q̂, (d, r_s).
    - `response`: V_l, (L, r_s, r_s); for correlated tokens V_ll', (L, L, r_s, r_s).
    - `slopes`: g^μ_l of the last iteration, (L, r_s, n), for the Onsager term.
    - `fields`: z*, (L, r_s, n), where the next prox looks first.
    """

    weights: np.ndarray
    response: np.ndarray
    slopes: np.ndarray
    fields: np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class Messages(Result):
    """The trajectory of message passing, each with a first axis over iterations (0 is the start).

    - `overlaps`;  `response` V;  `gradient_norm` of the training objective.
    - `several`: the share of samples whose prox had a rival minimum.
    """

    overlaps: WeightOverlaps
    response: np.ndarray
    gradient_norm: np.ndarray
    several: np.ndarray

    row, curve = "iteration", True

    @property
    def headline(self) -> str:
        return f"{len(self.several) - 1} iterations of message passing, gradient norm {self.gradient_norm[-1]:.1e}"

    def rows(self) -> list[dict[str, Any]]:
        columns = {"gradient_norm": self.gradient_norm, "several": self.several}
        columns |= self.overlaps.mean_sizes
        each = zip(*columns.values(), strict=True)
        return [
            {"iteration": k, **dict(zip(columns, entries, strict=True))}
            for k, entries in enumerate(each)
        ]

    def arrays(self) -> dict[str, Any]:
        tokens = ("token", "token_")[: self.response.ndim - 3]
        return {
            **per_token(self.overlaps, lead=("iteration",)),
            "V": (("iteration", *tokens, "column", "column_"), self.response),
        }

    def plot(self) -> Figure:
        """Gradient norm and overlaps against iterations."""
        from ...plotting.quick import draw_messages

        return draw_messages(self)


@checked
class Gamp:
    """The iteration for one sample.

        w_l^μ = x̃_l^μ Q̂/√d − V_l g_l^μ(old)
        z* = argmin_z ½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l) + ℓ_μ(z)
        g_l = V_l⁻¹ (z*_l − w_l),   V̂_l = −Σ_μ ∂g_l^μ/∂w_l^μ / d
        B = Σ_μl x̃_l^μᵀ g_l^μ/√d + Σ_l Σ_l Q̂ V̂_l
        R_i = (λ + Σ_l γ_li V̂_l)⁻¹,   Q̂_i = R_i B_i,   V_l = Σ_i γ_li R_i/d

    ℓ_μ is the exact loss of the sample, scalar products and all, so that at a fixed point z* =
    x̃Q̂/√d and x̃ᵀg/√d = λQ̂: the gradient of the training objective vanishes. For correlated
    tokens γ_l, V_l, V̂_l become Γ_ll', V_ll', V̂_ll'. With random scales s the response of a sample
    is s_l s_l' V_ll', and V̂_ll' is the average of s_l s_l' ∂g_l/∂w_l'.
    """

    def __init__(self, objective: Objective, damping: float = 0.0, minimum: str = "lowest") -> None:
        self.objective, self.damping, self.minimum = objective, damping, as_minimum(minimum).name
        self.coupling = Coupling(objective.sample)
        self.local = LocalProblem(objective)

    def first(self, weights: np.ndarray, response: np.ndarray | float = 1.0) -> State:
        """The state before the first iteration; a number for V_l stands for that multiple of the
        identity."""
        fields = self.objective.fields(weights)
        return State(weights, self.coupling.first(response), np.zeros_like(fields), fields)

    def step(self, state: State, everywhere: bool = True) -> tuple[State, float]:
        """One iteration, moved only by 1 − damping of its way, and the share of samples with rival
        minima that it saw.

        `everywhere`: find the minimum z* of every sample anew, the lowest or the reached one; else
        each stays with the one it is in.
        """
        how, ridge = self.minimum if everywhere else "nearest", self.objective.ridge
        near = self.local.signal(state.weights) if how == "reached" else state.fields
        w = self.objective.fields(state.weights) - self.coupling.felt(state.response, state.slopes)
        found = self.local.prox(w, state.response, near, how)
        V_hat = self.coupling.admissible(ridge, -found.slope_response / self.objective.dimension)
        pulled = self.objective.pull_back(found.slopes) + self.coupling.own(state.weights, V_hat)
        R = np.linalg.inv(self.coupling.precision(ridge, V_hat))
        weights = np.einsum("iab,ib->ia", R, pulled)
        V = self.coupling.response(R)
        blend = lambda new, old: new + self.damping * (old - new)
        moved = [
            blend(new, old) for new, old in zip((weights, V, found.slopes), state[:3], strict=True)
        ]
        return State(moved[0], moved[1], moved[2], found.fields), found.several


@checked
def gamp(
    scenario: Scenario,
    d: int | None = None,
    start: Start = "semantic",
    seeds: int | Iterable[int] = 1,
    *,
    damping: float = 0.8,
    iterations: int = 1000,
    searching: int = 60,
    tolerance: float = 1e-7,
    response: np.ndarray | float = 1.0,
    minimum: str = "lowest",
    data: Data | None = None,
    progress: Progress = None,
) -> Runs:
    """Message passing from a start to a fixed point, for each seed; the answer is like that of
    `train`.

    **Arguments**

    - `scenario`, `d`, `start`, `seeds`, `data`, `progress`: as in `train`.
    - `damping`: the share of the old state kept in each iteration; needed because the plain
      iteration overshoots along the positional direction.
    - `iterations`: the most that are made;  `tolerance`: on the relative gradient norm of the
      training objective.
    - `searching`: the number of iterations in which the minimum of every sample is searched for
      again. After them each sample keeps its minimum: otherwise a few samples with two minima of
      nearly equal energy could alternate between them for ever.
    - `minimum`: which one, `"lowest"` or `"reached"`, as in `solve`.
    - `response`: V_l to start with, a number or (L, r_s, r_s).

    Each run's `trajectory` is a `Messages`.

    **Returns**: `Runs`, one per seed, each with its outcome.

    **Example**: `gamp(paper(alpha=2), d=500, start="semantic", seeds=4).test_error`.
    """
    limits = searching, iterations
    as_minimum(minimum)
    begin, realised = perf_counter(), instances(scenario, d, seeds, data=data)
    d = realised[0].dimension
    with closing(track_with_notes(realised, f"message passing, d = {d}", progress)) as each:
        runs = [
            _one(instance, start, damping, limits, tolerance, response, minimum, note)
            for instance, note in each
        ]
    return Runs(scenario, d, name_of(start), "GAMP", tuple(runs), perf_counter() - begin)


def _one(
    instance: Instance,
    start: Start,
    damping,
    iterations: tuple[int, int],
    tolerance,
    response,
    minimum: str,
    note: Callable[[str], None],
) -> Run:
    begin = perf_counter()
    first = start_weights(instance, start)
    method, rows = Gamp(objective_of(instance), damping, minimum), []
    end = _iterate(method, method.first(first, response), rows, iterations, tolerance, note)
    return answer(instance, end, begin, _messages(rows))


def _iterate(
    method: Gamp,
    state: State,
    rows: list,
    iterations: tuple[int, int],
    tolerance: float,
    note: Callable[[str], None],
) -> Descent:
    """Iterate until the training objective is stationary; what is seen on the way is appended to
    `rows`."""
    objective, several = method.objective, 0.0
    searching, most = iterations
    for iteration in range(most + 1):
        weights = state.weights
        value, norm = _stationarity(objective, weights)
        seed = objective.sample.instance.seed
        note(f"seed {seed}: iteration {iteration}, gradient norm {norm:.1e}")
        if not np.isfinite(norm):
            reason = (
                f"not finite after {iteration} iterations: raise the damping ({method.damping:g})"
            )
            return Descent(weights, value, norm, iteration, 2 * iteration, "diverged", reason)
        rows.append((overlaps(objective.sample.instance, weights), state.response, norm, several))
        if norm <= tolerance or iteration == most:
            outcome = "converged" if norm <= tolerance else "stopped"
            reason = (
                f"gradient norm {norm:.1e} after {iteration} iterations, asked for {tolerance:.1e}"
            )
            return Descent(weights, value, norm, iteration, 2 * iteration + 1, outcome, reason)
        state, several = method.step(state, everywhere=iteration < searching)
    raise AssertionError("unreachable")


def _stationarity(objective: Objective, weights: np.ndarray) -> tuple[float, float]:
    value, gradient = objective(weights)
    return value, objective.relative_gradient(weights, value, gradient)


def _messages(rows: list) -> Messages | None:
    """The trajectory; None after a divergence before the first iteration."""
    if not rows:
        return None
    values, responses, norms, several = zip(*rows, strict=True)
    return Messages(
        WeightOverlaps.stacked(values), np.stack(responses), np.array(norms), np.array(several)
    )
