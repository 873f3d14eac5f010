"""The exact test error of given weights at finite d, without a test set."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..estimate import Estimate
from ..gaussian import GaussHermite, Rule, Sobol
from ..scenario.attention import Form, entries
from .instance import Instance
from .objective import gram_loss
from .sampling import Grams

MOST_NODES = 2**14


class Moments(NamedTuple):
    """Everything of size d, reduced to a few numbers. K = r_s + r_t projections per token.

    - `root`: C_l^{1/2}, (L, K, K), so that a_l = C_l^{1/2} ζ_l with ζ_l ~ N(0, I).
    - `shift`: p_l Q/√d in the student's K, zero in the teacher's, (L, K).
    - `true`: M_lᵀM_l'/d, (L, K, L, K), where E[x_l | ζ] = M_l ζ_l.
    - `rest`: (Tr Σ_l − Tr M_lᵀM_l)/d, (L,): the part of |x_l|² the projections do not see.
    - `cross`: M_lᵀp_l'/d, (L, K, L);  `encodings`: p_l·p_l'/d, (L, L).
    """

    root: np.ndarray
    shift: np.ndarray
    true: np.ndarray
    rest: np.ndarray
    cross: np.ndarray
    encodings: np.ndarray


def exact_test_error(instance: Instance, weights: np.ndarray, rule: Rule | None = None) -> Estimate:
    """ε_g = E‖y(x) − f_Q(x)‖²/(dL) over new samples x, exactly, for given weights.

    With W = [Q, Q*]/√d, attention sees a sample only through a_l = Wᵀx_l ~ N(0, C_l), C_l = WᵀΣ_lW. Given
    a_l = C_l^{1/2}ζ_l, the sample itself averages to E[x_l | ζ] = M_l ζ_l, M_l = Σ_l W C_l^{-1/2}, and its
    scalar products to

        E[x_l·x_l' | ζ] = ζ_lᵀ M_lᵀM_l' ζ_l' + δ_ll' (Tr Σ_l − Tr M_lᵀM_l),
        E[x_l·p_l' | ζ] = ζ_lᵀ M_lᵀ p_l',

    and the loss, linear in them, is averaged over the L(r_s + r_t) normals ζ alone.

    **Arguments**

    - `instance`: the realisation (Q*, spectra, encodings);  `weights`: Q, (d, r_s).
    - `rule`: for the Gaussian average; Gauss–Hermite where its tensor is affordable, else scrambled Sobol'
      points.

    **Returns** an `Estimate` whose error is that of the Gaussian average.

    **Example**

        data = sample(paper(alpha=2), d=1000)
        exact_test_error(data.instance, data.instance.teacher_weights)      # of the teacher's own weights
    """
    import jax

    scenario = instance.scenario
    dimension = scenario.length * sum(scenario.ranks)
    rule = default_rule(dimension) if rule is None else rule
    points, shares = rule.nodes(dimension)
    average = _compiled(scenario.student.form, scenario.teacher.form)
    numbers = (scenario.student.values, scenario.teacher.values)
    with jax.enable_x64(True):
        reduced = moments(instance, weights)
        values = [float(average(reduced, p, w, *numbers)) for p, w in zip(points, shares, strict=True)]
    errors = 2 * np.array(values) / scenario.length
    pooled = float(rule.pool @ errors)
    return Estimate(pooled, float(rule.error(errors - pooled)))


def default_rule(dimension: int) -> Rule:
    """Tensor Gauss–Hermite of the highest order that `MOST_NODES` allow if that is at least 10, else
    Sobol'."""
    order = int(MOST_NODES ** (1 / dimension) + 1e-9)
    return GaussHermite(min(order, 40)) if order >= 10 else Sobol(2 * MOST_NODES)


def moments(instance: Instance, weights: np.ndarray) -> Moments:
    d, gamma, p = instance.dimension, instance.gamma, instance.positions
    directions = np.hstack([weights, instance.teacher_weights]) / np.sqrt(d)
    covariance = np.einsum("ia,li,ib->lab", directions, gamma, directions, optimize=True)
    root, inverse_root = _roots(covariance)
    seen_by = gamma[:, :, None] * (directions @ inverse_root)  # M_l, (L, d, K)
    true = np.einsum("lia,kib->lakb", seen_by, seen_by, optimize=True) / d
    rest = gamma.sum(1) / d - np.einsum("lala->l", true)
    shift = p @ directions
    shift[:, instance.scenario.student.rank :] = 0.0  # the teacher does not see the encodings
    return Moments(root, shift, true, rest, np.einsum("lia,ki->lak", seen_by, p) / d, p @ p.T / d)


def _roots(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C^{1/2} and C^{-1/2}, the latter zero along directions C does not have (Q parallel to Q*, say)."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-13 * values.max(-1, keepdims=True)
    root = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.where(kept, 1.0, 0.0) / np.where(kept, root, 1.0)
    rebuild = lambda diagonal: np.einsum("lab,lb,lcb->lac", vectors, diagonal, vectors)
    return rebuild(root), rebuild(inverse)


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form):
    import jax

    def average(reduced: Moments, points, weights, student_numbers, teacher_numbers):
        length, width = reduced.shift.shape
        zeta = [list(rows) for rows in points.reshape(length, width, -1)]
        fields = [
            [_dot(root, row) + shift for root, shift in zip(roots, shifts, strict=True)]
            for roots, shifts, row in zip(reduced.root, reduced.shift, zeta, strict=True)
        ]
        S = entries(student)([row[: student.rank] for row in fields], **student_numbers)
        T = entries(teacher)([row[student.rank :] for row in fields], **teacher_numbers)
        return (weights * gram_loss(T, S, _expected_grams(reduced, zeta))).sum()

    return jax.jit(average)


def _expected_grams(reduced: Moments, zeta: list[list]) -> Grams:
    """The scalar products of a sample averaged at given ζ, as nested lists over token pairs."""
    tokens = range(len(zeta))
    rest = lambda l, k: reduced.rest[l] if l == k else 0.0
    pair = lambda l, k: sum(a * _dot(reduced.true[l, i, k], zeta[k]) for i, a in enumerate(zeta[l]))
    true = [[pair(l, k) + rest(l, k) for k in tokens] for l in tokens]
    cross = [[_dot(reduced.cross[l, :, k], zeta[l]) for k in tokens] for l in tokens]
    mixed = [[true[l][k] + cross[l][k] for k in tokens] for l in tokens]
    seen = [[mixed[l][k] + cross[k][l] + reduced.encodings[l, k] for k in tokens] for l in tokens]
    return Grams(true, mixed, seen)


def _dot(numbers, arrays):
    # A written-out sum: it joins the operations around it into one loop over the nodes, where a reduction
    # would not.
    return sum(number * array for number, array in zip(numbers, arrays, strict=True))
