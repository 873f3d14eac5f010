"""Attention matrices of teacher and students on one random sentence, and one sample's inner
problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...numerics.precision import in_double
from ...results.json import plain
from ...theory.fields import Sentences, new_sentences, student_fields
from ...theory.solver.solution import USABLE, Solution

if TYPE_CHECKING:
    from ...theory.stability.one_sample import Samples


TWO_TOKENS = "the inner problem can be drawn for students of rank one"


def look(students: Mapping[str, Solution], seed: int) -> dict[str, Any]:
    """The attention matrices of teacher and students on one sentence; null for a student whose
    solve gave no answer."""
    scenario = next(iter(students.values())).scenario
    sentence = new_sentences(scenario, 1, np.random.default_rng(seed))
    u = sentence.teacher_fields[..., 0]
    shown = {"teacher": {"fields": plain(u), "attention": plain(_matrix(scenario.teacher, u))}}
    for name, solution in students.items():
        shown[name] = _seen(solution, sentence) if solution.outcome in USABLE else None  # type: ignore[assignment]
    return shown


def _seen(solution: Solution, sentence: Sentences) -> dict[str, Any]:
    h = student_fields(solution, sentence)[..., 0]
    return {"fields": plain(h), "attention": plain(_matrix(solution.scenario.student, h))}


@in_double
def _matrix(attention: Any, fields: np.ndarray) -> np.ndarray:
    return np.asarray(attention(fields))


def inner_landscape(solution: Solution, seed: int) -> dict[str, Any]:
    """E(z) = ½ Σ_l (z_l − w_l)²/V_l + ℓ(u, z) of one training sample on a grid of (z_1, z_2), and
    its minima.

    Among many samples, this is the one whose reached minimum is closest in energy to its lowest
    minimum without being equal to it; if all samples reach their lowest minimum, the first.
    """
    from ...theory.stability.one_sample import samples

    if solution.outcome not in USABLE:
        raise ValueError(f"{solution.branch}: {solution.outcome}: {solution.reason}")
    if solution.scenario.ranks != (1, 1) or solution.scenario.length != 2:
        raise ValueError(TWO_TOKENS)
    found = samples(solution)
    candidates = np.random.default_rng(seed).permutation(found.w.shape[-1])[:1000]
    one = _closest_minima(found.only(candidates))
    reach = 1.2 * max(1.0, float(np.quantile(np.abs(found.w), 0.995)))
    side = 61  # points along each axis
    axis = np.linspace(-reach, reach, side)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij")).reshape(2, 1, -1)
    both = {"lowest": one.lowest, **({"reached": one.reached} if one.higher[0] else {})}
    return {
        "axis": plain(axis),
        "energy": plain(one.energy(grid).reshape(side, side)),
        "centre": plain(np.ravel(one.w)),
        "minima": {
            name: {"z": plain(z.ravel()), "energy": float(one.energy(z)[0])}
            for name, z in both.items()
        },
        "candidates": len(candidates),
    }


def _closest_minima(found: Samples) -> Samples:
    """The sample whose reached minimum is least above its lowest."""
    higher = np.flatnonzero(found.higher)
    each = [found.only(np.array([k])) for k in higher]
    gaps = [float(one.energy(one.reached)[0] - one.energy(one.lowest)[0]) for one in each]
    return each[int(np.argmin(gaps))] if each else found.only(np.array([0]))
