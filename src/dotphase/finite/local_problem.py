"""The inner problem of message passing, one per sample: the prox of the exact loss and its response."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..overlaps import WeightOverlaps
from ..scenario.attention import Form, lifted
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
        instance, d = data.instance, objective.dimension
        teacher = instance.teacher_weights
        offset = np.einsum("li,it->lt", instance.positions, teacher) / np.sqrt(d)
        self._teacher_fields = objective.fields(teacher) - offset[..., None]
        self._rho = np.einsum("li,it,iu->ltu", instance.gamma, teacher, teacher) / d

    @staticmethod
    def _teacher_guess(objective: Objective) -> np.ndarray:
        # Good minima lie where the student reproduces the teacher's own fields.
        instance = objective.sample.instance
        spread = thaw(instance.scenario.student.spread)  # type: ignore[arg-type]
        kept = min(len(spread), instance.teacher_weights.shape[1])
        weights = instance.teacher_weights[:, :kept] @ spread[:kept]
        return objective.fields(weights)

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """∇ℓ_μ(z), (L, r_s, n)."""
        import jax

        with jax.enable_x64(True):
            return np.asarray(_slopes(self._form)(self._target, z, self._parameters))

    def signal(self, overlaps: WeightOverlaps) -> np.ndarray:
        """What of the fields of weights with these overlaps is signal, m + θ ρ⁻¹ u, (L, r_s, n)."""
        slope = overlaps.theta @ np.linalg.inv(self._rho)
        return overlaps.m[..., None] + np.einsum("lat,ltn->lan", slope, self._teacher_fields)

    def prox(self, w: np.ndarray, response: np.ndarray, near: np.ndarray, how: str = "lowest") -> Prox:
        """A minimum at centres `w`, (L, r_s, n), for V = `response`, (L, r_s, r_s): the `"lowest"` found from several
        starts, `near` among them; the one `"reached"` by the flow from `near`; or the `"nearest"`, where Newton's
        method leads from there."""
        import jax

        guesses = np.stack([near, self._guess, -self._guess])
        with jax.enable_x64(True):
            found = _compiled(self._form, how)(self._target, w, response, self._parameters, guesses)
            fields, slopes, slope_response, several = map(np.asarray, found)
        return Prox(fields, slopes, slope_response, float(several))


@lru_cache(maxsize=64)
def passed_through(student: Form) -> Form:
    """The attention z ↦ S[z] K: one K = `root` per sample, (L, L, n); `inner` are the student's numbers."""

    def function(fields, root, inner):
        matrix = lifted(student)(fields, **inner)
        return (matrix[:, :, None] * root[None]).sum(1)

    return Form(function, student.rank, batched=True)


def _roots_of(parameters: dict, sample) -> dict:
    """The numbers of `passed_through` for some of the samples."""
    return parameters | {"root": parameters["root"][..., sample]}


@lru_cache(maxsize=64)
def _slopes(form: Form):
    import jax
    import jax.numpy as jnp

    from ..inner import Problem, energy_and_gradient

    def run(target, z, parameters):
        length, rank, _ = z.shape
        problem = Problem(target, z, jnp.zeros((length, rank, rank)), jnp.ones(length), parameters)
        return energy_and_gradient(form, problem, z)[1]

    return jax.jit(run)


@lru_cache(maxsize=64)
def _compiled(form: Form, how: str):
    import jax
    import jax.numpy as jnp

    from ..inner import Problem, Reached, descend, eliminate, flow, pull, search

    def run(target, w, V, parameters, guesses):
        length, rank, count = w.shape
        precision = jnp.linalg.inv(V)
        problem = Problem(target, w, precision, jnp.ones(length), parameters)
        best = search(form, problem, guesses, rivals=1, parameters_of=_roots_of) if how == "lowest" else None
        if how == "reached":
            end = descend(form, problem, flow(form, problem, guesses[0], V, Reached()).z)
        else:
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
