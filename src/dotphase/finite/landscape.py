"""What kind of point a set of weights is, and what lies between two of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.result import Result
from ..scenario.arguments import array, checked, checked_with, whole
from .training.objective import Objective

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False, eq=False)
class Curvature(Result):
    """The bottom of the Hessian's spectrum at a point.

    - `eigenvalues`: the lowest, ascending, (k,);  `residuals`: ‖∇²F v − hv‖ of each, which bounds
      its error.
    - `directions`: the eigenvectors, (k, d, r_s).
    - `gradient_norm`: ‖∇F‖ ‖Q‖/F there: a verdict means something only where it is small.
    - `slack`: ‖∇F‖/‖Q‖, how far from zero a direction that is flat by symmetry may appear, ∇F not
      being exactly zero.
    - `products`: how many products with the Hessian it took.
    """

    eigenvalues: np.ndarray
    residuals: np.ndarray
    directions: np.ndarray
    gradient_norm: float
    slack: float
    products: int

    row = "eigenvalue"

    @property
    def headline(self) -> str:
        return f"{self.verdict}: lowest eigenvalue {self.eigenvalues[0]:.4g}, gradient norm {self.gradient_norm:.1e}"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"value": v, "residual": r}
            for v, r in zip(self.eigenvalues, self.residuals, strict=True)
        ]

    def arrays(self) -> dict[str, Any]:
        return {"directions": (("eigenvalue", "dimension", "column"), self.directions)}

    @property
    def verdict(self) -> str:
        """`"minimum"`, `"saddle"`, or `"flat"` where the lowest eigenvalue cannot be told from
        zero.

        A tied attention of rank above one has flat directions by symmetry, Q → QO: r(r − 1)/2 of
        them.
        """
        if self.gradient_norm > 1e-4:
            return "not stationary"
        error = 3 * (self.residuals[0] + self.slack)
        if self.eigenvalues[0] > error:
            return "minimum"
        return "saddle" if self.eigenvalues[0] < -error else "flat"


@checked_with(weights=array(2), count=whole(most=10**4))
def lowest_curvatures(
    objective: Objective, weights: np.ndarray, count: int = 3, seed: int = 0
) -> Curvature:
    """The lowest `count` eigenvalues of ∇²F(Q), by Lanczos iteration on products with the Hessian
    alone.

    **Arguments**: `objective` F; `weights` Q, (d, r_s); `seed` of the first Lanczos vector.

    **Returns**: a `Curvature`: eigenvalues, vectors and residuals.
    """
    from scipy.sparse.linalg import aslinearoperator, eigsh

    hessian = _Hessian(objective.curvature(weights), weights.shape)
    size, flat = weights.size, aslinearoperator(hessian)
    first = np.random.default_rng(seed).standard_normal(size)
    breadth = min(size, max(40, 4 * count))
    values, vectors = eigsh(flat, k=count, which="SA", v0=first, tol=1e-7, ncv=breadth)  # type: ignore[arg-type]
    order = np.argsort(values)
    values, vectors = values[order], vectors[:, order]
    residuals = np.array(
        [np.linalg.norm(flat @ v - h * v) for h, v in zip(values, vectors.T, strict=True)]
    )
    value, gradient = objective(weights)
    norm = objective.relative_gradient(weights, value, gradient)
    slack = float(np.linalg.norm(gradient)) / max(1.0, float(np.linalg.norm(weights)))
    return Curvature(
        values, residuals, vectors.T.reshape(count, *weights.shape), norm, slack, hessian.products
    )


class _Hessian:
    """Products with the Hessian, for whoever asks in flat vectors, and how many there were."""

    def __init__(self, product: Callable, shape: tuple[int, ...]) -> None:
        self.product, self.inner = product, shape
        self.shape, self.dtype = (int(np.prod(shape)),) * 2, np.dtype(np.float64)
        self.products = 0

    def matvec(self, v: np.ndarray) -> np.ndarray:
        self.products += 1
        return self.product(v.reshape(self.inner)).ravel()


@dataclass(frozen=True, repr=False, eq=False)
class Path(Result):
    """Weights on the way from one point to another.

    - `position`: from 0 to 1, (k,);  `loss`: F/d there, (k,);  `weights`: (k, d, r_s).
    - `distance`: ‖Q_b − Q_a‖/√d between the ends.
    """

    position: np.ndarray
    loss: np.ndarray
    weights: np.ndarray
    distance: float

    row, curve = "point", True

    @property
    def headline(self) -> str:
        return f"a path of {len(self.position)} points, length {self.distance:.4g}, barrier {self.barrier:.4g}"

    def rows(self) -> list[dict[str, Any]]:
        return [{"position": p, "loss": l} for p, l in zip(self.position, self.loss, strict=True)]

    def arrays(self) -> dict[str, Any]:
        return {"weights": (("point", "dimension", "column"), self.weights)}

    def plot(self) -> Figure:
        """The loss along the way."""
        from ..plotting.quick import draw_path

        return draw_path(self)

    @property
    def barrier(self) -> float:
        """The highest loss on the way, minus that of the higher end: an upper bound on the
        lowest barrier."""
        return float(self.loss.max() - max(self.loss[0], self.loss[-1]))


@checked_with(first=array(2), last=array(2))
def straight_path(
    objective: Objective, first: np.ndarray, last: np.ndarray, points: int = 41
) -> Path:
    """The straight line between two sets of weights, the second turned towards the first if that is
    free.

    Weights related by a symmetry of the student (Q → −Q; Q → QO for a tied attention) are the same
    function, so `last` is first multiplied by the orthogonal matrix that brings it nearest,
    provided F does not change.

    **Returns**: a `Path`.
    """
    last = nearest_image(objective, first, last)
    position = np.linspace(0.0, 1.0, points)
    return _path(objective, np.stack([(1 - t) * first + t * last for t in position]))


@checked
def relaxed_path(objective: Objective, path: Path, steps: int = 100, rate: float = 0.5) -> Path:
    """The path after sliding downhill, ends fixed and points kept equidistant (the string method).

    Towards a lowest path, whose highest point is a saddle: an upper bound on the barrier that falls
    with `steps`.

    **Arguments**: `path` to begin with; `steps` of length `rate` down the gradient.

    **Returns**: a `Path` with the same ends.
    """
    weights = path.weights.copy()
    for _ in range(steps):
        for k in range(1, len(weights) - 1):
            weights[k] -= rate * objective(weights[k])[1]
        weights = _equidistant(weights)
    return _path(objective, weights)


@checked_with(anchor=array(2), weights=array(2))
def nearest_image(objective: Objective, anchor: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Q O with O the orthogonal matrix that brings Q nearest to `anchor`, if F(QO) = F(Q); else Q.

    **Returns**: weights of the same shape.
    """
    left, _, right = np.linalg.svd(weights.T @ anchor)
    turned = weights @ (left @ right)
    before, after = objective(weights)[0], objective(turned)[0]
    return turned if abs(after - before) <= 1e-10 * abs(before) else weights


def _path(objective: Objective, weights: np.ndarray) -> Path:
    steps = np.linalg.norm(np.diff(weights, axis=0), axis=(1, 2))
    position = np.concatenate([[0.0], np.cumsum(steps)]) / max(steps.sum(), np.finfo(float).tiny)
    loss = np.array([objective(point)[0] for point in weights]) / objective.dimension
    distance = float(np.linalg.norm(weights[-1] - weights[0])) / np.sqrt(objective.dimension)
    return Path(position, loss, weights, distance)


def _equidistant(weights: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(np.diff(weights, axis=0), axis=(1, 2))
    position = np.concatenate([[0.0], np.cumsum(lengths)])
    targets = np.linspace(0.0, position[-1], len(weights))
    below = np.clip(np.searchsorted(position, targets, side="right") - 1, 0, len(weights) - 2)
    share = ((targets - position[below]) / np.maximum(lengths[below], np.finfo(float).tiny))[
        :, None, None
    ]
    return (1 - share) * weights[below] + share * weights[below + 1]
