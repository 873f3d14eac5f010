"""The training objective and its derivatives, at the cost of two passes over the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...scenario.arguments import checked
from ...scenario.attentions.attention import Form, entries
from ..data.sampling import Grams, Sample


def gram_loss(answer: Any, guess: Any, grams: Grams) -> Any:
    """‖Tx − Sx̃‖²/(2d) of each sample from scalar products alone (exact at every d):

        ½ Tr[T G^{xx} Tᵀ] − Tr[T G^{xx̃} Sᵀ] + ½ Tr[S G^{x̃x̃} Sᵀ].

    **Arguments**: `answer` T, `guess` S and the `grams`: arrays (L, L, n), or nested lists of
    arrays (n,).
    """
    own = 0.5 * trace(answer, grams.true, answer) + 0.5 * trace(guess, grams.seen, guess)
    return own - trace(answer, grams.mixed, guess)


def trace(left: Any, gram: Any, right: Any) -> Any:
    """Tr[A G Bᵀ] per sample. Written out over the tokens, so that every operation runs along the
    samples."""
    tokens = range(len(left))
    turned = lambda row, k: sum(row[j] * gram[j][k] for j in tokens)
    return sum(turned(left[i], k) * right[i][k] for i in tokens for k in tokens)


@checked
class Objective:
    """F(Q) = Σ_μ ℓ_μ(x̃^μ Q/√d) + (λ/2)‖Q‖², where ℓ_μ(z) = ‖y^μ − S[z] x̃^μ‖²/(2d).

    The loss of a sample depends on the weights only through its fields z = x̃Q/√d ∈ R^{L×r_s};
    everything else about the sample is a few scalar products. So F and its gradient

        ∇F = Σ_μ x̃^μᵀ ∇ℓ_μ/√d + λQ

    cost one pass over x̃ for the fields and one for the gradient; a product with the Hessian costs
    the same. Weights are arrays (d, r_s) in double precision, whatever the precision of the tokens.
    """

    def __init__(self, sample: Sample) -> None:
        import jax

        target = self._prepare(sample)
        with jax.enable_x64(True):
            # The tokens are aligned, so that on a CPU this shares their memory and copies nothing.
            numbers = sample.scenario.student.values
            self._data = jax.device_put(_Data(sample.tokens, target, sample.grams.seen, numbers))

    def _prepare(self, sample: Sample) -> np.ndarray:
        """Everything but the tokens; returns the target T G^{xx̃}."""
        self.sample: Sample = sample
        self.dimension: int = sample.instance.dimension
        self.rank: int = sample.scenario.student.rank
        self.ridge: float = sample.scenario.ridge
        answer, grams = sample.answers, sample.grams
        # ℓ = constant − Tr[C Sᵀ] + ½ Tr[S G^{x̃x̃} Sᵀ] with C = T G^{xx̃}: what Q does not enter is
        # formed once.
        self._constant = 0.5 * float(
            np.einsum("ijn,jkn,ikn->", answer, grams.true, answer, optimize=True)
        )
        self._passes = _compiled(sample.scenario.student.form)
        return np.einsum("ijn,jkn->ikn", answer, grams.mixed)

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """F(Q) and ∇F(Q)."""
        loss, slope = self._run(self._passes.value_and_gradient, weights)
        value = self._constant + float(loss) + 0.5 * self.ridge * float((weights**2).sum())
        return value, slope + self.ridge * weights

    def fields(self, weights: np.ndarray) -> np.ndarray:
        """z = x̃Q/√d, (L, r_s, n)."""
        return self._run(self._passes.fields, weights)

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Σ_μ x̃^μᵀ g^μ/√d, (d, r_s), for g of shape (L, r_s, n)."""
        return self._run(self._passes.pull_back, slopes)

    def curvature(self, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The map v ↦ ∇²F(Q) v at fixed Q, two passes each."""
        z = self.fields(weights)
        return lambda v: self._run(self._passes.curvature, v, z) + self.ridge * v

    def relative_gradient(self, weights: np.ndarray, value: float, gradient: np.ndarray) -> float:
        """‖∇F‖ · max(1, ‖Q‖)/F: the relative change of F per relative change of Q, a number without
        units."""
        size = max(1.0, float(np.linalg.norm(weights)))
        return float(np.linalg.norm(gradient)) * size / max(value, float(np.finfo(float).tiny))

    def _run(self, function: Callable, *arrays: np.ndarray):
        import jax

        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, function(self._data, *arrays))


class _Data(NamedTuple):
    """`tokens`: x̃, (L, n, d); `target`: T G^{xx̃}; `seen`: G^{x̃x̃}; `parameters`: the student's
    numbers."""

    tokens: np.ndarray
    target: np.ndarray
    seen: np.ndarray
    parameters: dict


class _Passes(NamedTuple):
    fields: Callable
    pull_back: Callable
    value_and_gradient: Callable
    curvature: Callable


@lru_cache(maxsize=64)
def _compiled(form: Form) -> _Passes:
    """The compiled passes of one student: fields there, gradient back, and between them sums over
    samples."""
    import jax
    import jax.numpy as jnp

    attention = entries(form)

    def loss(z, data: _Data):
        guess = attention([list(row) for row in z], **data.parameters)
        tokens = range(len(guess))
        linear = sum(guess[i][j] * data.target[i, j] for i in tokens for j in tokens)
        return jnp.sum(0.5 * trace(guess, data.seen, guess) - linear)

    def value_and_gradient(data: _Data, weights):
        value, slopes = jax.value_and_grad(loss)(_fields(data, weights), data)
        return value, _pull_back(data, slopes)

    def curvature(data: _Data, direction, z):
        slope = lambda z: jax.grad(loss)(z, data)
        return _pull_back(data, jax.jvp(slope, (z,), (_fields(data, direction),))[1])

    return _Passes(*map(jax.jit, (_fields, _pull_back, value_and_gradient, curvature)))


def _fields(data: _Data, weights):
    length, count, d = data.tokens.shape
    rows, rank = data.tokens.reshape(length * count, d), weights.shape[1]
    z = _product(rows, (weights / d**0.5).astype(rows.dtype)).astype(float)
    return z.T.reshape(rank, length, count).swapaxes(0, 1)


def _pull_back(data: _Data, slopes):
    length, count, d = data.tokens.shape
    rows = data.tokens.reshape(length * count, d)
    slopes = (slopes.swapaxes(0, 1).reshape(-1, length * count) / d**0.5).astype(rows.dtype)
    return _product(slopes, rows).astype(float).T


def _product(left, right):
    """left @ right in the layouts the compiler multiplies fast."""
    from jax.lax import optimization_barrier

    if right.shape[1] == 1:
        return (left @ right[:, 0])[:, None]
    if left.shape[0] == 1:
        return (left[0] @ right)[None]
    # Without the barriers a transposition is merged into the product, which is then ten times
    # slower.
    left, right = optimization_barrier((left, right))
    return optimization_barrier(left @ right)
