"""The published way to solve the paper's task: planar rules, one local descent per node, a damped
iteration.

Averages over (ξ_1, ξ_2) and, nested inside, over (η_1, η_2) by a planar rule of degree 7 with 12
nodes for the weight e^{−|x|²}/π, arguments times √2: 144 nodes. The inner problem goes down from z
= (0, 0), to a minimum that need not be the lowest. The overlaps are iterated, 0.8 of the old ones
kept, from fixed starts until q, m and θ move by less than 1e-4. (The authors found test error and
free energy afterwards with planar rules of degree 11; here they come from the 144 nodes too.) For
two tokens, rank one, Σ_l = σ² I, p_1 = −p_2, and A symmetric under the exchange of tokens: then q,
V, θ are the same for both tokens and m_1 = −m_2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..scenario.checks import check_plain
from ..scenario.scenario import Scenario

NODES = 144  # the planar rule nested in itself: 12 × 12
KEPT, SMALL, MOST = 0.8, 1e-4, 300
STARTS = {
    "positional": (0.0207, 0.2, 14.575, 0.0),
    "semantic": (0.907, 0.0002, 14.575, 0.347),
}  # q, m, V, θ


class Task(NamedTuple):
    """The numbers of the paper's task: α, λ, σ², ω and the diagonal entry of A."""

    alpha: float
    ridge: float
    variance: float
    omega: float
    diagonal: float

    @classmethod
    def of(cls, scenario: Scenario) -> Task:
        check_plain("the published method", scenario)
        A = np.asarray(scenario.teacher.values["positional"])
        if scenario.length != 2 or scenario.ranks != (1, 1) or not np.allclose(A, A[::-1, ::-1]):
            raise ValueError(
                "the published method is for the paper's task with A symmetric under exchange of tokens"
            )
        number = scenario.value_of
        return cls(
            number("alpha"), number("lambda"), number("sigma") ** 2, number("omega"), float(A[0, 0])
        )


def published(
    scenario: Scenario, branch: str, inner: Callable[..., np.ndarray] | None = None
) -> tuple[np.ndarray, tuple[float, float], int]:
    """Overlaps (q, m, V, θ) where the published method ends, (ε_g, ε_t) there, and how many
    iterations it took.

    `inner`: `descend` unless given, or `bfgs`, a hundred times slower.
    """
    if branch not in STARTS:
        raise ValueError(
            f"branch: the published method has starts for {' and '.join(STARTS)}, got {branch!r}"
        )
    task, overlaps, inner = Task.of(scenario), np.array(STARTS[branch]), inner or descend
    moved, iterations = np.inf, 0
    while moved >= SMALL and iterations < MOST:
        new = KEPT * overlaps + (1 - KEPT) * _step(task, overlaps, inner)[0]
        moved, overlaps, iterations = np.abs(new - overlaps)[[0, 1, 3]].max(), new, iterations + 1
    return overlaps, _step(task, overlaps, inner)[1], iterations


def _step(
    task: Task, overlaps: np.ndarray, inner: Callable
) -> tuple[np.ndarray, tuple[float, float]]:
    q, m, V, theta = overlaps
    alpha, ridge, variance, omega, diagonal = task
    nodes, weights = _rule()
    xi, eta, rest = nodes[:2], nodes[2:], np.sqrt(variance - theta**2 / q)
    w, u = np.array([[m], [-m]]) + np.sqrt(q) * xi, theta / np.sqrt(q) * xi + rest * eta
    T = (1 - omega) * _own_share(u) + omega * diagonal
    z = inner(w, T, V, variance)
    g = (z - w) / V
    mean = lambda values: float(values @ weights)
    q_hat, m_hat = alpha * mean((g * g).mean(0)), alpha * mean((g[0] - g[1]) / 2)
    theta_hat = alpha * mean((g * eta).mean(0)) / rest
    V_hat = -alpha * mean((g * xi).mean(0)) / np.sqrt(q) + theta_hat * theta / q
    R = 1 / (ridge + 2 * variance * V_hat)
    semantic, positional = 2 * variance * theta_hat, 2 * m_hat
    new_q = variance * R**2 * (2 * variance * q_hat + semantic**2 + positional**2)
    loss = lambda h: variance * ((T - _own_share(h)) ** 2).sum(0)
    errors = mean(loss(w)), alpha * mean(loss(z)) + ridge * q / (2 * variance)
    return np.array([new_q, R * positional, variance * R, variance * R * semantic]), errors


