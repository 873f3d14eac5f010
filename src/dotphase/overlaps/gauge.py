"""The gauge: rotations of the student's columns that change nothing.

Tied attention is unchanged under Q → QO with O orthogonal, so for rank above one fixed points come
in orbits. To first order O = 1 + G with G antisymmetric, and the overlaps move along

    δq = Gᵀq + qG,   δV = GᵀV + VG,   δm = mG,   δθ = Gᵀθ.

Along these directions there is nothing to solve: a step must not go there, and a residual there
means nothing.
"""

from __future__ import annotations

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from ..numerics.compilation import compiled
from ..scenario.attentions.attention import Form, lifted
from ..scenario.scenario import Scenario
from .coordinates import from_coordinates, to_coordinates

NULL = 1e-9


def generators(scenario: Scenario) -> np.ndarray:
    """Antisymmetric G, (k, r_s, r_s), with S[z(1 + εG)] = S[z] to first order for all fields z;
    found by trying."""
    rank = scenario.student.rank
    if rank == 1:
        return np.zeros((0, 1, 1))
    rows, columns = np.triu_indices(rank, 1)
    candidates = np.zeros((len(rows), rank, rank))
    (
        candidates[np.arange(len(rows)), rows, columns],
        candidates[np.arange(len(rows)), columns, rows],
    ) = (
        1.0,
        -1.0,
    )
    fields = np.random.default_rng(0).normal(size=(scenario.length, rank, 4))
    response = np.asarray(
        _responses(scenario.student.form)(fields, candidates, scenario.student.values)
    )
    # Combinations of the candidates to which the attention does not respond.
    _, sizes, combinations = np.linalg.svd(
        response.reshape(len(candidates), -1).T, full_matrices=True
    )
    sizes = np.pad(sizes, (0, len(candidates) - len(sizes)))
    null = combinations[sizes <= NULL * max(sizes.max(), 1.0)]
    return np.einsum("kc,cab->kab", null, candidates)


def tangents(x: np.ndarray, rho: np.ndarray, turns: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Orthonormal directions, (k', n), of the gauge orbit at x, in the invariant coordinates
    spanned by `basis`."""
    if len(turns) == 0:
        return np.zeros((0, len(basis)))
    moves = np.asarray(_moves(x, rho, turns)) @ basis.T
    _, sizes, directions = np.linalg.svd(moves, full_matrices=False)
    return directions[sizes > 1e-6]


@lru_cache(maxsize=64)
def _responses(form: Form):
    attention = lifted(form)

    def respond(fields, candidates, parameters):
        turn = lambda G: jnp.einsum("lan,ab->lbn", fields, G)
        of = lambda z: attention(z, **parameters)
        return jax.vmap(lambda G: jax.jvp(of, (fields,), (turn(G),))[1])(candidates)

    return compiled(respond, small=True)


@partial(compiled, small=True)
def _moves(x, rho, turns):
    here = from_coordinates(x, rho, turns.shape[-1])
    both = lambda a, G: G.T @ a + a @ G

    def move(G):
        along = type(here)(both(here.q, G), both(here.V, G), here.m @ G, G.T @ here.theta)
        return jax.jvp(partial(to_coordinates, rho=rho), (here,), (along,))[1]

    return jax.vmap(move)(turns)
