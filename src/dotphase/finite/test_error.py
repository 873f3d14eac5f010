"""The test error of given weights at finite d: exact, without a test set; or on sentences that were
held out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..numerics.rules import GaussHermite, Rule, Sobol, for_smooth, pooled
from ..results.estimate import Estimate
from ..scenario.arguments import checked
from ..scenario.attentions.attention import Form, entries, matrices
from ..scenario.scales import Scales
from .data.instance import Instance
from .data.sampling import BLOCK, Grams, grams_of
from .data.source import source_of
from .training.objective import gram_loss

MOST_NODES = 2**14
LISTED = 64  # combinations of scales that are summed one by one; more of them are drawn


class Moments(NamedTuple):
    """Everything of size d, reduced to a few numbers. K = r_s + r_t projections per token.

    - `root`: C_l^{1/2}, (L, K, J), so that a_l = C_l^{1/2} ζ_l with ζ_l ~ N(0, I).
    - `shift`: p_l Q/√d in the student's K, zero in the teacher's, (L, K).
    - `true`: M_lᵀM_l'/d, (L, J, L, J), where E[x_l | ζ] = M_l ζ_l.
    - `rest`: (Tr Σ_l − Tr M_lᵀM_l)/d, (L,): the part of |x_l|² the projections do not see.
    - `cross`: M_lᵀp_l'/d, (L, J, L);  `encodings`: p_l·p_l'/d, (L, L).

    Tokens on their own have J = K normals each. Correlated tokens share all J = LK of
    them, ζ_l = ζ, C is the joint covariance of all projections, and `rest` is (Tr Γ_ll' − Tr
    M_lᵀM_l')/d, (L, L).
    """

    root: np.ndarray
    shift: np.ndarray
    true: np.ndarray
    rest: np.ndarray
    cross: np.ndarray
    encodings: np.ndarray


def error_of_weights(instance: Instance, weights: np.ndarray, rule: Rule | None = None) -> Estimate:
    """ε_g of given weights: exact where the distribution of the tokens is known, else on sentences that were
    held out."""
    if instance.data is None:
        return exact_test_error(instance, weights, rule)
    return held_out_error(instance, weights)


def held_out_error(instance: Instance, weights: np.ndarray, most: int = 10_000) -> Estimate:
    """‖y(x) − f_Q(x)‖²/(dL) averaged over up to `most` sentences that this seed does not train on,
    and the standard error of that mean."""
    scenario, d = instance.scenario, instance.dimension
    count = (
        min(most, instance.data.count - instance.sample_count)
        if instance.data is not None
        else most
    )
    source, step = source_of(instance, "test", count), max(1, BLOCK // instance.gamma.size)
    losses = []
    for first in range(0, count, step):
        x = source.tokens(slice(first, min(first + step, count)))
        seen = x + instance.positions[:, None, :]
        fields = lambda tokens, columns: np.swapaxes(tokens @ columns, 1, 2) / np.sqrt(d)
        T = matrices(scenario.teacher, fields(x, instance.teacher_weights))
        S = matrices(scenario.student, fields(seen, weights))
        losses.append(gram_loss(T, S, grams_of(x, seen)))
    each = 2 * np.concatenate(losses) / scenario.length
    return Estimate(
        float(each.mean()), float(each.std(ddof=1) / np.sqrt(count)) if count > 1 else np.inf
    )


@checked
def exact_test_error(instance: Instance, weights: np.ndarray, rule: Rule | None = None) -> Estimate:
    """ε_g = E‖y(x) − f_Q(x)‖²/(dL) over new samples x, exactly, for given weights.

    With W = [Q, Q*]/√d, attention sees a sample only through a_l = Wᵀx_l ~ N(0, C_l), C_l = WᵀΣ_lW.
    Given a_l = C_l^{1/2}ζ_l, the sample itself averages to E[x_l | ζ] = M_l ζ_l, M_l = Σ_l W
    C_l^{-1/2}, and its scalar products to

        E[x_l·x_l' | ζ] = ζ_lᵀ M_lᵀM_l' ζ_l' + δ_ll' (Tr Σ_l − Tr M_lᵀM_l),
        E[x_l·p_l' | ζ] = ζ_lᵀ M_lᵀ p_l',

    and the loss, linear in them, is averaged over the L(r_s + r_t) normals ζ alone. Random scales
    multiply a_l and x_l: one more average, over s.

    **Arguments**

    - `instance`: the realisation (Q*, spectra, encodings);  `weights`: Q, (d, r_s).
    - `rule`: for the Gaussian average; Gauss–Hermite where its tensor is affordable, else scrambled
      Sobol' points.

    **Returns** an `Estimate` whose error is that of the Gaussian average.

    **Example**

        data = sample(paper(alpha=2), d=1000)
        # of the teacher's own weights: not zero, since the student sees x + p and has no part A
        exact_test_error(data.instance, data.instance.teacher_weights)
    """
    expected = (instance.dimension, instance.scenario.student.rank)
    if np.shape(weights) != expected:
        raise ValueError(f"weights: expected shape {expected}, (d, r_s), got {np.shape(weights)}")
    import jax

    scenario = instance.scenario
    dimension = scenario.length * sum(scenario.ranks)
    average = _compiled(scenario.student.form, scenario.teacher.form)
    numbers = (scenario.student.values, scenario.teacher.values)
    rule, nodes = nodes_of(scenario.tokens.scales, scenario.length, dimension, rule)
    with jax.enable_x64(True):
        reduced = moments(instance, weights)
        values = [
            sum(share * float(average(reduced, *node, *numbers)) for share, node in each)
            for each in nodes
        ]
    return pooled(rule, 2 * np.array(values) / scenario.length)


def nodes_of(
    scales: Scales | None, length: int, dimension: int, rule: Rule | None
) -> tuple[Rule, list]:
    """The rule, and for each of its replicates a list of shares and nodes: normals, their weights,
    and the scales.

    Few combinations of scales are listed and summed. Many are drawn with scrambled points, in
    dimensions of their own.
    """
    if scales is None:
        rule = for_smooth(dimension, MOST_NODES, 10) if rule is None else rule
        return rule, [[(1.0, (p, w, None))] for p, w in zip(*rule.nodes(dimension), strict=True)]
    listed = len(scales.s) ** (length if scales.independent else 1)
    if isinstance(rule, GaussHermite) or listed <= LISTED:
        rule = for_smooth(dimension, MOST_NODES, 10) if rule is None else rule
        outcomes = list(zip(*scales.outcomes(length), strict=True))
        each = lambda p, w: [(share, (p, w, s[:, None])) for s, share in outcomes]
        return rule, [each(p, w) for p, w in zip(*rule.nodes(dimension), strict=True)]
    from scipy.special import ndtr

    rule = Sobol(2 * MOST_NODES) if rule is None else rule
    points, weights = rule.nodes(dimension + scales.dimension(length))
    split = lambda p, w: (p[:dimension], w, scales.at(ndtr(p[dimension:])))
    return rule, [[(1.0, split(p, w))] for p, w in zip(points, weights, strict=True)]


def moments(instance: Instance, weights: np.ndarray) -> Moments:
    d, gamma, p = instance.dimension, instance.gamma, instance.positions
    directions = np.hstack([weights, instance.teacher_weights]) / np.sqrt(d)
    if instance.Gamma is None:
        covariance = np.einsum("ia,li,ib->lab", directions, gamma, directions, optimize=True)
        root, inverse_root = _roots(covariance)
        seen_by = gamma[:, :, None] * (directions @ inverse_root)  # M_l, (L, d, K)
    else:
        root, seen_by = _joint_roots(instance.Gamma, directions)
    true = np.einsum("lia,kib->lakb", seen_by, seen_by, optimize=True) / d
    if instance.Gamma is None:
        rest = gamma.sum(1) / d - np.einsum("lala->l", true)
    else:
        rest = instance.Gamma.sum(-1) / d - np.einsum("laka->lk", true)
    shift = p @ directions
    shift[:, instance.scenario.student.rank :] = 0.0  # the teacher does not see the encodings
    return Moments(root, shift, true, rest, np.einsum("lia,ki->lak", seen_by, p) / d, p @ p.T / d)


def _joint_roots(Gamma: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C^{1/2}, (L, K, LK), and M_l = Cov(x_l, a) C^{-1/2}, (L, d, LK), of the joint projections a."""
    (length, _, d), width = Gamma.shape, directions.shape[1]
    with_all = np.einsum("lki,ia->lika", Gamma, directions).reshape(
        length, d, length * width
    )  # Cov(x_l, a)
    covariance = np.einsum("ia,lij->laj", directions, with_all).reshape(
        length * width, length * width
    )
    root, inverse_root = (each[0] for each in _roots(covariance[None]))
    return root.reshape(length, width, length * width), with_all @ inverse_root


def _roots(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C^{1/2} and C^{-1/2}, the latter zero along directions C does not have (Q parallel to Q*,
    say)."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-13 * values.max(-1, keepdims=True)
    root = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.where(kept, 1.0, 0.0) / np.where(kept, root, 1.0)
    rebuild = lambda diagonal: np.einsum("lab,lb,lcb->lac", vectors, diagonal, vectors)
    return rebuild(root), rebuild(inverse)


@lru_cache(maxsize=64)
def _compiled(student: Form, teacher: Form) -> Any:
    import jax

    def average(reduced: Moments, points, weights, scales, student_numbers, teacher_numbers):
        length, width = reduced.shift.shape
        joint = reduced.root.shape[2] > width
        zeta = (
            [list(points)] * length
            if joint
            else [list(rows) for rows in points.reshape(length, width, -1)]
        )
        fields = [
            [
                _scaled(_dot(root, row), scales, l) + shift
                for root, shift in zip(roots, shifts, strict=True)
            ]
            for l, (roots, shifts, row) in enumerate(
                zip(reduced.root, reduced.shift, zeta, strict=True)
            )
        ]
        S = entries(student)([row[: student.rank] for row in fields], **student_numbers)
        T = entries(teacher)([row[student.rank :] for row in fields], **teacher_numbers)
        return (weights * gram_loss(T, S, _expected_grams(reduced, zeta, scales))).sum()

    return jax.jit(average)


def _expected_grams(reduced: Moments, zeta: list[list], scales: Any) -> Grams:
    """The scalar products of a sample averaged at given ζ, as nested lists over token pairs."""
    tokens = range(len(zeta))
    if reduced.rest.ndim == 2:
        rest = lambda l, k: reduced.rest[l, k]
    else:
        rest = lambda l, k: reduced.rest[l] if l == k else 0.0
    pair = lambda l, k: sum(a * _dot(reduced.true[l, i, k], zeta[k]) for i, a in enumerate(zeta[l]))
    true = [[_scaled(pair(l, k) + rest(l, k), scales, l, k) for k in tokens] for l in tokens]
    cross = [
        [_scaled(_dot(reduced.cross[l, :, k], zeta[l]), scales, l) for k in tokens] for l in tokens
    ]
    mixed = [[true[l][k] + cross[l][k] for k in tokens] for l in tokens]
    seen = [[mixed[l][k] + cross[k][l] + reduced.encodings[l, k] for k in tokens] for l in tokens]
    return Grams(true, mixed, seen)


def _scaled(value: Any, scales: Any, *tokens: int) -> Any:
    """The value times the scales of some tokens."""
    if scales is None:
        return value
    for l in tokens:
        value = value * scales[l]
    return value


def _dot(numbers, arrays):
    # A written-out sum: it joins the operations around it into one loop over the nodes, where a
    # reduction would not.
    return sum(number * array for number, array in zip(numbers, arrays, strict=True))
