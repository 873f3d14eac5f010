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

SIDE = 61  # points along each side of a landscape
CANDIDATES = 512  # samples among which one with two minima is looked for
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
    scenario = solution.scenario
    if scenario.ranks != (1, 1) or scenario.length != 2:
        raise ValueError(TWO_TOKENS)
    problem, z, rival = _most_torn(solution, np.random.default_rng(seed))
    minima = [z] if rival is None else [z, rival]
    reach = max(1.0, *(1.6 * float(np.abs(point).max()) for point in (*minima, problem.centre)))
    axis = np.linspace(-reach, reach, SIDE)
    values = _energies(solution, problem, np.array(np.meshgrid(axis, axis, indexing="ij")).reshape(2, 1, -1))
    return {
        "axis": plain(axis),
        "energy": plain(values.reshape(SIDE, SIDE)),
        "centre": plain(np.ravel(problem.centre)),
        "minima": [
            {"z": plain(np.ravel(point)), "energy": float(_energies(solution, problem, point.reshape(2, 1, 1))[0])}
            for point in minima
        ],
    }


def _most_torn(solution: Solution, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """The problem of one sample, (…, 1), its lowest minimum and the next one, if there is."""
    from ..finite.sampling import attention_of
    from ..inner import Problem

    scenario, count = solution.scenario, CANDIDATES
    roots = np.linalg.cholesky(scenario.law.rho)
    u = np.einsum("lab,lbn->lan", roots, rng.standard_normal((2, 1, count)))
    w = _fields(solution, u, rng.standard_normal((2, 1, count)))
    target = attention_of(scenario.teacher, u)
    problem = Problem(
        target, w, np.linalg.inv(solution.overlaps.V), scenario.law.mean_gamma, dict(scenario.student.values)
    )
    found = _search(scenario.student.form, problem)
    closest = int(np.argmin(np.asarray(found.gap)))
    two = bool(np.isfinite(np.asarray(found.gap)[closest]))
    sample = int(np.asarray(found.rival_of)[closest]) if two else 0
    one = problem._replace(target=target[..., sample : sample + 1], centre=w[..., sample : sample + 1])
    rival = np.asarray(found.rival)[..., closest] if two else None
    return one, np.asarray(found.z)[..., sample], rival


def _search(form: Any, problem: Any) -> Any:
    import jax

    from ..inner import search

    guesses = np.stack([problem.centre, np.zeros_like(problem.centre)])
    return jax.jit(search, static_argnums=(0, 3))(form, problem, guesses, 64)


def _energies(solution: Solution, problem: Any, z: np.ndarray) -> np.ndarray:
    from ..inner import energy

    return np.asarray(energy(solution.scenario.student.form, problem, z)).ravel()
