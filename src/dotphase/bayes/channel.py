"""What a teacher's attention leaves open: the fields u' with T(u') = T(u), where they are u up to
signs.

Sentences are long vectors, so x and y = T(u) x fix the matrix T(u), and nothing else of u. With
fields w known beforehand up to N(0, V_l), the posterior of u lives on the fibre {s∘u}, s ∈
{±1}^{L×r_t}:

    p_s ∝ exp(−½ Σ_l (s∘u − w)_lᵀ V_l⁻¹ (s∘u − w)_l),   E[u | w, T] = Σ_s p_s s∘u.

If only a common sign is open, this is u tanh(Σ_l u_lᵀ V_l⁻¹ w_l).
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..scenario.attentions.attention import Attention, kept_by_content, lifted
from ..scenario.checks import check_plain
from ..scenario.scenario import Scenario

PERFECT = 1e-8  # V/ρ below which nothing is left to learn


class Posterior(NamedTuple):
    """`mean` E[u | w, T], (L, r_t, N); `covariance` of each token's u, (L, r_t, r_t, N)."""

    mean: Any
    covariance: Any


def posterior(u, w, precision, signs) -> Posterior:
    """The posterior of the fields on the fibre of u, (L, r_t, N), under N(w, V_l): `precision`
    V_l⁻¹, `signs` of `signs_of`, (G, L, r_t)."""
    import jax.numpy as jnp

    images = signs[..., None] * u  # (G, L, r_t, N)
    gap = images - w
    exponent = -0.5 * jnp.einsum("glan,lab,glbn->gn", gap, precision, gap)
    share = jnp.exp(exponent - exponent.max(0))
    share = share / share.sum(0)
    mean = jnp.einsum("gn,glan->lan", share, images)
    rest = images - mean
    return Posterior(mean, jnp.einsum("gn,glan,glbn->labn", share, rest, rest))


def signs_of(scenario: Scenario) -> np.ndarray:
    """The changes of sign s with T(s∘u) = T(u), (G, L, r_t), the identity first.

    A `ValueError` for correlated tokens, random scales and a given teacher. Also one where T(u)
    leaves more open than signs: a continuum of fields (a teacher of rank two, whose fields can be
    rotated; a purely positional one), or other single points.
    """
    check_plain("Bayes-optimal inference", scenario)
    if scenario.teacher_weights is not None:
        raise ValueError(
            "teacher_weights: Bayes-optimal inference is for teachers drawn from N(0, I)"
        )
    return _signs(
        scenario.teacher,
        scenario.length,
        float(np.sqrt(np.trace(scenario.distribution.rho[0]) / scenario.ranks[1])),
    )


@kept_by_content
def _signs(teacher: Attention, length: int, size: float) -> np.ndarray:
    fields = size * np.random.default_rng(0).normal(size=(3, length, teacher.rank))
    unknown = length * teacher.rank
    rank = min(np.linalg.matrix_rank(_jacobian(teacher, u), rtol=1e-9) for u in fields)
    if rank < unknown:
        raise ValueError(
            f"teacher: its attention leaves a continuum of fields open ({rank} of {unknown} directions are fixed); the "
            "Bayes-optimal limit is for teachers whose attention fixes the fields up to signs"
        )
    signs = np.array([s for s in _candidates(length, teacher.rank) if _same(teacher, fields, s)])
    for u in fields:
        if not _only_images(teacher, u, signs):
            raise ValueError(
                "teacher: fields that differ by more than signs have the same attention; the "
                "Bayes-optimal limit is for teachers whose attention fixes the fields up to signs"
            )
    return signs


def _candidates(length: int, rank: int) -> list[np.ndarray]:
    most_fields = 12  # up to 2^12 changes of sign are tried
    if length * rank <= most_fields:
        return [
            np.array(s, float).reshape(length, rank) for s in product((1, -1), repeat=length * rank)
        ]
    return [np.tile(np.array(s, float), (length, 1)) for s in product((1, -1), repeat=rank)]


def _same(teacher: Attention, fields: np.ndarray, signs: np.ndarray) -> bool:
    return all(
        np.allclose(_matrix(teacher, signs * u), _matrix(teacher, u), rtol=0, atol=1e-12)
        for u in fields
    )


def _only_images(teacher: Attention, u: np.ndarray, signs: np.ndarray) -> bool:
    """Whether all solutions u' of T(u') = T(u) that random starts lead to are images s∘u."""
    searches = 24  # for other points of the fibre, from random starts, at each of a few fields
    from scipy.optimize import least_squares

    target, rng = _matrix(teacher, u), np.random.default_rng(1)
    mismatch = lambda x: (_matrix(teacher, x.reshape(u.shape)) - target).ravel()
    slope = lambda x: _jacobian(teacher, x.reshape(u.shape))
    for _ in range(searches):
        start = 2 * np.abs(u).max() * rng.normal(size=u.size)
        found = least_squares(mismatch, start, slope, xtol=1e-15, ftol=1e-15, gtol=1e-15)  # type: ignore[arg-type]
        away = np.abs(signs * u - found.x.reshape(u.shape)).max((1, 2)).min()
        if np.abs(found.fun).max() < 1e-11 and away > 1e-3 * np.abs(u).max():
            return False
    return True


def _matrix(teacher: Attention, u: np.ndarray) -> np.ndarray:
    import jax

    with jax.enable_x64(True):
        return np.asarray(_compiled(teacher)[0](u))


def _jacobian(teacher: Attention, u: np.ndarray) -> np.ndarray:
    """∂T/∂u, (L², L r_t)."""
    import jax

    with jax.enable_x64(True):
        return np.asarray(_compiled(teacher)[1](u)).reshape(-1, u.size)


@kept_by_content
def _compiled(teacher: Attention):
    import jax

    one = lambda u: lifted(teacher.form)(u[:, :, None], **teacher.values)[..., 0]
    return jax.jit(one), jax.jit(jax.jacfwd(one))
