"""The exact symmetries of a scenario: what can be done to all fields of a sample without changing
its loss.

An element (P, s, t) permutes the tokens and flips signs of columns: student fields z ↦ P z diag(s),
teacher fields u ↦ P u diag(t). It is a symmetry when S[P z s] = P S[z] Pᵀ, T[P u t] = P T[u] Pᵀ,
and the distribution of (γ, τ, π) is the same after permuting tokens and flipping π, and so is that of random
scales. Overlaps then transform as

    q_l ↦ s q_{P(l)} s,   V_l ↦ s V_{P(l)} s,   m_l ↦ s m_{P(l)},   θ_l ↦ s θ_{P(l)} t

(with two token indices for correlated tokens).
Built into the nodes of the Gaussian average, they keep exactly zero what is zero by symmetry.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .attention import Attention, kept_by_content, matrices

if TYPE_CHECKING:
    from ..distribution import Distribution
    from ..scales import Scales
    from ..scenario import Scenario


class Symmetry(NamedTuple):
    """`order`: P as an index tuple (row l of the image is row order[l]); `student`, `teacher`: the
    signs s, t."""

    order: tuple[int, ...]
    student: tuple[int, ...]
    teacher: tuple[int, ...]


def symmetries(scenario: Scenario) -> tuple[Symmetry, ...]:
    """All symmetries of the scenario of the kind above (at most 64; else the sign flips alone), the
    identity first.

    The attentions of the catalogue declare theirs. Those of a user's function are found by trying:
    random fields, small and large, tell a symmetry from none. Of an attention that says
    `symmetric=False` none but the identity is taken.
    """
    largest_group = 64  # more images than this leave too few independent nodes
    length = scenario.length
    identity = tuple(range(length))
    student, teacher = (
        _invariances(scenario.student, length),
        _invariances(scenario.teacher, length),
    )
    found = _combine(scenario.distribution, scenario.tokens.scales, student, teacher)
    if len(found) > largest_group:
        found = [g for g in found if g.order == identity]
    if len(found) > largest_group:
        found = [g for g in found if len(set(g.student)) == 1 and len(set(g.teacher)) == 1]
    return tuple(
        sorted(found, key=lambda g: (g.order != identity, -sum(g.student), -sum(g.teacher), g))
    )


def _signs(rank: int) -> list[tuple[int, ...]]:
    if rank > 5:
        return [(1,) * rank, (-1,) * rank]
    return list(product((1, -1), repeat=rank))


@kept_by_content
def _invariances(attention: Attention, length: int) -> set[tuple]:
    """Pairs (order, signs) with S[P h s] = P S[h] Pᵀ."""
    longest_permuted = 4  # beyond this many tokens no permutation is looked for but the reversal
    if not attention.symmetric:
        return {(tuple(range(length)), (1,) * attention.rank)}
    forward = tuple(range(length))
    orders = list(permutations(forward)) if length <= longest_permuted else [forward, forward[::-1]]
    pairs = [(order, signs_) for order in orders for signs_ in _signs(attention.rank)]
    if attention.symmetric is True:
        return _tried(attention, length, pairs)
    return {pair for pair in pairs if attention.symmetric(*pair, **attention.values)}


def _tried(attention: Attention, length: int, pairs: list[tuple]) -> set[tuple]:
    """Those of the pairs with S[P h s] = P S[h] Pᵀ at random fields h."""
    sizes = (0.3, 1.0, 3.0)
    tried = 24  # random fields, in equal parts of each of
    fields = np.random.default_rng(0).normal(size=(length, attention.rank, tried)) * np.resize(
        sizes, tried
    )
    images = [fields[list(order)] * np.array(signs_)[:, None] for order, signs_ in pairs]
    found = matrices(attention, np.concatenate([fields, *images], axis=-1))
    finite = np.isfinite(found).all((0, 1)).reshape(len(pairs) + 1, tried).all(0)
    if not finite.any():
        raise ValueError("attention: it is not finite at fields of the usual size, 0.3 to 3")
    before, *after = (
        each[..., finite] for each in np.split(found, len(pairs) + 1, axis=-1)
    )  # where it overflows nothing can be told
    tolerance = 1e-12 * (np.abs(before).max() + 1e-300)
    permuted = {order: before[list(order)][:, list(order)] for order, _ in pairs}
    return {
        p
        for p, image in zip(pairs, after, strict=True)
        if np.abs(permuted[p[0]] - image).max() < tolerance
    }


def _combine(
    distribution: Distribution, scales: Scales | None, student: set[tuple], teacher: set[tuple]
) -> list[Symmetry]:
    found = []
    for order, t in teacher:
        if _keeps_distribution(distribution, order, t) and (
            scales is None or scales.permuted(order).same_as(scales)
        ):
            found += [Symmetry(order, s, t) for other, s in student if other == order]
    return found


def _keeps_distribution(
    distribution: Distribution, order: tuple[int, ...], t: tuple[int, ...]
) -> bool:
    length = len(order)
    index = np.array([*order, *range(length, length + len(t))])
    sign = np.array([1] * length + list(t))
    moment = (distribution.moment * np.outer(sign, sign))[:, index][:, :, index]
    Gamma = distribution.gamma if distribution.Gamma is None else distribution.Gamma
    turned = (
        Gamma[:, list(order)]
        if distribution.Gamma is None
        else Gamma[:, list(order)][:, :, list(order)]
    )
    flat = lambda array: array.reshape(len(array), -1)
    image = np.hstack([distribution.weight[:, None], flat(turned), flat(moment)])
    table = np.hstack([distribution.weight[:, None], flat(Gamma), flat(distribution.moment)])
    # Both tables hold one row per distinct γ (or Γ): put them in the order of γ before comparing.
    columns = flat(Gamma).shape[1]
    image, table = (rows[np.lexsort(rows[:, 1 : columns + 1].T)] for rows in (image, table))
    return bool((np.abs(image - table) <= 1e-12 * (1 + np.abs(table))).all())


def apply(g: Symmetry, q: Any, V: Any, m: Any, theta: Any) -> tuple[Any, Any, Any, Any]:
    """The image of overlaps (or of their conjugates) under `g`: any arrays shaped (L, r_s, …)."""
    s, t, order = np.array(g.student), np.array(g.teacher), list(g.order)
    two = s[:, None] * s[None, :]
    return q[order] * two, V[order] * two, m[order] * s, theta[order] * s[:, None] * t[None, :]
