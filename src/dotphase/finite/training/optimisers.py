"""Ways down: gradient descent, Adam and L-BFGS, each a small frozen object with one method.

Gradient descent and Adam are optax's. L-BFGS is written here, because others do not end where ours
does: from six starts (d = 300, `python -m benchmarks.descents`) scipy's stops at gradient norms of
2e-8 to 2e-7, where F no longer resolves the difference, after up to twice as many evaluations;
optax's needs as many as ours, but wants the objective inside its compiled line search, which has to
be compiled for every shape of the data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ...scenario.arguments import checked
from ...scenario.validation import finite_number, whole_number
from .objective import Objective

Watch = Callable[[int, np.ndarray, float], None]


class Descent(NamedTuple):
    """Where an optimiser ended.

    - `weights`, `value`, `gradient_norm`: Q, F(Q) and the relative gradient norm there.
    - `steps`, `evaluations`: of the weights, and of F with its gradient.
    - `outcome`: `"converged"`, `"stopped"` (still going down) or `"diverged"`; `reason` says it in
      words.
    """

    weights: np.ndarray
    value: float
    gradient_norm: float
    steps: int
    evaluations: int
    outcome: str
    reason: str


class Optimiser(Protocol):
    def minimise(
        self, objective: Objective, start: np.ndarray, watch: Watch | None = None
    ) -> Descent: ...


@checked
@dataclass(frozen=True)
class GradientDescent:
    """Full-batch gradient descent, Q ← Q − η ∇F(Q).

    **Arguments**: `rate` η; `steps`, the most that are taken; `tolerance` on the relative gradient
    norm.
    """

    rate: float = 0.15
    steps: int = 5000
    tolerance: float = 1e-8

    def minimise(
        self, objective: Objective, start: np.ndarray, watch: Watch | None = None
    ) -> Descent:
        import optax

        return _iterate(self, objective, start, watch, optax.sgd(self.rate))


@checked
@dataclass(frozen=True)
class Adam:
    """Full-batch Adam: Q ← Q − η M̂/(√Ŵ + ε), M̂ and Ŵ the bias-corrected running means of ∇F and
    (∇F)².

    **Arguments**: `rate` η; `steps`; `tolerance`; `decay` of the two means.
    """

    rate: float = 0.01
    steps: int = 2500
    tolerance: float = 1e-8
    decay: tuple[float, float] = (0.9, 0.999)

    def __post_init__(self) -> None:
        if len(self.decay) != 2 or not all(0 <= b < 1 for b in self.decay):
            raise ValueError(
                f"decay: expected two numbers of at least 0 and below 1, got {self.decay!r}"
            )

    def minimise(
        self, objective: Objective, start: np.ndarray, watch: Watch | None = None
    ) -> Descent:
        import optax

        return _iterate(self, objective, start, watch, optax.adam(self.rate, *self.decay))


def _iterate(
    method: GradientDescent | Adam, objective: Objective, start: np.ndarray, watch, rule
) -> Descent:
    """Steps of optax's `rule` until the gradient is small, the steps are used up, or F blows up."""
    blown_up = 1e6  # an objective this many times the one at the start is on its way to infinity
    import jax

    weights = start.copy()
    value, gradient = objective(weights)
    ceiling = blown_up * max(value, 1e-300)
    with jax.enable_x64(True):
        state, update = rule.init(weights), jax.jit(rule.update)
        for step in range(method.steps + 1):
            if not np.isfinite(value) or value > ceiling or not np.isfinite(gradient).all():
                reason = f"the objective blew up at step {step}: lower the rate ({method.rate:g})"
                return Descent(weights, value, np.inf, step, step + 1, "diverged", reason)
            if watch is not None:
                watch(step, weights, value)
            norm = objective.relative_gradient(weights, value, gradient)
            if norm <= method.tolerance or step == method.steps:
                return _ended(weights, value, norm, step, step + 1, method.tolerance)
            move, state = update(gradient, state)
            weights = weights + np.asarray(move)
            value, gradient = objective(weights)
    raise AssertionError("unreachable")


def _ended(
    weights, value, norm, steps, evaluations, tolerance, why="the steps are used up"
) -> Descent:
    if norm <= tolerance:
        return Descent(
            weights, value, norm, steps, evaluations, "converged", f"gradient norm {norm:.1e}"
        )
    reason = f"{why}; gradient norm {norm:.1e}, asked for {tolerance:.1e}"
    return Descent(weights, value, norm, steps, evaluations, "stopped", reason)


