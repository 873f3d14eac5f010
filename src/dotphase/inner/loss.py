"""The loss of one sample as a function of its fields, and the energy whose minimum is the prox.

    ℓ(u, z) = ½ Tr[(T(u) − S(z)) ρ_Σ (T(u) − S(z))ᵀ]
    E(z) = ½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l) + ℓ(u, z)

Everything here takes all samples at once, on the last axis: z, w are (L, r_s, N), the target T(u) is (L, L, N).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..scenario.attention import Form, entries


class Problem(NamedTuple):
    """One inner problem per sample.

    - `target`: T(u), (L, L, N);  `centre`: w, (L, r_s, N).
    - `precision`: V⁻¹ per token, (L, r_s, r_s), the same for all samples; where tokens know of each other V⁻¹ of all
      fields together, (1, D, D).
    - `rho`: the diagonal of ρ_Σ, (L,), or all of it, (L, L).
    - `parameters`: the numbers of the student.
    - `scale`: s, (L, N), where tokens have random scales: then V → diag(s) V diag(s) and ρ_Σ → diag(s) ρ_Σ diag(s).
    """

    target: jax.Array
    centre: jax.Array
    precision: jax.Array
    rho: jax.Array
    parameters: dict
    scale: Any = None

    def only(self, samples) -> Problem:
        """The problems of some of the samples."""
        pick = lambda array: None if array is None else array[..., samples]
        return self._replace(target=pick(self.target), centre=pick(self.centre), scale=pick(self.scale))


def mismatch(attention, target, rho, scale=None) -> Any:
    """½ Tr[(T − S) ρ_Σ (T − S)ᵀ] per sample, from nested lists or (L, L, N) arrays S and T."""
    tokens = range(len(attention))
    if rho.ndim == 1 and scale is None:
        return 0.5 * sum(rho[j] * (target[i][j] - attention[i][j]) ** 2 for i in tokens for j in tokens)
    apart = [[target[i][j] - attention[i][j] for j in tokens] for i in tokens]
    weighed = weigh(apart, rho, scale)
    return 0.5 * sum(apart[i][j] * weighed[i][j] for i in tokens for j in tokens)


def weigh(matrix, rho, scale=None) -> list:
    """`matrix` · ρ_Σ per sample, or `matrix` · diag(s) ρ_Σ diag(s), from nested lists or an (L, L, N) array."""
    tokens = range(len(rho))
    scaled = lambda rows: rows if scale is None else [[row[j] * scale[j] for j in tokens] for row in rows]
    if rho.ndim == 1:
        return scaled([[rho[j] * row[j] for j in tokens] for row in scaled(matrix)])
    return scaled([[sum(row[k] * rho[k, j] for k in tokens) for j in tokens] for row in scaled(matrix)])


def sample_loss(student: Form, problem: Problem, z) -> Any:
    """ℓ(u, z), (N,), from nested lists or an array z."""
    fields = [list(row) for row in z]
    attention = entries(student)(fields, **problem.parameters)
    return mismatch(attention, problem.target, problem.rho, problem.scale)


def times(fields, scale):
    """`fields`, (L, r, N), times the scale of each token, (L, N), if there are scales."""
    return fields if scale is None else fields * scale[:, None]


def over(fields, scale):
    """`fields`, (L, r, N), divided by the scale of each token, (L, N), if there are scales."""
    return fields if scale is None else fields / scale[:, None]


def applied(matrices, fields):
    """A matrix of every group of fields, (G, a, b), applied to fields (L, r, N) with L r = G b: (L, G a/L, N)."""
    length, _, count = fields.shape
    groups, _, columns = matrices.shape
    return (matrices[..., None] * fields.reshape(groups, columns, count)[:, None]).sum(2).reshape(length, -1, count)


def pull(problem: Problem, z):
    """V_l⁻¹ (z_l − w_l), (L, r_s, N): at the prox this is g."""
    return over(applied(problem.precision, over(z - problem.centre, problem.scale)), problem.scale)


def tether(problem: Problem, z) -> Any:
    """½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l), (N,), from nested lists or an array z."""
    total, s, size = 0.0, problem.scale, problem.precision.shape[-1]
    shift = [[x - problem.centre[l, a] for a, x in enumerate(row)] for l, row in enumerate(z)]
    every = [x if s is None else x / s[l] for l, row in enumerate(shift) for x in row]
    for k, group in enumerate(every[first : first + size] for first in range(0, len(every), size)):
        for a, x in enumerate(group):
            total = total + 0.5 * x * sum(problem.precision[k, a, b] * y for b, y in enumerate(group))
    return total


def energy(student: Form, problem: Problem, z):
    """E(z), (N,), from nested lists or an array z."""
    return tether(problem, z) + sample_loss(student, problem, z)


def energy_derivatives(student: Form, problem: Problem, z) -> tuple[jax.Array, jax.Array, jax.Array]:
    """E, (N,); ∇E, (L, r_s, N); ∇²E, (D, D, N) with D = L r_s: by automatic differentiation, for any student."""
    return _derivatives(lambda fields: energy(student, problem, fields), z)


def loss_derivatives(student: Form, problem: Problem, z) -> tuple[jax.Array, jax.Array, jax.Array]:
    """ℓ, ∇ℓ and ∇²ℓ, shaped as in `energy_derivatives`."""
    return _derivatives(lambda fields: sample_loss(student, problem, fields), z)


def energy_and_gradient(student: Form, problem: Problem, z) -> tuple[jax.Array, jax.Array]:
    """E, (N,), and ∇E, (L, r_s, N)."""
    value, gradient = _value_and_gradient(lambda fields: energy(student, problem, fields), [list(row) for row in z])
    return value, stacked(gradient)


def _value_and_gradient(function, fields):
    value, back = jax.vjp(function, fields)
    return value, back(jnp.ones_like(value))[0]


def _derivatives(function, z):
    def push(fields, along):
        (value, gradient), (_, column) = jax.jvp(lambda f: _value_and_gradient(function, f), (fields,), (along,))
        return value, stacked(gradient), stacked(column).reshape(-1, z.shape[-1])

    return along_each(push, z, out_axes=(None, None, 0))


def along_each(push, z, out_axes: Any = 0):
    """`push(fields, along)` with each field of z, (L, r, N), in turn as direction, its results on a new first axis.

    Both are nested lists of (N,) arrays, so that no slicing or padding enters a derivative.
    """
    length, rank, count = z.shape
    fields = [list(row) for row in z]

    def one(direction):
        return push(fields, [[jnp.broadcast_to(direction[l, a], (count,)) for a in range(rank)] for l in range(length)])

    return jax.vmap(one, out_axes=out_axes)(jnp.eye(length * rank, dtype=z.dtype).reshape(-1, length, rank))


def stacked(rows) -> jax.Array:
    """Nested lists of (N,) arrays as one array."""
    return jnp.stack([jnp.stack(row) for row in rows])
