"""The flow of one-pass learning in the plane of the two mechanisms, and where it comes to rest.

Weights Q = a Q* + b √d p_1 without noise stay so under gradient flow on the population loss F(a, b)
= E[ℓ] + (λ₁/2)⟨Q²⟩ (small steps at fixed ηt), where one group of directions and one direction of the
encodings are all there is. So the flow is a picture: rest points, basins, and the line between
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...numerics.rules import GaussHermite, Rule
from ...results.json import plain
from ...results.result import Result
from ...scenario.scenario import Scenario
from .decomposition import Decomposition
from .equations import Equations
from .one_pass import step_of

TINY = 1e-5  # of a finite difference


class RestPoint(NamedTuple):
    """A point where the flow rests: `m` = b p_1·p_1, `theta` = a (θ in units of ρ), both taken
    positive; the population loss there; `kind`: minimum, saddle or maximum; `rates` at which small
    deviations along m, θ and noise grow."""

    m: float
    theta: float
    loss: float
    kind: str
    rates: tuple[float, float, float]

    @property
    def mechanism(self) -> str:
        parts = [
            name for name, size in (("semantic", self.theta), ("positional", self.m)) if size > 1e-3
        ]
        return "uninformed" if not parts else "mixed" if len(parts) == 2 else parts[0]


@dataclass(frozen=True, repr=False, eq=False)
class Plane(Result):
    """The flow per unit of ηt on a grid.

    - `m`, (M,); `theta`, (N,): in units of ρ; `velocity`: of both, (M, N, 2); `loss`: F, (M, N).
    - `basin`: which of `rest` (its minima) the flow leads to, (M, N); −1 where it leaves the grid.
    """

    scenario: Scenario
    ridge: float
    m: np.ndarray
    theta: np.ndarray
    velocity: np.ndarray
    loss: np.ndarray
    rest: tuple[RestPoint, ...]
    basin: np.ndarray

    row = "rest_point"

    @property
    def headline(self) -> str:
        points = ", ".join(f"{point.mechanism} {point.kind}" for point in self.rest)
        return f"flow of one pass in the plane of m and θ: {points or 'no rest point found'}"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"mechanism": p.mechanism, "kind": p.kind, "m": p.m, "theta": p.theta, "loss": p.loss}
            for p in self.rest
        ]

    def arrays(self) -> dict[str, Any]:
        return {
            "flow": (("m", "theta", "direction"), self.velocity),
            "population_loss": (("m", "theta"), self.loss),
            "basin": (("m", "theta"), self.basin),
        }

    def to_dict(self) -> dict[str, Any]:
        rest = [point._asdict() | {"mechanism": point.mechanism} for point in self.rest]
        names = ("ridge", "m", "theta", "velocity", "loss", "basin")
        return {"rest": plain(rest)} | {name: plain(getattr(self, name)) for name in names}


def plane(
    scenario: Scenario,
    m: np.ndarray | None = None,
    theta: np.ndarray | None = None,
    *,
    ridge: float | None = None,
    rule: Rule | None = None,
) -> Plane:
    """The flow on a grid of `m` and `theta` (θ/ρ), both from zero up; the rest is mirror images.

    **Arguments**: `ridge` λ₁, λ/α unless given; `rule` of the Gaussian averages.
    """
    flow = PlaneFlow(scenario, ridge, rule)
    m = np.linspace(0, 0.45, 19) if m is None else np.asarray(m, float)
    theta = np.linspace(0, 1.15, 24) if theta is None else np.asarray(theta, float)
    for name, values in (("m", m), ("theta", theta)):
        if values.ndim != 1 or len(values) < 4 or not (np.diff(values) > 0).all():
            raise ValueError(f"{name}: expected at least four increasing numbers")
    at = np.stack(np.meshgrid(m, theta, indexing="ij"), axis=-1)
    velocity, _, loss = flow(at.reshape(-1, 2))
    velocity, loss = velocity.reshape(at.shape), loss.reshape(at.shape[:2])
    rest = rest_points(flow, (m[-1], theta[-1]))
    return Plane(
        scenario, flow.step.ridge, m, theta, velocity, loss, rest, _basins(m, theta, velocity, rest)
    )


class PlaneFlow:
    """Gradient flow at points (m, θ/ρ), (P, 2): the velocity, how fast noise grows, and F."""

    def __init__(
        self, scenario: Scenario, ridge: float | None = None, rule: Rule | None = None
    ) -> None:
        distribution, gram = scenario.distribution, scenario.distribution.gram
        values = np.linalg.eigvalsh(gram)
        if (
            len(distribution.weight) > 1
            or scenario.ranks != (1, 1)
            or not values[-1] > 0
            or values[:-1].max(initial=0.0) > 1e-9 * values[-1]
        ):
            raise ValueError(
                "plane: needs isotropic tokens, rank one, and encodings along one direction"
            )
        if not gram[0, 0] > 0 or scenario.teacher_weights is not None:
            raise ValueError("plane: needs p_1 ≠ 0 and a teacher drawn from N(0, I)")
        self.scenario, self.gram = scenario, gram
        self.step = step_of(scenario, 1.0, ridge)._replace(scatter=0.0)
        self.equations = Equations(scenario, GaussHermite(10) if rule is None else rule)

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        b, a = points[:, 0] / self.gram[0, 0], points[:, 1]
        shares = np.zeros((len(points), 1, 1, self.scenario.length + 1))
        shares[:, 0, 0, 0], shares[:, 0, 0, -1] = b, a
        # A trace of noise shows how fast noise grows; it is far too small to be seen by the
        # averages.
        noise = np.full((len(points), 1, 1, 1), TINY**2)
        moved, loss = self.equations.velocities(Decomposition(shares, noise), self.step)
        drift = np.stack(
            [moved.shares[:, 0, 0, :-1] @ self.gram[0], moved.shares[:, 0, 0, -1]], axis=1
        )
        square = a**2 + b**2 * self.gram[0, 0]
        return drift, moved.noise[:, 0, 0, 0] / (2 * TINY**2), loss + 0.5 * self.step.ridge * square


def rest_points(
    flow: PlaneFlow, corner: tuple[float, float], starts: int = 5
) -> tuple[RestPoint, ...]:
    """Points where the flow rests, found by Newton's method from a grid of `starts`² points up to
    `corner`."""
    from scipy.optimize import root

    grid = np.stack(np.meshgrid(*(np.linspace(0, end, starts) for end in corner)), axis=-1).reshape(
        -1, 2
    )
    found: list[np.ndarray] = []
    for start in grid:
        end = root(
            lambda x: flow(x[None])[0][0], start, jac=lambda x: _jacobian(flow, x), tol=1e-12
        )
        x = np.abs(end.x)
        inside = (x <= 1.5 * np.array(corner)).all() and np.abs(flow(x[None])[0]).max() < 1e-8
        if inside and all(np.abs(x - other).max() > 1e-4 for other in found):
            found.append(np.where(x < 1e-7, 0.0, x))
    return tuple(sorted((_rest_point(flow, x) for x in found), key=lambda point: point.loss))


def _rest_point(flow: PlaneFlow, x: np.ndarray) -> RestPoint:
    _, noise, loss = flow(x[None])
    rates = np.linalg.eigvals(_jacobian(flow, x)).real
    along = (*np.sort(rates)[::-1].tolist(), float(noise[0]))
    kind = "minimum" if max(along) < 0 else "maximum" if min(along) > 0 else "saddle"
    return RestPoint(float(x[0]), float(x[1]), float(loss[0]), kind, along)


def _jacobian(flow: PlaneFlow, x: np.ndarray) -> np.ndarray:
    """∂(dm/dt, dθ/dt)/∂(m, θ) by central differences."""
    steps = TINY * np.eye(2)
    drift = flow(np.concatenate([x + steps, x - steps]))[0]
    return ((drift[:2] - drift[2:]) / (2 * TINY)).T


def _basins(
    m: np.ndarray, theta: np.ndarray, velocity: np.ndarray, rest: tuple[RestPoint, ...]
) -> np.ndarray:
    """Where the flow from every node leads, by following its interpolation."""
    from scipy.interpolate import RectBivariateSpline

    along = [RectBivariateSpline(m, theta, velocity[:, :, k]) for k in range(2)]
    minima = [k for k, point in enumerate(rest) if point.kind == "minimum"]
    at = np.stack(np.meshgrid(m, theta, indexing="ij"), axis=-1).reshape(-1, 2)
    scale = np.array([m[-1], theta[-1]])
    for _ in range(4000):
        speed = np.stack([spline.ev(at[:, 0], at[:, 1]) for spline in along], axis=1)
        length = np.abs(speed / scale).max(1, keepdims=True)
        at = np.clip(at + speed * np.minimum(5.0, 0.004 / np.maximum(length, 1e-300)), 0, scale)
    basin = np.full(len(at), -1)
    for k in minima:
        basin[np.abs((at - [rest[k].m, rest[k].theta]) / scale).max(1) < 0.03] = k
    return basin.reshape(velocity.shape[:2])
