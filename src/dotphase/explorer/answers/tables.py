"""Tables of both branches over α and ω, for the page that has no server.

    python -m dotphase.explorer.answers.tables

computes them (half an hour) and writes `data/tables.json`. The softmax student has planes at
several σ and λ, for the minima that training reaches at several λ; the other students at the
paper's. Within a plane the page interpolates linearly; how far that is off is measured here, at
random points, and stored with the tables. Between planes it does not: at random σ and λ half of the
test errors would be off by a fifth.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from ...theory.baseline import linear_baseline
from .shipped import TABLES, versions
from .task import STUDENTS, Task
from .work import BRANCHES, described, solved

ALPHAS = [round(0.1 * k, 6) for k in range(1, 31)]
OMEGAS = [round(0.05 * k, 6) for k in range(11)]
SIGMAS, RIDGES = (0.3, 0.5, 0.8), (0.003, 0.01, 0.03)
NODES = 2**15  # of the Gaussian averages
VALUES = ("train_loss", "test_error", "m", "theta", "q")
ERRORS = ("train_loss", "test_error", "m", "theta")
MISSING = 65535  # the code of a branch that does not exist; values take the codes below it


def main(tell: Callable[[str], None] = print) -> None:
    planes = []
    for number, (student, sigma, ridge, minimum) in enumerate(planned()):
        planes.append(plane(student, sigma, ridge, minimum))
        tell(f"{number + 1}: {student}, sigma {sigma}, lambda {ridge}, {minimum}")
    tables = {
        "alpha": ALPHAS,
        "omega": OMEGAS,
        "values": VALUES,
        "errors": ERRORS,
        "missing": MISSING,
        "planes": planes,
        "interpolation": interpolation(planes),
        "provenance": {"nodes": NODES, **versions()},
    }
    TABLES.write_text(json.dumps(tables, separators=(",", ":")) + "\n", encoding="utf-8")


def planned() -> Iterable[tuple[str, float, float, str]]:
    """The planes: student, σ, λ and theory. `tempered` is softmax here, at its default."""
    for sigma, ridge in product(SIGMAS, RIDGES):
        yield "softmax", sigma, ridge, "lowest"
    for ridge in RIDGES:
        yield "softmax", 0.5, ridge, "reached"
    for student in STUDENTS:
        if student not in ("softmax", "tempered"):
            yield student, 0.5, 0.01, "lowest"


def plane(student: str, sigma: float, ridge: float, minimum: str) -> dict[str, Any]:
    """Both branches at every α and ω, coded; and the linear baseline at every ω."""
    at = Task.model_validate({"student": student, "sigma": sigma, "lambda": ridge})
    numbers = np.full((len(BRANCHES), len(VALUES) + len(ERRORS), len(OMEGAS), len(ALPHAS)), np.nan)
    baselines = []
    for i, omega in enumerate(OMEGAS):
        task = at.at(omega=omega)
        found = [
            [solved(task.at(alpha=alpha), branch, NODES, minimum) for branch in BRANCHES]
            for alpha in ALPHAS
        ]
        for j, pair in enumerate(found):
            for k, solution in enumerate(pair):
                numbers[k, :, i, j] = _numbers(described(solution)["numbers"])
        baselines.append(float(linear_baseline(task.scenario()).test_error.value))
    return {
        **{"student": student, "sigma": sigma, "lambda": ridge, "minimum": minimum},
        **coded(numbers),
        "baseline": [float(f"{value:.6g}") for value in baselines],
    }


def _numbers(described: dict[str, Any] | None) -> list[float]:
    if described is None:
        return [np.nan] * (len(VALUES) + len(ERRORS))
    return [described[name]["value"] for name in VALUES] + [
        described[name]["error"] for name in ERRORS
    ]


def coded(numbers: np.ndarray) -> dict[str, Any]:
    """Two bytes for each number: its share of the largest of its quantity (`scales`)."""
    largest = np.nanmax(np.where(np.isfinite(numbers), numbers, 0.0), axis=(0, 2, 3))
    scales = [float(f"{scale:.8g}") or 1.0 for scale in largest / (MISSING - 1) * (1 + 1e-7)]
    shares = numbers / np.array(scales)[None, :, None, None]
    codes = np.where(np.isfinite(numbers), np.round(shares), MISSING).astype("<u2")
    return {"scales": scales, "codes": base64.b64encode(codes.tobytes()).decode()}


def decoded(plane: dict[str, Any]) -> np.ndarray:
    """(branch, values and errors, ω, α), NaN where a branch does not exist."""
    shape = (len(BRANCHES), len(VALUES) + len(ERRORS), len(OMEGAS), len(ALPHAS))
    codes = np.frombuffer(base64.b64decode(plane["codes"]), "<u2").reshape(shape)
    numbers = codes * np.array(plane["scales"])[None, :, None, None]
    return np.where(codes == MISSING, np.nan, numbers)


def interpolation(planes: list[dict[str, Any]], points: int = 60) -> dict[str, Any]:
    """How far linear interpolation in α and ω is off, at random points of random planes: the median
    and the 90th percentile of the relative difference of ε_g to a solve on the same nodes."""
    from scipy.interpolate import RegularGridInterpolator

    rng, off = np.random.default_rng(0), []
    for _ in range(points):
        chosen = planes[rng.integers(len(planes))]
        numbers = {name: chosen[name] for name in ("student", "sigma", "lambda")}
        omega, alpha = rng.uniform(0, 0.5), rng.uniform(0.2, 3)
        task = Task.model_validate({**numbers, "alpha": alpha, "omega": omega})
        for k, branch in enumerate(BRANCHES):
            table = decoded(chosen)[k, VALUES.index("test_error")]
            guess = float(RegularGridInterpolator((OMEGAS, ALPHAS), table)((omega, alpha)))
            exact = described(solved(task, branch, NODES, chosen["minimum"]))["numbers"]
            if exact is not None and np.isfinite(guess):
                off.append(abs(guess / exact["test_error"]["value"] - 1))
    rounded = lambda share: float(f"{np.quantile(off, share):.2g}")
    return {"median": rounded(0.5), "most": rounded(0.9), "points": len(off)}


if __name__ == "__main__":
    main()
