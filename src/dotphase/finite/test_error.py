"""The exact test error of given weights at finite d, without a test set."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..gaussian import Estimate, GaussHermite, Rule, Sobol
from ..scenario.attention import Form, lifted
from .instance import Instance
from .objective import gram_loss
from .sampling import Grams

MOST_NODES = 2**15


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
    a_l = C_l^{1/2}ζ_l, the sample itself averages to E[x_l | ζ] = M_l ζ_l, M_l = Σ_l W C_l^{-1/2}, so its scalar products do to

        E[x_l·x_l' | ζ] = ζ_lᵀ M_lᵀM_l' ζ_l' + δ_ll' (Tr Σ_l − Tr M_lᵀM_l),   E[x_l·p_l' | ζ] = ζ_lᵀ M_lᵀ p_l',

    and the loss, linear in them, is averaged over the L(r_s + r_t) normals ζ alone.

    **Arguments**

    - `instance`: the realisation (Q*, spectra, encodings);  `weights`: Q, (d, r_s).
    - `rule`: for the Gaussian average; Gauss–Hermite where its tensor is affordable, else scrambled Sobol' points.

    **Returns** an `Estimate` whose error is that of the Gaussian average.
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
    """Tensor Gauss–Hermite of the highest order that `MOST_NODES` allow if that is at least 10, else Sobol'."""
    order = int(MOST_NODES ** (1 / dimension) + 1e-9)
    return GaussHermite(min(order, 40)) if order >= 10 else Sobol(MOST_NODES)


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
    rebuild = lambda diagonal: np.einsum("lab,lb,lcb->lac", vectors, diagonal, vectors)  # noqa: E731
    return rebuild(root), rebuild(inverse)


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form):
    import jax

    guess, answer = lifted(student), lifted(teacher)

    def average(reduced: Moments, points, weights, student_numbers, teacher_numbers):
        length, width = reduced.shift.shape
        zeta = points.reshape(length, width, -1)
        fields = (reduced.root[..., None] * zeta[:, None]).sum(2) + reduced.shift[..., None]
        S = guess(fields[:, : student.rank], **student_numbers)
        T = answer(fields[:, student.rank :], **teacher_numbers)
        return (weights * gram_loss(T, S, expected_grams(reduced, zeta))).sum()

    return jax.jit(average)


def expected_grams(reduced: Moments, zeta) -> Grams:
    """The scalar products of a sample averaged at given ζ, (L, K, n); for numpy and jax arrays alike."""
    length = len(zeta)
    # Written as sums of products with the nodes last, which vectorise.
    true = (reduced.true[..., None] * zeta[:, :, None, None] * zeta[None, None]).sum((1, 3))
    true = true + np.eye(length)[:, :, None] * reduced.rest[:, None, None]
    cross = (reduced.cross[..., None] * zeta[:, :, None]).sum(1)
    mixed = true + cross
    return Grams(true, mixed, mixed + cross.swapaxes(0, 1) + reduced.encodings[..., None])
