"""Cholesky factors of small matrices, on the last two axes, written out entry by entry.

A library call per matrix costs more than all the arithmetic of a few numbers, and its derivatives
many calls more.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def cholesky(matrix):
    """Lower triangular C with C Cᵀ = matrix; entries that are not numbers tell that it is not
    positive definite."""
    size = matrix.shape[-1]
    C: list[list] = [[None] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            rest = matrix[..., i, j] - sum(C[i][k] * C[j][k] for k in range(j))
            C[i][j] = jnp.sqrt(rest) if i == j else rest / C[j][j]
    return _assembled(C, matrix.shape[:-2])


def inverted(lower):
    """The inverse of a lower triangular matrix."""
    size = lower.shape[-1]
    inverse: list[list] = [[None] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            against = sum(lower[..., i, k] * inverse[k][j] for k in range(j, i))
            inverse[i][j] = ((1.0 if i == j else 0.0) - against) / lower[..., i, i]
    return _assembled(inverse, lower.shape[:-2])


def inverse(matrix):
    """The inverse of a symmetric positive definite matrix."""
    half = inverted(cholesky(matrix))
    return transposed(half) @ half


def transposed(matrix):
    return jnp.swapaxes(matrix, -1, -2)


def _assembled(rows, shape):
    entry = lambda value: jnp.zeros(shape) if value is None else jnp.broadcast_to(value, shape)
    return jnp.stack([jnp.stack([entry(value) for value in row], axis=-1) for row in rows], axis=-2)


# Functions of symmetric matrices that act on their eigenvalues


def _spectral(function, slope):
    """The function of a symmetric matrix that acts on its eigenvalues.

    Its derivative is, in the eigenbasis, a product entry by entry with slope(a, b) = (f(a) −
    f(b))/(a − b), written so that it holds for equal eigenvalues too.
    """

    def parts(matrix):
        values, vectors = jnp.linalg.eigh(matrix)
        return values, vectors, (vectors * function(values)[..., None, :]) @ transposed(vectors)

    of = jax.custom_jvp(lambda matrix: parts(matrix)[2])

    def push(primals, tangents):
        values, vectors, image = parts(primals[0])
        inner = transposed(vectors) @ tangents[0] @ vectors
        turned = slope(values[..., :, None], values[..., None, :]) * inner
        return image, vectors @ turned @ transposed(vectors)

    of.defjvp(push)
    return of


def _over_its_argument(function, quadratic: float):
    """f(t)/t for odd f(t) = t + quadratic·t³ + …"""
    small = lambda t: jnp.abs(t) < 1e-4
    return lambda t: jnp.where(
        small(t), 1 + quadratic * t**2, function(t) / jnp.where(small(t), 1.0, t)
    )


_sinhc, _artanhc = _over_its_argument(jnp.sinh, 1 / 6), _over_its_argument(jnp.arctanh, 1 / 3)

exponential = _spectral(jnp.exp, lambda a, b: jnp.exp((a + b) / 2) * _sinhc((a - b) / 2))
half_log = _spectral(lambda a: 0.5 * jnp.log(a), lambda a, b: _artanhc((a - b) / (a + b)) / (a + b))
root = _spectral(jnp.sqrt, lambda a, b: 1 / (jnp.sqrt(a) + jnp.sqrt(b)))
inverse_root = _spectral(
    lambda a: 1 / jnp.sqrt(a),
    lambda a, b: -1 / (jnp.sqrt(a) * jnp.sqrt(b) * (jnp.sqrt(a) + jnp.sqrt(b))),
)