def planar() -> tuple[np.ndarray, np.ndarray]:
    """12 nodes, (2, 12), and weights for two standard normals, exact for polynomials up to degree
    7."""
    far = np.sqrt(3.0)
    nodes, weights = [(far, 0.0), (-far, 0.0), (0.0, far), (0.0, -far)], [1 / 36] * 4
    for sign in (1, -1):
        a = np.sqrt((9 - sign * 3 * np.sqrt(5)) / 8)
        nodes += [(s * a, t * a) for s in (1, -1) for t in (1, -1)]
        weights += [(5 + sign * 2 * np.sqrt(5)) / 45] * 4
    return np.sqrt(2) * np.array(nodes).T, np.array(weights)


@lru_cache(maxsize=1)
def _rule() -> tuple[np.ndarray, np.ndarray]:
    """The planar rule for (ξ_1, ξ_2) with itself nested inside for (η_1, η_2): (4, 144) and (144,)."""
    nodes, weights = planar()
    count = len(weights)
    both = np.vstack([np.repeat(nodes, count, axis=1), np.tile(nodes, count)])
    return both, np.repeat(weights, count) * np.tile(weights, count)


def _own_share(h: np.ndarray) -> np.ndarray:
    """The diagonal of softmax(h hᵀ) for two tokens, s_l = 1/(1 + exp(h_l h_l' − h_l²)); the rest
    follows from it."""
    return 1 / (1 + np.exp(np.clip(h * (h[::-1] - h), -500, 500)))


def bfgs(w: np.ndarray, T: np.ndarray, V: float, variance: float) -> np.ndarray:
    """As published: from (0, 0), one node at a time, by BFGS with finite differences."""
    from scipy.optimize import minimize

    z = np.empty_like(w)
    for n in range(w.shape[1]):
        at = lambda z, n=n: (
            ((z - w[:, n]) ** 2).sum() / (2 * V) + variance * ((T[:, n] - _own_share(z)) ** 2).sum()
        )
        z[:, n] = minimize(at, np.zeros(2)).x
    return z


def descend(w: np.ndarray, T: np.ndarray, V: float, variance: float) -> np.ndarray:
    """The same minima as `bfgs`, all nodes at once: down |z − w|²/(2V) + σ² Σ_l (T_l − s_l(z))²
    from (0, 0), first by short steps, then by damped Newton steps that never go up."""
    cost = lambda z: ((z - w) ** 2).sum(0) / (2 * V) + variance * ((T - _own_share(z)) ** 2).sum(0)
    z = np.zeros_like(w)
    for _ in range(40):
        z = z - 0.2 * V * _slopes(z, w, T, V, variance)[0]
    damping, value = np.full(w.shape[1], 1e-2), cost(z)
    for _ in range(200):
        gradient, own, mixed = _slopes(z, w, T, V, variance)
        own = own + damping
        determinant = own[0] * own[1] - mixed**2
        uphill = (determinant <= 0) | (own[0] <= 0)
        step = -(own[::-1] * gradient - mixed * gradient[::-1]) / np.where(uphill, 1.0, determinant)
        tried = cost(z + np.where(uphill, 0.0, step))
        better = ~uphill & (tried <= value)
        z, value = np.where(better, z + step, z), np.where(better, tried, value)
        damping = np.where(better, damping / 3, damping * 4).clip(1e-9, 1e6)
        if not uphill.any() and np.abs(step).max() < 1e-9:
            break
    return z


def _slopes(
    z: np.ndarray, w: np.ndarray, T: np.ndarray, V: float, variance: float
) -> tuple[np.ndarray, ...]:
    """Gradient (2, N), second derivatives along each z_l (2, N) and the mixed one (N,) of the cost
    that `descend` minimises."""
    s = _own_share(z)
    first, second = (
        s * (1 - s),
        s * (1 - s) * (1 - 2 * s),
    )  # ds/da, d²s/da² of a_l = z_l² − z_l z_l'
    along, across = 2 * z - z[::-1], -z  # ∂a_l/∂z_l, ∂a_l/∂z_l'
    pull, stiff = 2 * variance * (s - T) * first, 2 * variance * (first**2 + (s - T) * second)
    gradient = (z - w) / V + pull * along + (pull * across)[::-1]
    own = 1 / V + stiff * along**2 + 2 * pull + (stiff * across**2)[::-1]
    return gradient, own, (stiff * along * across - pull).sum(0)
