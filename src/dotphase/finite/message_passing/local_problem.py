"""The inner problem of message passing, one per sample: the prox of the exact loss and its
response."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...inner.loss import applied, scaled
from ...overlaps.correlated import blocks_of
from ...scenario.attentions.attention import Form, lifted
from ...scenario.validation import thaw
from ..overlaps import overlaps
from ..training.objective import Objective
from .response import joined


class Prox(NamedTuple):
    """What the samples answer.

    - `fields`: z*, (L, r_s, n);  `slopes`: g = V⁻¹(z* − w), (L, r_s, n).
    - `slope_response`: Σ_μ ∂g_l^μ/∂w_l^μ, (L, r_s, r_s), or Σ_μ s_l s_l' ∂g_l^μ/∂w_l'^μ, shaped
      like V.
    - `several`: the share of samples where more than one minimum was found.
    """

    fields: np.ndarray
    slopes: np.ndarray
    slope_response: np.ndarray
    several: float


class LocalProblem:
    """z* = argmin_z ½ Σ_l (z_l − w_l)ᵀ V_l⁻¹ (z_l − w_l) + ℓ_μ(z) for every sample μ of an
    objective.

    Up to a constant ℓ_μ(z) = ½ ‖A_μ − S[z] K_μ‖² with K_μK_μᵀ = G^{x̃x̃} and A_μ = T G^{xx̃}
    K_μ^{-T}: the loss that the prox knows, of a student whose attention passes through a matrix of
    the sample's own.

    Where V is joint, or every sample has a V of its own, diag(s) V diag(s), the problem is solved
    in coordinates t in which it is the identity: z = diag(s) C t with V = C Cᵀ.
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
        self._scales = data.scales
        self._guess = self._teacher_guess(objective)
        instance, d = data.instance, objective.dimension
        teacher = instance.teacher_weights
        offset = np.einsum("li,it->lt", instance.positions, teacher) / np.sqrt(d)
        self._teacher_fields = objective.fields(teacher) - offset[..., None]
        self._instance = instance

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

    def signal(self, weights: np.ndarray) -> np.ndarray:
        """What of the fields of these weights is signal, E[w | u] = m + θ ρ⁻¹ u, (L, r_s, n)."""
        instance, u = self._instance, self._teacher_fields
        found, teacher = overlaps(instance, weights), instance.teacher_weights
        Gamma = instance.Gamma
        if Gamma is None:
            rho = np.einsum("li,it,iu->ltu", instance.gamma, teacher, teacher) / instance.dimension
            slope = found.theta @ np.linalg.inv(rho)
            return found.m[..., None] + np.einsum("lat,ltn->lan", slope, u)
        with_teacher = lambda left: joined(
            np.einsum("lki,ia,it->lkat", Gamma, left, teacher, optimize=True) / instance.dimension
        )
        slope = with_teacher(weights) @ np.linalg.inv(with_teacher(teacher))
        scales = 1.0 if self._scales is None else self._scales[:, None]
        along = slope @ (u / scales).reshape(-1, u.shape[-1])
        return found.m[..., None] + scales * along.reshape(len(u), -1, u.shape[-1])

    def prox(
        self, w: np.ndarray, response: np.ndarray, near: np.ndarray, how: str = "lowest"
    ) -> Prox:
        """A minimum at centres `w`, (L, r_s, n), for V = `response`, (L, r_s, r_s) or (L, L, r_s,
        r_s): the `"lowest"` found from several starts, `near` among them; the one `"reached"` by
        the flow from `near`; or the `"nearest"`, where Newton's method leads from there."""
        import jax

        guesses = np.stack([near, self._guess, -self._guess])
        with jax.enable_x64(True):
            if self._scales is None and response.ndim == 3:
                found = _compiled(self._form, how)(
                    self._target, w, response, self._parameters, guesses
                )
            else:
                found = self._prox_in_own_coordinates(w, response, guesses, how)
            fields, slopes, slope_response, several = map(np.asarray, found)
        return Prox(fields, slopes, slope_response, float(several))

    def _prox_in_own_coordinates(
        self, w: np.ndarray, V: np.ndarray, guesses: np.ndarray, how: str
    ) -> tuple:
        """z = diag(s) C t with V = C Cᵀ, so that

        g = diag(1/s) C⁻ᵀ (t* − t_w),   Σ_μ s ∂g/∂w s = C⁻ᵀ (Σ_μ ∂t*/∂t_w − 1) C⁻¹.
        """
        C = np.linalg.cholesky(joined(V))
        s = np.ones((len(w), 1, w.shape[-1])) if self._scales is None else self._scales[:, None]
        inverse, flat = np.linalg.inv(C), lambda z: z.reshape(*z.shape[:-3], -1, z.shape[-1])
        turned = lambda matrix, z: (matrix @ flat(z)).reshape(z.shape)
        form = own_coordinates(self._form)
        parameters = {"inner": self._parameters, "factor": C, "scale": s[:, 0]}
        one = np.broadcast_to(np.eye(w.shape[1]), (len(w), w.shape[1], w.shape[1]))
        t, pulls, responses, several = _compiled(form, how, joint=True)(
            self._target, turned(inverse, w / s), one, parameters, turned(inverse, guesses / s)
        )
        slope_response = blocks_of((inverse.T @ np.asarray(responses) @ inverse)[None], len(w))
        if V.ndim == 3:
            slope_response = np.einsum("llab->lab", slope_response)
        return (
            s * turned(C, np.asarray(t)),
            turned(inverse.T, np.asarray(pulls)) / s,
            slope_response,
            several,
        )


