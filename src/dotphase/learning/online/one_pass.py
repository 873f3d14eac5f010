"""`one_pass(scenario, start, rate, until)`: what stochastic gradient descent finds when no sample
is seen twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...numerics.progress import Progress, reporting
from ...numerics.rules import Rule, pooled
from ...results.estimate import Estimate
from ...results.json import plain
from ...results.result import Result
from ...scenario.arguments import checked
from ...scenario.distribution import Distribution
from ...scenario.scenario import Scenario
from ...scenario.validation import shown
from .decomposition import Decomposition, Start, as_start, at_dimension, conserved, overlaps_of
from .equations import Equations, Step

OUTCOMES = {
    "finished": "integrated up to the last time asked for",
    "diverged": "the weights grew beyond all bounds: the rate is too high",
    "stalled": "the integrator could not make the step it needed",
    "stopped": "the evaluations allowed did not suffice for the last time asked for",
}
LARGEST = 1e4  # of q in units of the tokens' variance: far beyond what still learns
EVALUATIONS = 20_000  # of the right-hand side: half a minute


@dataclass(frozen=True, repr=False, eq=False)
class OnePass(Result):
    """One-pass learning as d → ∞, at times t = steps/d.

    - `times`, (T,): as far as it got; `q`, `m`, `theta`: per token with a first axis over times,
      values ± errors of the Gaussian average; `test_error`: ε_g.
    - `decomposition`: what the weights are made of at these times, by replicate of the rule, (T, R, …).
    - `outcome`: a word of `OUTCOMES`; `reason`: why, when it is not "finished".
    """

    scenario: Scenario
    start: str
    step: Step
    times: np.ndarray
    q: Estimate
    m: Estimate
    theta: Estimate
    test_error: Estimate
    decomposition: Decomposition
    outcome: str
    reason: str
    evaluations: int
    seconds: float = field(compare=False)

    row = "time"

    @property
    def headline(self) -> str:
        head = f"one pass from {self.start}, η = {self.step.rate:g}, λ₁ = {self.step.ridge:g}: {self.outcome}"
        return head + (f" ({self.reason})" if self.reason else "")

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"time": float(time), "test_error": self.test_error[k]}
            for k, time in enumerate(self.times)
        ]

    def arrays(self) -> dict[str, Any]:
        names = {"q": ("row", "column"), "m": ("row",), "theta": ("row", "column")}
        return {
            name: (("time", "token", *axes), getattr(self, name).value)
            for name, axes in names.items()
        }

    @property
    def mechanism(self) -> str:
        """What has been learnt at the end: the larger of |m| and |θ|/ρ, or uninformed where neither
        is above 0.01."""
        m, theta = (
            np.abs(self.m.value[-1]).max(),
            np.abs(self.theta.value[-1]).max() / self.scenario.distribution.rho.max(),
        )
        return "uninformed" if max(m, theta) < 0.01 else "semantic" if theta > m else "positional"

    def to_dict(self) -> dict[str, Any]:
        names = (
            "start",
            "outcome",
            "reason",
            "mechanism",
            "evaluations",
            "times",
            "q",
            "m",
            "theta",
            "test_error",
        )
        answer = {name: plain(getattr(self, name)) for name in names}
        return (
            {"rate": self.step.rate, "ridge": self.step.ridge}
            | answer
            | {"seconds": round(self.seconds, 4)}
        )

    def __str__(self) -> str:
        end = f"at t = {self.times[-1]:g}: {self.mechanism}, test error {self.test_error[-1]}"
        return f"{self.headline}\n{end}"


@checked
def one_pass(
    scenario: Scenario,
    start: str | Start | Decomposition = "random",
    rate: float = 10.0,
    until: ArrayLike = 100.0,
    *,
    ridge: float | None = None,
    d: int | None = None,
    seed: int = 0,
    rule: Rule | None = None,
    distribution: Distribution | None = None,
    rtol: float = 1e-6,
    max_evaluations: int = EVALUATIONS,
    progress: Progress = None,
) -> OnePass:
    """Integrate the equations of one-pass learning.

    **Arguments**

    - `start`: semantic (Q = Q*), positional (Q = √d p_1), random (Q_i ~ 0.1 N(0, 1)), a `Start` or
      a `Decomposition`.
    - `rate`: η, the step on ℓ_μ + (λ₁/2d)‖Q‖².
    - `until`: t = samples/d at the end, or the increasing times to answer at, from 0.
    - `ridge`: λ₁; λ/α unless given, so that αd samples carry the same ridge as in training.
    - `d`, `seed`: give the noise of the start the overlaps of order 1/√d it has at this d; without
      them a random start stays at m = θ = 0 for ever.
    - `rule`: of the Gaussian averages; `distribution`: of the directions, if not the scenario's; `rtol`: of
      the integrator; `max_evaluations`: the most it makes, with the outcome "stopped" after that.

    **Returns**: a `OnePass`: overlaps and test error at each of its `times`.

    **Example**: `one_pass(paper(omega=0.3), Start(semantic=0.3, noise=0.3),
    rate=20).test_error[-1]`
    """
    begin = perf_counter()
    times, step = times_of(until), step_of(scenario, rate, ridge)
    equations = Equations(scenario, rule, distribution)
    first = start if isinstance(start, Decomposition) else as_start(start).decomposition(scenario)
    if d is not None:
        first = at_dimension(first, equations.distribution, d, seed)
    begun = equations.repeated(first)
    solved = integrate(equations, begun, step, times, rtol, max_evaluations, progress)
    name = "given weights" if isinstance(start, Decomposition) else str(start)
    return _answer(equations, name, step, solved, begin)


@dataclass(frozen=True, eq=False)
class Integrated:
    """`times` reached, the `decomposition` there, how it ended, and how many `evaluations` that took."""

    times: np.ndarray
    decomposition: Decomposition
    outcome: str
    reason: str
    evaluations: int


def integrate(
    equations: Equations,
    first: Decomposition,
    step: Step,
    times: np.ndarray,
    rtol: float = 1e-6,
    max_evaluations: int = EVALUATIONS,
    progress: Progress = None,
) -> Integrated:
    """The solution of the equations at `times` from the decomposition `first`, (R, …)."""
    from scipy.integrate import RK45

    shapes = [part.shape for part in first]
    pack = lambda decomposition: np.concatenate([np.ravel(part) for part in decomposition])
    cut = int(np.prod(shapes[0]))
    unpack = lambda x: Decomposition(x[:cut].reshape(shapes[0]), x[cut:].reshape(shapes[1]))
    kept = conserved(equations.scenario, first)
    still = lambda velocity: Decomposition(
        velocity.shares * kept.shares, velocity.noise * kept.noise
    )
    slope = lambda t, x: pack(still(equations.velocity(unpack(x), step)))
    end = float(times[-1])
    solver = RK45(slope, 0.0, pack(first), end, rtol=rtol, atol=1e-3 * rtol)
    found, outcome, reason = [pack(first)], "finished", ""
    with reporting(progress, "one pass, per cent", 100) as report:
        while solver.status == "running" and outcome == "finished":
            message = solver.step()
            if solver.status == "failed":
                outcome, reason = "stalled", str(message)
            elif not np.abs(solver.y).max() < LARGEST:
                outcome, reason = "diverged", f"lower the rate ({step.rate:g})"
            else:
                between = solver.dense_output()
                found += [between(t) for t in times[len(found) :] if t <= solver.t]
                report(int(100 * solver.t / end), f"t = {solver.t:.4g}")
                if solver.nfev >= max_evaluations and solver.status == "running":
                    outcome = "stopped"
                    reason = (
                        f"{max_evaluations} evaluations reach t = {solver.t:.4g} of {end:g}: "
                        "raise max_evaluations (--evaluations)"
                    )
                    times = np.append(times[: len(found)], solver.t)
                    found.append(solver.y)
    rows = [unpack(x) for x in found]
    decomposition = Decomposition(*(np.stack(part) for part in zip(*rows, strict=True)))
    return Integrated(times[: len(found)], decomposition, outcome, reason, int(solver.nfev))


def _answer(
    equations: Equations, name: str, step: Step, solved: Integrated, begin: float
) -> OnePass:
    rule, length = equations.rule, equations.scenario.length
    at = [
        equations.averages(Decomposition(*parts))
        for parts in zip(*solved.decomposition, strict=True)
    ]
    along = lambda values: pooled(rule, np.moveaxis(np.asarray(values), 1, 0))  # of (T, R, …)
    q, m, theta = map(along, overlaps_of(solved.decomposition, equations.distribution))
    error = along([2 * each.loss / length for each in at])
    ending = (
        solved.decomposition,
        solved.outcome,
        solved.reason,
        solved.evaluations,
        perf_counter() - begin,
    )
    return OnePass(equations.scenario, name, step, solved.times, q, m, theta, error, *ending)


def times_of(until: ArrayLike) -> np.ndarray:
    times = np.asarray(until, float)
    times = np.linspace(0.0, times, 101) if times.ndim == 0 else times
    rising = times.ndim == 1 and len(times) > 1 and (np.diff(times) > 0).all()
    if not rising or not np.isfinite(times).all() or times[0] != 0:
        raise ValueError(
            f"until: expected a positive time or increasing times from 0, got {shown(until)}"
        )
    return times


def step_of(scenario: Scenario, rate: float, ridge: float | None) -> Step:
    ridge = scenario.ridge / scenario.sample_ratio if ridge is None else ridge
    if not (np.isfinite(ridge) and ridge >= 0):
        raise ValueError(f"ridge: λ₁ must be zero or positive, got {ridge!r}")
    return Step(float(rate), float(ridge))
