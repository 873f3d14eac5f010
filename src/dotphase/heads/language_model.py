"""A small causal language model, top to bottom: embed, attend, one hidden layer, predict the next
word.

    x_i    = E[t_i] + P_i                                          width D; without P if rotary
    s_ij   = R_i(x_i W_Q)·R_j(x_j W_K)/√d_h,  A = softmax_{j ≤ i}(s)      R = 1 unless rotary
    x_i   += Σ_heads Σ_j A_ij x_j W_V W_O
    x_i   += relu(norm(x_i) W_in) W_out
    logits = norm(x_i) Eᵀ                                          of the word t_{i+1}

There is no norm before the attention, so that the scores of the first layer are E and P alone:
`dotphase.heads.load` reads them as arrays. norm divides by the root mean square entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from ..scenario.validation import finite_number, whole_number
from .layouts import Rotary, rotated


@dataclass(frozen=True)
class Model:
    """The sizes of the model and how it is trained.

    - `words`: T, the most frequent words of the text, others left out;  `length`: L, the context.
    - `layers`, `heads`, `width` D, `hidden`: of the network.
    - `positions`: "learned", P, or "rotary", rotations R_i of queries and keys.
    - `batch`: sentences per step of Adam with step size `rate`.
    """

    words: int = 800
    length: int = 16
    layers: int = 1
    heads: int = 4
    width: int = 64
    hidden: int = 128
    positions: str = "learned"
    batch: int = 32
    rate: float = 2e-3

    def __post_init__(self) -> None:
        for name in ("words", "length", "layers", "heads", "width", "hidden", "batch"):
            whole_number(name, getattr(self, name))
        if self.positions not in ("learned", "rotary"):
            raise ValueError(f"positions: expected learned or rotary, got {self.positions!r}")
        if self.width % self.heads:
            raise ValueError(f"width: {self.width} cannot be divided among {self.heads} heads")
        finite_number("rate", self.rate, above=True)


class Weights(NamedTuple):
    """Every trained number; the first axis of W_Q … W_out is the layer (K layers, H heads)."""

    E: Array  # (T, D)
    P: Array  # (L, D); (0, D) for rotary encodings
    W_Q: Array  # (K, H, D, d_h)
    W_K: Array  # (K, H, D, d_h)
    W_V: Array  # (K, H, D, d_h)
    W_O: Array  # (K, H, d_h, D)
    W_in: Array  # (K, D, hidden)
    W_out: Array  # (K, hidden, D)


class State(NamedTuple):
    """What the next step needs."""

    weights: Weights
    optimiser: Any
    key: Array


def initial_weights(key: Array, model: Model) -> Weights:
    """Embeddings N(0, 1/D) · √(D)/8, matrices N(0, 1/rows)."""
    D, size, K = model.width, model.width // model.heads, model.layers
    keys = iter(jax.random.split(key, 8))
    normal = lambda shape, scale: scale * jax.random.normal(next(keys), shape, jnp.float32)
    inner = (K, model.heads, D, size)
    return Weights(
        E=normal((model.words, D), 0.125),
        P=normal((model.length if model.positions == "learned" else 0, D), 0.125),
        W_Q=normal(inner, D**-0.5),
        W_K=normal(inner, D**-0.5),
        W_V=normal(inner, D**-0.5),
        W_O=normal((K, model.heads, size, D), D**-0.5),
        W_in=normal((K, D, model.hidden), D**-0.5),
        W_out=normal((K, model.hidden, D), model.hidden**-0.5),
    )


def forward(weights: Weights, ids: Array) -> tuple[Array, Array]:
    """Logits of the next word, (n, L, T), and scores, (n, layers, heads, L, L), of ids (n, L)."""
    length = ids.shape[-1]
    learned = len(weights.P) > 0
    x = weights.E[ids] + (weights.P[:length] if learned else 0)
    seen = jnp.tril(jnp.ones((length, length), bool))
    scores = []
    for k in range(len(weights.W_Q)):
        q, key, value = (
            jnp.einsum("nld,hdk->nhlk", x, W[k]) for W in (weights.W_Q, weights.W_K, weights.W_V)
        )
        if not learned:
            turns = Rotary(q.shape[-1])
            q, key = rotated(q, turns), rotated(key, turns)
        s = jnp.einsum("nhik,nhjk->nhij", q, key) * q.shape[-1] ** -0.5
        s = jnp.where(seen, s, -jnp.inf)
        scores.append(s)
        mixed = jax.nn.softmax(s) @ value
        x = x + jnp.einsum("nhlk,hkd->nld", mixed, weights.W_O[k])
        x = x + jax.nn.relu(_norm(x) @ weights.W_in[k]) @ weights.W_out[k]
    return _norm(x) @ weights.E.T * weights.E.shape[1] ** 0.5 / 8, jnp.stack(scores, 1)


def loss(weights: Weights, ids: Array) -> Array:
    """Cross-entropy −⟨log p(t_{i+1} | t_1 … t_i)⟩ in nats per word, of sentences (n, L + 1)."""
    logits, _ = forward(weights, ids[:, :-1])
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), ids[:, 1:, None], -1)
    return -chosen.mean()


@lru_cache(maxsize=8)
def compiled_steps(model: Model) -> Any:
    """`steps(states, texts, number)` for all seeds at once: so many steps of Adam on random sentences
    of L + 1 consecutive words; returns the states and the mean loss."""
    optimiser = optax.adam(model.rate)

    def step(state: State, text: Array) -> tuple[State, Array]:
        key, draw = jax.random.split(state.key)
        first = jax.random.randint(draw, (model.batch, 1), 0, len(text) - model.length)
        ids = text[first + jnp.arange(model.length + 1)]
        value, slope = jax.value_and_grad(loss)(state.weights, ids)
        update, memory = optimiser.update(slope, state.optimiser)
        return State(optax.apply_updates(state.weights, update), memory, key), value  # pyright: ignore[reportArgumentType]

    def run(state: State, text: Array, number: int) -> tuple[State, Array]:
        state, values = jax.lax.scan(lambda s, _: step(s, text), state, length=number)
        return state, values.mean()

    return jax.jit(
        lambda states, text, number: jax.vmap(partial(run, text=text, number=number))(states),
        static_argnames="number",
    )


def initial_states(model: Model, seeds: tuple[int, ...]) -> State:
    """The states of all seeds before the first step; seeds are on the first axis."""

    def one(key: Array) -> State:
        weights = initial_weights(jax.random.fold_in(key, 0), model)
        return State(weights, optax.adam(model.rate).init(weights), jax.random.fold_in(key, 1))

    return jax.vmap(one)(jnp.stack([jax.random.key(seed) for seed in seeds]))


def _norm(x: Array) -> Array:
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-6)