@lru_cache(maxsize=64)
def passed_through(student: Form) -> Form:
    """The attention z ↦ S[z] K: one K = `root` per sample, (L, L, n); `inner` are the student's
    numbers."""

    def function(fields, root, inner):
        matrix = lifted(student)(fields, **inner)
        return (matrix[:, :, None] * root[None]).sum(1)

    return Form(function, student.rank, batched=True)


@lru_cache(maxsize=64)
def own_coordinates(student: Form) -> Form:
    """The attention t ↦ S[diag(s) C t]: one s = `scale` per sample, (L, n), one C = `factor` for
    all, (L r, L r)."""

    def function(t, inner, factor, scale):
        return lifted(student)(scaled(applied(factor[None], t), scale), **inner)

    return Form(function, student.rank, batched=True)


def _numbers_of(parameters: dict, sample) -> dict:
    """The numbers of `passed_through`, and of `own_coordinates` around it, for some of the samples."""
    if "root" in parameters:
        return parameters | {"root": parameters["root"][..., sample]}
    own = {
        "inner": _numbers_of(parameters["inner"], sample),
        "scale": parameters["scale"][..., sample],
    }
    return parameters | own


@lru_cache(maxsize=64)
def _slopes(form: Form):
    import jax
    import jax.numpy as jnp

    from ...inner.loss import Problem, energy_and_gradient

    def run(target, z, parameters):
        length, rank, _ = z.shape
        problem = Problem(target, z, jnp.zeros((length, rank, rank)), jnp.ones(length), parameters)
        return energy_and_gradient(form, problem, z)[1]

    return jax.jit(run)


@lru_cache(maxsize=64)
def _compiled(form: Form, how: str, joint: bool = False):
    """The compiled prox. `joint`: V is the identity, and the response of every field to every other
    is wanted."""
    import jax
    import jax.numpy as jnp

    from ...inner.loss import Problem, prox_force
    from ...inner.minima import Reached, flow
    from ...inner.minimiser import descend
    from ...inner.search import search
    from ...numerics.elimination import eliminate

    def run(target, w, V, parameters, guesses):
        length, rank, count = w.shape
        precision = jnp.linalg.inv(V)
        problem = Problem(target, w, precision, jnp.ones(length), parameters)
        best = (
            search(form, problem, guesses, rivals=1, parameters_of=_numbers_of)
            if how == "lowest"
            else None
        )
        if how == "reached":
            end = descend(form, problem, flow(form, problem, guesses[0], V, Reached()).z)
        else:
            end = descend(form, problem, guesses[0] if best is None else best.z)
        # ∂z*/∂w = (V⁻¹ + ∇²ℓ)⁻¹ V⁻¹, so ∂g/∂w = V⁻¹ (∂z*/∂w − 1); of tokens on their own only the
        # blocks within one.
        size = length * rank
        wide = jax.scipy.linalg.block_diag(*precision)
        moved, _ = eliminate(end.hessian, jnp.broadcast_to(wide[:, :, None], (size, size, count)))
        if joint:
            response = moved.sum(-1) - count * jnp.eye(size)
        else:
            mean = moved.sum(-1).reshape(length, rank, length, rank)
            blocks = jnp.stack([mean[l, :, l] for l in range(length)])
            response = precision @ (blocks - count * jnp.eye(rank))
        response = 0.5 * (response + response.swapaxes(-2, -1))
        return (
            end.z,
            prox_force(problem, end.z),
            response,
            jnp.zeros(()) if best is None else best.several.mean(),
        )

    return jax.jit(run)