@checked
@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS: quasi-Newton steps from the last changes of Q and ∇F, with a Wolfe line
    search.

    **Arguments**: `steps`, the most that are taken; `tolerance` on the relative gradient norm;
    `memory`, how many changes are kept; `longest`, the first step's length relative to ‖Q‖.
    """

    steps: int = 2000
    tolerance: float = 1e-8
    memory: int = 20
    longest: float = 0.1

    def __post_init__(self) -> None:
        finite_number("longest", self.longest, above=True)
        whole_number("memory", self.memory)

    def minimise(
        self, objective: Objective, start: np.ndarray, watch: Watch | None = None
    ) -> Descent:
        weights, evaluations = start.copy(), 1
        value, gradient = objective(weights)
        if not np.isfinite(value):
            reason = "the objective is not finite at the start"
            return Descent(weights, value, np.inf, 0, 1, "diverged", reason)
        changes: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=self.memory)
        for step in range(self.steps + 1):
            if watch is not None:
                watch(step, weights, value)
            norm = objective.relative_gradient(weights, value, gradient)
            if norm <= self.tolerance or step == self.steps:
                return _ended(weights, value, norm, step, evaluations, self.tolerance)
            direction = -_apply_inverse(changes, gradient)
            short = self.longest * max(1.0, np.linalg.norm(weights)) / np.linalg.norm(direction)
            found = _wolfe(
                objective, weights, value, gradient, direction, 1.0 if changes else float(short)
            )
            evaluations += found.evaluations
            if found.gradient is None and changes:
                changes.clear()  # the memory misled: start again from the gradient
                continue
            if found.gradient is None:
                why = "no step lowers the objective any further"
                return _ended(weights, value, norm, step, evaluations, self.tolerance, why)
            changes.append((found.length * direction, found.gradient - gradient))
            weights, value, gradient = (
                weights + found.length * direction,
                found.value,
                found.gradient,
            )
        raise AssertionError("unreachable")


def _apply_inverse(changes: deque, gradient: np.ndarray) -> np.ndarray:
    """H ∇F with H the inverse Hessian that the changes (δQ, δ∇F) suggest: the two-loop recursion."""
    r, factors = gradient.copy(), []
    for s, y in reversed(changes):
        a = np.vdot(s, r) / np.vdot(s, y)
        factors.append(a)
        r -= a * y
    if changes:
        s, y = changes[-1]
        r *= np.vdot(s, y) / np.vdot(y, y)
    for (s, y), a in zip(changes, reversed(factors), strict=True):
        r += (a - np.vdot(y, r) / np.vdot(s, y)) * s
    return r


class _Found(NamedTuple):
    length: float
    value: float
    gradient: np.ndarray | None
    evaluations: int


def _wolfe(objective, weights, value, gradient, direction, length: float, most: int = 25) -> _Found:
    """A step t with F(Q + tp) ≤ F + 10⁻⁴ t ∇F·p and ∇F(Q + tp)·p ≥ 0.9 ∇F·p, by bracketing and
    secants.

    Where F no longer resolves the difference (F rises by rounding only), the slopes alone decide.
    """
    slope = float(np.vdot(gradient, direction))
    if not slope < 0:
        return _Found(0.0, value, None, 0)
    low, low_slope, high = 0.0, slope, np.inf
    noise = 1e-13 * abs(value)
    for evaluation in range(1, most + 1):
        new_value, new_gradient = objective(weights + length * direction)
        new_slope = float(np.vdot(new_gradient, direction))
        finite = np.isfinite(new_value) and np.isfinite(new_slope)
        if (
            not finite
            or new_value > value + 1e-4 * length * slope + noise
            or new_slope > -0.9 * slope
        ):
            high = length  # too far
        elif new_slope < 0.9 * slope:
            low, low_slope = length, new_slope  # not far enough
        else:
            return _Found(length, new_value, new_gradient, evaluation)
        length = _next_length(low, low_slope, high, length, new_slope if finite else np.inf)
    return _Found(0.0, value, None, most)


def _next_length(low: float, low_slope: float, high: float, tried: float, slope: float) -> float:
    if high == np.inf:
        return 3 * tried
    if slope > 0 and np.isfinite(slope) and tried == high:
        # The slope changes sign between low and high: the secant's zero, kept off the ends.
        zero = low - low_slope * (high - low) / (slope - low_slope)
        return float(np.clip(zero, low + 0.1 * (high - low), high - 0.1 * (high - low)))
    return (low + high) / 2
