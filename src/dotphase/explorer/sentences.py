"""What attention looks at: one random sentence through teacher and students, and one sample's inner problem.

As d → ∞ all that a sentence is to an attention are its fields, jointly normal: u for the teacher, h for a student with

    E[h_l | u] = m_l + θ_l ρ_l⁻¹ u_l,    Cov[h_l | u] = q_l − θ_l ρ_l⁻¹ θ_lᵀ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..estimate import plain
from ..precision import in_double
from ..scenario import Scenario
from ..theory import Solution
from ..theory.solution import USABLE

SIDE, COARSE = 61, 25  # points along each side of a landscape, and of those searched for one with two minima
CANDIDATES = 1500  # samples that are searched
TWO_TOKENS = "the inner problem can be drawn for students of rank one"


def look(students: Mapping[str, Solution], seed: int) -> dict[str, Any]:
    """The attention matrices of teacher and students on one sentence; null for a student that there is not."""
    scenario = next(iter(students.values())).scenario
    u, noise = _sentence(scenario, np.random.default_rng(seed))
    shown = {"teacher": {"fields": plain(u), "attention": plain(_matrix(scenario.teacher, u))}}
    for name, solution in students.items():
        shown[name] = _seen(solution, u, noise) if solution.outcome in USABLE else None  # type: ignore[assignment]
    return shown


def _sentence(scenario: Scenario, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The teacher's fields u, (L, r_t), and standard normals (L, r_s) for what a student sees beyond them."""
    r_s, r_t = scenario.ranks
    roots = np.linalg.cholesky(scenario.law.rho)
    u = np.einsum("lab,lb->la", roots, rng.standard_normal((scenario.length, r_t)))
    return u, rng.standard_normal((scenario.length, r_s))


def _seen(solution: Solution, u: np.ndarray, noise: np.ndarray) -> dict[str, Any]:
    h = _fields(solution, u, noise)
    return {"fields": plain(h), "attention": plain(_matrix(solution.scenario.student, h))}


def _fields(solution: Solution, u: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """h given u, as above; arrays (L, r, …)."""
    rho, (q, _, m, theta) = solution.scenario.law.rho, solution.overlaps
    gain = theta @ np.linalg.inv(rho)
    rest = q - gain @ np.swapaxes(theta, 1, 2)
    values, vectors = np.linalg.eigh(rest)
    root = vectors * np.sqrt(np.maximum(values, 0))[:, None]
    mean = m.reshape(*m.shape, *([1] * (u.ndim - 2)))
    return mean + np.einsum("lab,lb...->la...", gain, u) + np.einsum("lab,lb...->la...", root, noise)


@in_double
def _matrix(attention: Any, fields: np.ndarray) -> np.ndarray:
    return np.asarray(attention(fields))


@in_double
def inner_landscape(solution: Solution, seed: int) -> dict[str, Any]:
    """E(z) = ½ Σ_l (z_l − w_l)²/V_l + ℓ(u, z) of one training sample on a grid of (z_1, z_2), and its minima.

    Of many random samples the one whose two lowest minima are closest in energy is shown, since it is there that the
    prox jumps; where none has two, the first.
    """
    if solution.outcome not in USABLE:
        raise ValueError(f"{solution.branch}: {solution.outcome}: {solution.reason}")
    if solution.scenario.ranks != (1, 1) or solution.scenario.length != 2:
        raise ValueError(TWO_TOKENS)
    problem = _problems(solution, np.random.default_rng(seed))
    reach = 1.2 * max(1.0, float(np.quantile(np.abs(problem.centre), 0.995)))
    torn = _most_torn(solution, problem, np.linspace(-reach, reach, COARSE))
    one = problem._replace(target=problem.target[..., torn, None], centre=problem.centre[..., torn, None])
    axis = np.linspace(-reach, reach, SIDE)
    values = _energies(solution, one, axis)[0]
    step = axis[1] - axis[0]
    minima = [_polished(solution, one, axis[list(at)], step) for at in _valleys(values)[:2]]
    return {
        "axis": plain(axis),
        "energy": plain(values),
        "centre": plain(np.ravel(one.centre)),
        "minima": sorted(minima, key=lambda minimum: minimum["energy"]),
    }


def _problems(solution: Solution, rng: np.random.Generator) -> Any:
    """The inner problems of many random samples, as `dotphase.inner` writes them."""
    from ..finite.sampling import attention_of
    from ..inner import Problem

    scenario = solution.scenario
    u = np.sqrt(scenario.law.rho) * rng.standard_normal((2, 1, CANDIDATES))
    w = _fields(solution, u, rng.standard_normal((2, 1, CANDIDATES)))
    precision, numbers = np.linalg.inv(solution.overlaps.V), dict(scenario.student.values)
    return Problem(attention_of(scenario.teacher, u), w, precision, scenario.law.mean_gamma, numbers)  # type: ignore[arg-type]


def _most_torn(solution: Solution, problem: Any, axis: np.ndarray) -> int:
    """The sample whose second valley is least above its first; 0 if none has two."""
    gaps = np.full(CANDIDATES, np.inf)
    for sample, values in enumerate(_energies(solution, problem, axis)):
        valleys = _valleys(values)
        if len(valleys) > 1:
            gaps[sample] = values[valleys[1]] - values[valleys[0]]
    return int(gaps.argmin()) if np.isfinite(gaps).any() else 0


def _valleys(values: np.ndarray) -> list[tuple[int, int]]:
    """Inner points of a grid below their eight neighbours, lowest first."""
    inner = values[1:-1, 1:-1]
    size = values.shape[0]
    shifts = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    lower = np.all([inner < values[i : size - 2 + i, j : size - 2 + j] for i, j in shifts], axis=0)
    found = [(int(i) + 1, int(j) + 1) for i, j in np.argwhere(lower)]
    return sorted(found, key=lambda at: values[at])


def _polished(solution: Solution, problem: Any, z: np.ndarray, step: float) -> dict[str, Any]:
    """A minimum near z, by ever finer grids around the lowest point."""
    lowest = np.inf
    for _ in range(6):
        axes = [coordinate + np.linspace(-step, step, 9) for coordinate in z]
        values = _energies(solution, problem, *axes)[0]
        i, j = np.unravel_index(values.argmin(), values.shape)
        z, lowest, step = np.array([axes[0][i], axes[1][j]]), float(values[i, j]), step / 4
    return {"z": plain(z), "energy": lowest}


def _energies(solution: Solution, problem: Any, first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """E of every sample at every (z_1, z_2) of a grid, (samples, first, second)."""
    from ..inner import energy

    second = first if second is None else second
    samples, shape = problem.centre.shape[-1], (problem.centre.shape[-1], len(first), len(second))
    grid = np.meshgrid(np.arange(samples), first, second, indexing="ij")
    sample, z = grid[0].ravel(), np.stack([grid[1].ravel(), grid[2].ravel()])[:, None]
    spread = problem._replace(target=problem.target[..., sample], centre=problem.centre[..., sample])
    return np.asarray(energy(solution.scenario.student.form, spread, z)).reshape(shape)
