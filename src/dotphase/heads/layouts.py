"""Scores of the first layer's heads, for the layouts of known families of models.

The input of the first layer is E[x_i] (+ P_i), so that its scores need no forward pass:

    u_i = norm(E[x_i] + P_i),   q_i = R_i(u_i W_Q + b_Q),   k_j = R_j(u_j W_K + b_K),   s_ij = q_i · k_j/√d_h

with R_i the rotation of rotary encodings by the angles i θ^(−2m/r), r the rotated coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Tensor = Callable[..., np.ndarray]  # (name, shape) → array


class Rotary(NamedTuple):
    """`size` r, the number of coordinates of a head that are rotated, and `base` θ."""

    size: int
    base: float = 10_000.0


class Projections(NamedTuple):
    """What the first layer's scores are made of.

    - `W_Q`: (heads, D, d_h);  `W_K`: (key heads, D, d_h);  `b_Q`, `b_K`: (heads, d_h).
    - `norm`: of the layer's input, (…, D) → (…, D);  `norm_q`, `norm_k`: of each query and key.
    """

    W_Q: np.ndarray
    W_K: np.ndarray
    b_Q: np.ndarray | float
    b_K: np.ndarray | float
    scale: float
    norm: Callable[[np.ndarray], np.ndarray] = lambda x: x
    norm_q: Callable[[np.ndarray], np.ndarray] | None = None
    norm_k: Callable[[np.ndarray], np.ndarray] | None = None
    rotary: Rotary | None = None
    causal: bool = True


def scores_of(layer: Projections, x: np.ndarray) -> np.ndarray:
    """Scores (n, heads, L, L) of inputs x, (n, L, D); −∞ above the diagonal of causal ones.

    Query head h uses key head ⌊h/(heads/key heads)⌋: consecutive queries share a key.
    """
    u = layer.norm(x)
    q, k = (
        np.einsum("nld,hdk->nhlk", u, W, optimize=True) + np.atleast_1d(b)[..., None, :]
        for W, b in ((layer.W_Q, layer.b_Q), (layer.W_K, layer.b_K))
    )
    if layer.norm_q is not None and layer.norm_k is not None:
        q, k = layer.norm_q(q), layer.norm_k(k)
    if layer.rotary is not None:
        q, k = rotated(q, layer.rotary), rotated(k, layer.rotary)
    k = np.repeat(k, len(layer.W_Q) // len(layer.W_K), axis=1)
    s = layer.scale * (q @ k.swapaxes(-1, -2))
    if layer.causal:
        s[..., *np.triu_indices(s.shape[-1], 1)] = -np.inf
    return s


def rotated(vectors: Any, rotary: Rotary) -> Any:
    """Vectors (…, L, d_h) with coordinates m and m + r/2 turned by the angle i θ^(−2m/r) at place i;
    of NumPy or JAX."""
    length, width = vectors.shape[-2:]
    half = rotary.size // 2
    angle = np.zeros((length, width))
    angle[:, : 2 * half] = np.tile(rotary.base ** (-np.arange(half) / half), 2)
    angle *= np.arange(length)[:, None]
    turn = np.zeros((width, width))  # by a right angle
    turn[np.arange(half) + half, np.arange(half)] = -1
    turn[np.arange(half), np.arange(half) + half] = 1
    return vectors * np.cos(angle) + (vectors @ turn) * np.sin(angle)


def gpt2(config: dict[str, Any], tensor: Tensor, width: int) -> Projections:
    """Learned positions, LayerNorm; queries, keys and values in one matrix (D, 3D)."""
    heads = _number(config, "n_head")
    size = _divided(width, heads)
    weight = tensor("h.0.attn.c_attn.weight", (width, 3 * width))
    bias = tensor("h.0.attn.c_attn.bias", (3 * width,))
    W = [weight[:, k * width : (k + 1) * width].reshape(width, heads, size) for k in (0, 1)]
    b = [bias[k * width : (k + 1) * width].reshape(heads, size) for k in (0, 1)]
    norm = layer_norm(tensor, "h.0.ln_1", width, config.get("layer_norm_epsilon", 1e-5))
    scale = size**-0.5 if config.get("scale_attn_weights", True) else 1.0
    W_Q, W_K = (each.transpose(1, 0, 2) for each in W)
    return Projections(W_Q, W_K, b[0], b[1], scale, norm)


def gpt_neox(config: dict[str, Any], tensor: Tensor, width: int) -> Projections:
    """LayerNorm, rotary encoding of a part of each head; rows of the one matrix (3D, D) are ordered
    head by head: query, key, value."""
    heads = _number(config, "num_attention_heads")
    size = _divided(width, heads)
    weight = tensor("layers.0.attention.query_key_value.weight", (3 * width, width))
    W = weight.reshape(heads, 3, size, width).transpose(1, 0, 3, 2)
    b = np.zeros((2, heads, size))
    if config.get("attention_bias", True):
        bias = tensor("layers.0.attention.query_key_value.bias", (3 * width,))
        b = bias.reshape(heads, 3, size).transpose(1, 0, 2)
    norm = layer_norm(tensor, "layers.0.input_layernorm", width, config.get("layer_norm_eps", 1e-5))
    rope = _rope(config)
    part = rope.get("partial_rotary_factor", config.get("rotary_pct", 0.25))
    base = rope.get("rope_theta", config.get("rotary_emb_base", 10_000))
    rotary = Rotary(int(size * part), float(base))
    return Projections(W[0], W[1], b[0], b[1], size**-0.5, norm, rotary=rotary)


def llama(config: dict[str, Any], tensor: Tensor, width: int) -> Projections:
    """RMS norm, rotary encoding, grouped queries; biases (Qwen2) and norms of queries and keys
    (Qwen3) where the file has them."""
    heads = _number(config, "num_attention_heads")
    shared = int(config.get("num_key_value_heads") or heads)
    if not 0 < shared <= heads or heads % shared:
        raise ValueError(f"config: {heads} query heads cannot share {shared} key heads evenly")
    size = int(config.get("head_dim") or _divided(width, heads))
    epsilon = config.get("rms_norm_eps", 1e-6)
    parts: dict[str, Any] = {}
    for letter, number in (("q", heads), ("k", shared)):
        name = f"layers.0.self_attn.{letter}_"
        weight = tensor(f"{name}proj.weight", (number * size, width))
        parts[f"W_{letter.upper()}"] = weight.reshape(number, size, width).transpose(0, 2, 1)
        bias = tensor(f"{name}proj.bias", (number * size,), optional=True)
        parts[f"b_{letter.upper()}"] = 0.0 if bias is None else bias.reshape(number, size)
        inner = tensor(f"{name}norm.weight", (size,), optional=True)
        if inner is not None:
            parts[f"norm_{letter}"] = rms_norm(inner, epsilon)
    norm = rms_norm(tensor("layers.0.input_layernorm.weight", (width,)), epsilon)
    rope = _rope(config)
    base = rope.get("rope_theta", config.get("rope_theta", 10_000))
    return Projections(**parts, scale=size**-0.5, norm=norm, rotary=Rotary(size, float(base)))


class Layout(NamedTuple):
    """Names of a family's tensors, and its projections."""

    prefixes: tuple[str, ...]
    embedding: str
    positions: str
    projections: Callable[[dict[str, Any], Tensor, int], Projections]


_LLAMA = Layout(("model.", ""), "embed_tokens.weight", "", llama)
LAYOUTS = {
    "gpt2": Layout(("transformer.", ""), "wte.weight", "wpe.weight", gpt2),
    "gpt_neox": Layout(("gpt_neox.", ""), "embed_in.weight", "", gpt_neox),
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3"), _LLAMA),
}


def layer_norm(tensor: Tensor, name: str, width: int, epsilon: float) -> Callable:
    weight, bias = (tensor(f"{name}.{part}", (width,)) for part in ("weight", "bias"))

    def norm(x: np.ndarray) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weight + bias

    return norm


def rms_norm(weight: np.ndarray, epsilon: float) -> Callable:
    return lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weight


def _rope(config: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the rotary encoding, wherever the version of the config has them."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise ValueError(f"config: rotary encodings scaled by {kind!r} are not known")
    return rope


def _number(config: dict[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"config: {name} is {value!r}; a number of heads is needed")
    return value


def _divided(width: int, heads: int) -> int:
    if width % heads:
        raise ValueError(f"config: a width of {width} cannot be divided among {heads} heads")
    return width // heads
