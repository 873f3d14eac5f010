"""The inner problem of message passing, one per sample: the prox of the exact loss and its response."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..scenario.attention import Form, entries
from ..scenario.frozen import thaw
from .objective import Objective


class Prox(NamedTuple):
    """What the samples answer.

    - `fields`: z*, (L, r_s, n);  `slopes`: g = V⁻¹(z* − w), (L, r_s, n).
    - `slope_response`: Σ_μ ∂g_l^μ/∂w_l^μ, (L, r_s, r_s).
    - `several`: the share of samples where more than one minimum was found.
    """

    fields: np.ndarray
    slopes: np.ndarray
    slope_response: np.ndarray
    several: float


class LocalProblem:
    """z* = argmin_z ½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l) + ℓ_μ(z) for every sample μ of an objective.

    Up to a constant ℓ_μ(z) = ½ ‖A_μ − S[z] K_μ‖² with K_μK_μᵀ = G^{x̃x̃} and A_μ = T G^{xx̃} K_μ^{-T}: the loss
    that the prox knows, of a student whose attention passes through a matrix of the sample's own.
    """

    def __init__(self, objective: Objective) -> None:
        data = objective.sample
        student = data.scenario.student
        root = np.linalg.cholesky(np.moveaxis(data.grams.seen, -1, 0))
        wanted = np.moveaxis(np.einsum("ijn,jkn->ikn", data.answers, data.grams.mixed), -1, 0)
        target = np.swapaxes(np.linalg.solve(root, np.swapaxes(wanted, 1, 2)), 1, 2)
        last = lambda array: np.ascontiguousarray(np.moveaxis(array, 0, -1))
        self._form = passed_through(student.form)
        self._target = last(target)
        self._parameters = {"root": last(root), "inner": student.values}
        self._guess = self._teacher_guess(objective)

    @staticmethod
    def _teacher_guess(objective: Objective) -> np.ndarray:
        # Good minima lie where the student reproduces the teacher's own fields.
        instance = objective.sample.instance
        spread = thaw(instance.scenario.student.spread)  # type: ignore[arg-type]
        kept = min(len(spread), instance.teacher_weights.shape[1])
        weights = instance.teacher_weights[:, :kept] @ spread[:kept]
        return objective.fields(weights)

    def prox(self, w: np.ndarray, response: np.ndarray, near: np.ndarray, everywhere: bool = True) -> Prox:
        """The prox at centres `w`, (L, r_s, n), for V = `response`, (L, r_s, r_s): the lowest minimum found
        from several starts, `near` among them, or the one that `near` leads to."""
        import jax

        guesses = np.stack([near, self._guess, -self._guess])
        with jax.enable_x64(True):
            found = _compiled(self._form, everywhere)(
                self._target, w, np.linalg.inv(response), self._parameters, guesses
            )
            fields, slopes, slope_response, several = map(np.asarray, found)
        return Prox(fields, slopes, slope_response, float(several))


@lru_cache(maxsize=64)
def passed_through(student: Form) -> Form:
    """The attention z ↦ S[z] K: one K = `root` per sample, (L, L, n); `inner` are the student's numbers."""

    def function(fields, root, inner):
        matrix = entries(student)(fields, **inner)
        tokens = range(len(matrix))
        return [[sum(row[k] * root[k, j] for k in tokens) for j in tokens] for row in matrix]

    return Form(function, student.rank, entrywise=True)


def _roots_of(parameters: dict, sample) -> dict:
    """The numbers of `passed_through` for some of the samples."""
    return parameters | {"root": parameters["root"][..., sample]}


@lru_cache(maxsize=64)
def _compiled(form: Form, everywhere: bool):
    import jax
    import jax.numpy as jnp

    from ..inner.linear import eliminate
    from ..inner.loss import Problem, pull
    from ..inner.minimiser import descend
    from ..inner.search import search

    def run(target, w, precision, parameters, guesses):
        length, rank, count = w.shape
        problem = Problem(target, w, precision, jnp.ones(length), parameters)
        best = search(form, problem, guesses, rivals=1, parameters_of=_roots_of) if everywhere else None
        end = descend(form, problem, guesses[0] if best is None else best.z)
        # ∂z*/∂w = (V⁻¹ + ∇²ℓ)⁻¹ V⁻¹, so ∂g/∂w = V⁻¹ (∂z*/∂w − 1); only the blocks within a token are needed.
        size = length * rank
        wide = jax.scipy.linalg.block_diag(*precision)
        moved, _ = eliminate(end.hessian, jnp.broadcast_to(wide[:, :, None], (size, size, count)))
        mean = moved.sum(-1).reshape(length, rank, length, rank)
        blocks = jnp.stack([mean[l, :, l] for l in range(length)])
        response = precision @ (blocks - count * jnp.eye(rank))
        response = 0.5 * (response + response.swapaxes(1, 2))
        return end.z, pull(problem, end.z), response, jnp.zeros(()) if best is None else best.several.mean()

    return jax.jit(run)
