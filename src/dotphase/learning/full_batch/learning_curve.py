"""`learning_curve(scenario, start, steps=…)`: gradient descent on a fixed data set, as d → ∞."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numerics.progress import Progress, reporting
from ...numerics.rules import Sobol, pooled
from ...overlaps.overlaps import WeightOverlaps
from ...results.estimate import Estimate
from ...results.json import plain
from ...results.result import Result
from ...results.tables import brief, numbers, per_token
from ...scenario.arguments import checked
from ...scenario.checks import check_plain
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from ...scenario.validation import finite_number, whole_number
from ..online.decomposition import Decomposition
from .descent import Descent, History
from .loss import SampleLoss
from .schedule import Schedule, StepSize, schedule_of
from .starts import FirstWeights, first_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OBSERVABLES = ("q", "m", "theta", "train_loss", "test_error", "ridge_loss")
OUTCOMES = {
    "finished": "all steps were taken, with errors of at most five per cent",
    "imprecise": "the errors are larger, or there were too few paths for all modes",
    "unstable": "the training loss rose: the steps are too long",
}


@dataclass(frozen=True, repr=False, eq=False)
class LearningCurve(Result):
    """Gradient descent as d → ∞, at times t = Σ η (t = 0 is the start).

    - `times`, (T + 1,); `steps`: their numbers.
    - `q`, `m`, `theta`: Tr q_l, ‖m_l‖, ‖θ_l‖ averaged over tokens, as in `Runs`; at rank one q, |m|,
      |θ|. `overlaps`: of every token, with signs.
    - `train_loss`: ε_t, the training objective over d; `ridge_loss`: its part (λ/2)‖Q‖²/d.
    - `test_error`: ε_g.
    - `modes`: how many orthonormal modes the weights have at the end.
    - `outcome`: a word of `OUTCOMES`; `reason`: why, if it is not "finished".
    - `correlation`: Tr C_l(t, s) = ⟨γ_l Q(t)·Q(s)⟩, averaged over tokens, between the steps `kept`,
      (K, K); None unless asked for.

    Each number is an `Estimate` along `times`, with the standard error over replicates.
    """

    scenario: Scenario
    start: str
    dimension: int | None
    momentum: float
    times: np.ndarray
    q: Estimate
    m: Estimate
    theta: Estimate
    train_loss: Estimate
    test_error: Estimate
    ridge_loss: Estimate
    overlaps: WeightOverlaps
    modes: int
    outcome: str
    reason: str
    seconds: float = field(compare=False)
    kept: tuple[int, ...] = ()
    correlation: Estimate | None = None

    row, curve = "step", True

    @property
    def headline(self) -> str:
        at = "d → ∞" if self.dimension is None else f"d = {self.dimension}"
        why = f" ({self.reason})" if self.reason else ""
        steps = f"{len(self.times) - 1} steps to time {self.times[-1]:g}"
        return f"learning curve from the {self.start} start, {at}, {steps}: {self.outcome}{why}"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"step": step, "time": time} | {name: getattr(self, name)[step] for name in OBSERVABLES}
            for step, time in enumerate(self.times.tolist())
        ]

    def arrays(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        return per_token(self.overlaps, ending="_of_token", lead=("step",))

    def plot(self) -> Figure:
        """Losses and overlaps against time."""
        from .plots import draw_learning_curves

        return draw_learning_curves([self])

    def __str__(self) -> str:
        end = [f"  {name:<14}{getattr(self, name)[-1]}" for name in OBSERVABLES]
        last = f"  at time {self.times[-1]:g}, with {self.modes} modes:"
        return "\n".join([self.headline, f"  {brief(self.scenario)}", last, *end])

    def _two_times(self) -> dict[str, Any]:
        return {"kept": list(self.kept), "correlation": plain(self.correlation)}

    def to_dict(self) -> dict[str, Any]:
        """Numbers along time as lists, and how it ended, ready for JSON."""
        names = ("start", "momentum", "outcome", "reason", "modes")
        return (
            {"scenario": numbers(self.scenario), "d": self.dimension}
            | {name: plain(getattr(self, name)) for name in names}
            | {"time": plain(self.times)}
            | {name: getattr(self, name).to_dict() for name in OBSERVABLES}
            | ({} if self.correlation is None else self._two_times())
            | {"seconds": round(self.seconds, 4)}
        )


@checked
def learning_curve(
    scenario: Scenario,
    start: FirstWeights = "semantic",
    *,
    steps: int | None = None,
    time: float | None = None,
    step_size: StepSize | None = None,
    momentum: float = 0.0,
    d: int | None = None,
    paths: int = 4096,
    replicates: int = 8,
    cut: float = 1e-5,
    seed: int = 0,
    distribution: Distribution | None = None,
    keep: Iterable[int] = (),
    progress: Progress = None,
) -> LearningCurve:
    """Full-batch gradient descent on n = αd samples as d → ∞, at every step.

    Q(t+1) = Q(t) − η_t ∇F(Q(t)) + β (Q(t) − Q(t−1)),
    F(Q) = Σ_μ ‖y^μ − f_Q(x^μ)‖²/(2d) + (λ/2)‖Q‖².

    Exact at any fixed number of steps. The averages over samples are taken on paths that stand for
    all samples; more paths and replicates give smaller errors.

    **Arguments**

    - `scenario`: what is learned, with its α and λ; not for correlated tokens or random scales.
    - `start`: `"semantic"` (Q = Q*), `"positional"` (Q = p_1 if `d` is given, else √d p_1),
      `"random"` (Q_i ~ 0.1 N(0, 1)), `dotphase.learning.Start(a, b, c)` (Q = a Q* + b √d p_1 + c
      N(0, 1)), or a `Decomposition`.
    - `steps` T, or `time`, the sum of the step sizes.
    - `step_size`: η, or one η_t for every step. 1/(2αLγ max(‖p‖², γ)) unless given; with `time`
      it is shortened to end there exactly.
    - `momentum`: β.
    - `d`: adds the term ½ Tr[S p pᵀ Sᵀ]/d to ℓ, as `solve(…, d=…)` does, and gives the noise of the
      start its overlaps of order 1/√d, drawn by `seed`. Without them a random start learns nothing.
    - `paths`: per replicate, a power of two; `replicates`: at least four, a power of two.
    - `cut`: forces wait for a mode of their own until they have moved ‖Q‖² by this fraction.
    - `seed`: of the paths, and of the start's noise.
    - `distribution`: the distribution of the directions, if it is not the scenario's.
    - `keep`: steps between which `correlation` is computed.
    - `progress`: True for a bar, or a function `progress(done, total)`.

    **Returns**: a `LearningCurve`.

    **Example**

        curve = learning_curve(paper(alpha=1.17, omega=0.3), "positional", time=750, d=1000)
        curve.test_error[-1]
    """
    begin = perf_counter()
    check_plain("the learning curve", scenario)
    d = scenario.dimension if d is None else whole_number("d", d)
    schedule = schedule_of(scenario, steps, time, step_size, momentum)
    rule = _rule(paths, replicates, seed)
    cut = finite_number("cut", cut, above=True, most=1.0)
    kept = _kept(keep, len(schedule.sizes))
    distribution = scenario.distribution if distribution is None else distribution
    first = first_weights(scenario, start, distribution, d, seed)
    loss = SampleLoss(scenario, distribution, d)
    with reporting(progress, "learning curve", len(schedule.sizes)) as report:
        found = Descent(scenario, first, distribution, loss, rule).run(schedule, cut, report, kept)
    known = _estimates(found, _test_errors(found, loss, rule), rule)
    outcome, reason = _outcome(found, schedule, known)
    return LearningCurve(
        scenario=scenario,
        start="given" if isinstance(start, Decomposition) else str(start),
        dimension=d,
        momentum=schedule.momentum,
        times=schedule.times[: len(found.loss)],
        **known,
        overlaps=WeightOverlaps(*(part.mean(1) for part in found.overlaps)),
        modes=found.modes,
        outcome=outcome,
        reason=reason,
        seconds=perf_counter() - begin,
        kept=kept[: len(found.correlation)],
        correlation=pooled(rule, np.moveaxis(found.correlation, -1, 0)) if kept else None,
    )


def _kept(keep: Iterable[int], total: int) -> tuple[int, ...]:
    steps = tuple(sorted({whole_number("keep", step, 0) for step in keep}))
    if steps and steps[-1] > total:
        raise ValueError(f"keep: there are {total} steps, got {steps[-1]}")
    return steps


def _rule(paths: int, replicates: int, seed: int) -> Sobol:
    for name, value, least in (("paths", paths, 64), ("replicates", replicates, 4)):
        if whole_number(name, value, least) & (value - 1):
            raise ValueError(f"{name}: expected a power of two, got {value}")
    return Sobol(paths * replicates, replicates, whole_number("seed", seed, 0))


def _test_errors(found: History, loss: SampleLoss, rule: Sobol) -> np.ndarray:
    """ε_g = (2/L) E[ℓ(u, w)] of a fresh sample, which has no memory, (T + 1, R)."""
    _, _, length, r_s, r_t = *found.overlaps.q.shape[:2], *found.overlaps.theta.shape[2:]
    enough = min(rule.count, 2048 * rule.replicates)
    nodes = Sobol(enough, rule.replicates, rule.seed).nodes(length * (r_s + r_t))
    return 2 / length * loss.fresh(found.overlaps, nodes)


def _estimates(found: History, test_errors: np.ndarray, rule: Sobol) -> dict[str, Estimate]:
    """The observables along time, with the errors of the mean over replicates."""
    values = found.overlaps.mean_sizes
    values["train_loss"] = found.loss + found.ridge
    values["test_error"] = test_errors
    values["ridge_loss"] = found.ridge
    return {name: pooled(rule, value.swapaxes(0, 1)) for name, value in values.items()}


def _outcome(found: History, schedule: Schedule, known: dict[str, Estimate]) -> tuple[str, str]:
    if found.blown_up:
        return "unstable", f"the loss left all bounds at step {len(found.loss)}: lower step_size"
    train_loss = known["train_loss"].value
    rises = np.diff(train_loss) > 0.01 * train_loss[1:]
    if rises.any() and not schedule.momentum:
        return "unstable", f"the training loss rose at step {rises.argmax() + 1}: lower step_size"
    if found.overflow:
        return "imprecise", f"these paths allow only {found.modes} modes: raise paths"
    for name in ("train_loss", "test_error"):
        unsure = known[name].error > 0.05 * known[name].value
        if unsure.any():
            when = f"from step {unsure.argmax()} on" if unsure[-1] else f"at step {unsure.argmax()}"
            return "imprecise", f"the error of {name} is above 5 per cent {when}: raise paths"
    return "finished", ""
