"""The whole transformer, top to bottom: embed, attend once, normalise, one hidden layer, logits.

    x_i    = W_E[t_i] + W_pos[i]                                     the residual stream, width D
    s_ij   = (x_i W_Q)·(x_j W_K) / √D,    A = softmax_j(s)           attention
    z_i    = Σ_j A_ij x_j W_V                                        no skip connection
    logits = relu(LayerNorm(z) W_in + b_in) W_out + b_out            one logit per count 0..L

A mechanism restricts the coordinates that the scores s use. Tokens use the first half of the D
coordinates, positions in the second; the *semantic* model scores the first half only, the
*positional* model the second only, the *free* model uses both. The restriction is equivalent to
zeros in the weights (`fold`), so a restricted model is a free model with some weights at zero, and
all three have the same loss function.
"""

from functools import partial
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..scenario.arguments import checked
from .data import CountingTask

Mechanism = Literal["semantic", "positional", "free"]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


class Weights(NamedTuple):
    """Every trained number of the model, float32 (T letters, L positions, width D, hidden H)."""

    W_E: Array  # (T, D)   token embedding
    W_pos: Array  # (L, D)   position embedding
    W_Q: Array  # (D, D)   queries
    W_K: Array  # (D, D)   keys
    W_V: Array  # (D, D)   values
    ln_scale: Array  # (D,)     LayerNorm
    ln_shift: Array  # (D,)
    W_in: Array  # (D, H)   MLP
    b_in: Array  # (H,)
    W_out: Array  # (H, L+1)
    b_out: Array  # (L+1,)


@checked
@partial(jax.jit, static_argnames=("task", "width", "hidden"))
def initial_weights(key: Array, task: CountingTask, width: int = 64, hidden: int = 128) -> Weights:
    """Random weights: embeddings N(0, 1), matrices uniform in ±1/√rows, biases 0, LayerNorm the
    identity.

    **Returns**: `Weights`.
    """
    if width % 2:
        raise ValueError(
            f"width: must be even, to be halved between tokens and positions; got {width}"
        )
    keys = iter(jax.random.split(key, 7))
    classes = task.length + 1

    def embedding(rows):
        return jax.random.normal(next(keys), (rows, width), jnp.float32)

    def matrix(rows, columns):
        bound = rows**-0.5
        return jax.random.uniform(next(keys), (rows, columns), jnp.float32, -bound, bound)

    return Weights(
        W_E=embedding(task.letters),
        W_pos=embedding(task.length),
        W_Q=matrix(width, width),
        W_K=matrix(width, width),
        W_V=matrix(width, width),
        ln_scale=jnp.ones(width, jnp.float32),
        ln_shift=jnp.zeros(width, jnp.float32),
        W_in=matrix(width, hidden),
        b_in=jnp.zeros(hidden, jnp.float32),
        W_out=matrix(hidden, classes),
        b_out=jnp.zeros(classes, jnp.float32),
    )


@checked
def fold(weights: Weights, mechanism: Mechanism) -> Weights:
    """Write a mechanism's restriction into the weights: the same model, in the free
    parameterisation.

    Weights that the restriction excludes become zero, in W_E and W_pos (columns) and W_Q and W_K
    (rows).

    **Returns**: `Weights` of the same shapes.
    """
    if mechanism == "free":
        return weights
    width = weights.W_E.shape[-1]
    token_half = (np.arange(width) < width // 2).astype(np.float32)
    position_half = 1 - token_half
    seen = (token_half if mechanism == "semantic" else position_half)[:, None]
    return weights._replace(
        W_E=weights.W_E * token_half,
        W_pos=weights.W_pos * position_half,
        W_Q=weights.W_Q * seen,
        W_K=weights.W_K * seen,
    )


@checked
@partial(jax.jit, static_argnames="mechanism")
def attention(weights: Weights, tokens: Array | np.ndarray, mechanism: Mechanism = "free") -> Array:
    """The attention probabilities A (..., L, L) of `tokens` (..., L); row i is the attention of
    position i, the softmax of its `scores`.

    **Returns**: an array (…, L, L).
    """
    return jax.nn.softmax(scores(weights, tokens, mechanism), axis=-1)


@checked
@partial(jax.jit, static_argnames="mechanism")
def scores(weights: Weights, tokens: Array | np.ndarray, mechanism: Mechanism = "free") -> Array:
    """The scores s (..., L, L) of `tokens` (..., L), before the softmax.

    With X_i = [onehot(t_i) | onehot(i)] and the vocabulary U = [W_E; W_pos], x = X U, so that s = X
    QK Xᵀ with the query-key circuit QK = (U W_Q)(U W_K)ᵀ/√D, a table of (T+L)² scores. It is formed
    once for all sequences, instead of x W_Q and x W_K for every token: the same function, at a
    tenth of the cost.

    **Returns**: an array (…, L, L).
    """
    weights = fold(weights, mechanism)
    letters, width = weights.W_E.shape
    vocabulary = _vocabulary(weights)
    QK = (vocabulary @ weights.W_Q) @ (vocabulary @ weights.W_K).T * width**-0.5
    # X is never built whole: its second block is the identity, so the products with it are slices.
    onehot = _onehot(tokens, letters)
    to_vocabulary = onehot @ QK[:letters] + QK[letters:]
    return (
        to_vocabulary[..., :letters] @ jnp.swapaxes(onehot, -1, -2) + to_vocabulary[..., letters:]
    )


@checked
@partial(jax.jit, static_argnames="mechanism")
def logits(weights: Weights, tokens: Array | np.ndarray, mechanism: Mechanism = "free") -> Array:
    """The logits (..., L, L+1) of the counts 0..L at every position of `tokens` (..., L).

    **Returns**: an array (…, L, L + 1).
    """
    weights = fold(weights, mechanism)
    A = attention(weights, tokens)
    # As in `attention`: A x W_V = (A X) OV, with the output-value circuit OV = U W_V formed once.
    mixture = jnp.concatenate([A @ _onehot(tokens, weights.W_E.shape[0]), A], axis=-1)
    z = mixture @ (_vocabulary(weights) @ weights.W_V)
    hidden = jax.nn.relu(_layer_norm(z, weights) @ weights.W_in + weights.b_in)
    return hidden @ weights.W_out + weights.b_out


def _vocabulary(weights):
    return jnp.concatenate([weights.W_E, weights.W_pos])


def _onehot(tokens, letters):
    # A product with one-hot rows instead of a lookup: the lookup's gradient is a slow scatter on a
    # CPU.
    return jax.nn.one_hot(tokens, letters, dtype=jnp.float32)


def _layer_norm(z, weights, epsilon=1e-5):
    centred = z - z.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + epsilon) * weights.ln_scale + weights.ln_shift
