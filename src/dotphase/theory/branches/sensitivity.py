"""Derivatives of what the theory predicts with respect to the scenario's numbers, through the fixed
point.

At a fixed point F(x, p) = 0, and an observable is ε(x, p). With J = ∂F/∂x (jumps of the prox
included) the implicit function theorem gives

    dx/dp = −J⁻¹ ∂F/∂p,      dε/dp = ∂ε/∂p + ∂ε/∂x · dx/dp.

∂F/∂p and ∂ε/∂p are central differences of one map evaluation at fixed x, whose inner minima are
followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...numerics.precision import in_double
from ...numerics.progress import Progress, counting
from ...numerics.rules import Sobol
from ...results.estimate import Estimate
from ...results.result import Result
from ...results.statistics import over_seeds
from ...scenario.arguments import check_varied, checked
from ...scenario.scenario import ALIASES, Scenario
from ..solver.errors import solve_off_gauge
from ..solver.solution import Solution, SolveError
from ..solver.solve import Minimum, Start, solve
from ..stability.linearised import Linearised, linearise
from .continuation import Follower

PARAMETERS = ("sample_ratio", "ridge", "mixing", "token_deviation")
SEEDS = 4  # independent node sets, whose scatter is the error of a derivative


@dataclass(frozen=True, repr=False, eq=False)
class Sensitivity(Result):
    """dε_g/dp and dε_t/dp of one parameter p."""

    test_error: Estimate
    train_loss: Estimate


@checked
def sensitivities(
    solution: Solution, parameters: Iterable[str] = PARAMETERS, rule: Sobol | None = None
) -> dict[str, Sensitivity]:
    """How test error and training loss of a branch move with each parameter.

    **Arguments**

    - `solution`: the branch at which they are taken.
    - `parameters`: names as `Scenario.vary` takes them.
    - `rule`: nodes; the derivatives are means over four scrambles of it, the errors their standard
      errors.

    **Returns**: a dict from each parameter to its `Sensitivity`, the derivatives with errors.

    **Example**

        sensitivities(dotphase.solve(dotphase.paper(alpha=2), "semantic"))["sample_ratio"].test_error
    """
    rule = rule or (solution.rule if isinstance(solution.rule, Sobol) else Sobol())
    names = list(parameters)
    for name in names:
        check_varied({"scenario": solution.scenario, "parameters": name})
    rows = []
    for seed in range(SEEDS):
        at = linearise(solution, replace(rule, seed=rule.seed + seed))
        rows.append([derivative(at, name) for name in names])
    found = over_seeds(rows)  # of test error and training loss, (parameters, 2)
    return {name: Sensitivity(found[k, 0], found[k, 1]) for k, name in enumerate(names)}


@in_double
def derivative(at: Linearised, parameter: str) -> np.ndarray:
    """dε_g/dp and dε_t/dp at a linearised fixed point, (2,), on its nodes."""
    step = 1e-3  # of the central difference, relative: its error is of the order of the square
    scenario, evaluator, point = at.solution.scenario, at.evaluator, at.point
    p = scenario.value_of(parameter)
    # ω ends at one: there the difference must not step outside.
    h = step * (min(p, 1 - p) if ALIASES.get(parameter, parameter) == "mixing" else p) or step
    try:
        beside = [scenario.vary(**{parameter: value}) for value in (p + h, p - h)]
    except ValueError:
        raise ValueError(
            f"{parameter}: is {p:g}, the end of its range, where only a one-sided derivative exists"
        ) from None
    sides = [evaluator.with_values(side)(point.x, point.minima) for side in beside]
    along_F = (sides[0].change - sides[1].change) / (2 * h)
    along_observables = (sides[0].observables - sides[1].observables) / (2 * h)
    dx = -solve_off_gauge(point.slope, along_F, point.gauge)
    return along_observables + dx @ point.observable_slope


@dataclass(frozen=True, repr=False, eq=False)
class OptimalRidge(Result):
    """The ridge of least test error on a branch.

    - `ridge`: λ, ± its error over node sets; `solution`: the branch there.
    - `outcome`: "interior"; or "lower end" or "upper end" of the interval, towards which the test
      error still falls; or "branch ends" where the branch does not exist any further.
    """

    ridge: Estimate
    solution: Solution
    outcome: str

    @property
    def headline(self) -> str:
        return f"least test error at λ = {self.ridge} ({self.outcome}): {self.solution.headline}"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {**row, "ridge": self.ridge, "optimum": self.outcome} for row in self.solution.rows()
        ]


@checked
def optimal_ridge(
    scenario: Scenario,
    start: Start = "semantic",
    between: tuple[float, float] = (1e-5, 1.0),
    *,
    rule: Sobol | None = None,
    minimum: Minimum = None,
    progress: Progress = None,
) -> OptimalRidge:
    """The λ at which a branch's test error is least: dε_g/dλ = 0, found from the scenario's own λ
    downhill.

    **Arguments**: `scenario`, `start`, `minimum` and `rule` as in `solve`; `between`: where to look
    for λ, above zero; `progress`, True for a bar, or a function called with the number of solves so
    far and None.

    **Returns**: an `OptimalRidge`: the ridge, and the test error there. Where the branch does not
    exist at the scenario's own λ, `SolveError` is raised.

    **Example**

        optimal_ridge(dotphase.paper(alpha=2, omega=0.3), "semantic").ridge
    """
    if between[0] <= 0:
        raise ValueError(
            f"between: λ is looked for above zero, on a logarithmic scale, got {between}"
        )
    rule, roots, outcome = rule or Sobol(2**13), [], "interior"
    with counting(progress, "optimal ridge") as tried:
        for seed in range(SEEDS):
            branch = Follower(start, replace(rule, seed=rule.seed + seed), None, minimum)
            root, outcome = _optimum(scenario, branch, between, tried)
            roots.append(root)
            if outcome != "interior":
                break
    log = over_seeds(np.log(roots).tolist())
    ridge = float(np.exp(log.value))
    error = ridge * log.error
    there = solve(scenario.vary(ridge=ridge), start, rule=rule, rtol=None, minimum=minimum)
    return OptimalRidge(Estimate(ridge, error), there, outcome)


def _optimum(
    scenario: Scenario,
    branch: Follower,
    between: tuple[float, float],
    tried: Callable[[], None],
) -> tuple[float, str]:
    """Walk downhill in log λ by factors of two until the slope changes sign, then find its root
    there."""
    from scipy.optimize import brentq

    def slope(log_ridge: float) -> float:
        ridge = float(np.exp(log_ridge))
        solution = branch(scenario.vary(ridge=ridge))
        tried()
        if solution.outcome != "converged":
            raise SolveError(
                f"{solution.branch}: {solution.outcome} at λ = {ridge:.4g}: {solution.reason}"
            )
        return float(derivative(linearise(solution), "ridge")[0]) * solution.scenario.ridge

    low, high = np.log(between)
    here = float(np.clip(np.log(scenario.ridge) if scenario.ridge > 0 else low, low, high))
    value = slope(here)
    while True:
        there = float(np.clip(here - np.sign(value) * np.log(2), low, high))
        if there == here:
            return float(np.exp(here)), "lower end" if here == low else "upper end"
        try:
            beyond = slope(there)
        except SolveError:
            return float(np.exp(here)), "branch ends"
        if beyond * value <= 0:
            root: Any = brentq(slope, min(here, there), max(here, there), xtol=1e-3)
            return float(np.exp(root)), "interior"
        here, value = there, beyond
