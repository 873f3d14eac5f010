"""The catalogue of attentions: each a name, a formula, a few numbers, and one short function of
many samples.

With fields h ∈ R^{L×r} of one sample, scores are s = h hᵀ, or s = h_Q h_Kᵀ if untied, h = (h_Q |
h_K); most attentions turn scores into a matrix, some look at the fields otherwise. All are written
for many samples on the last axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import array, checked, checked_with
from ..validation import finite_number, freeze, thaw
from .attention import Attention


@dataclass(frozen=True)
class Entry:
    """One attention: its `kind`, `formula`, what its `numbers` mean, and `build`, its constructor."""

    kind: str
    formula: str
    numbers: Mapping[str, str]
    build: Callable[..., Attention]

    def to_dict(self) -> dict[str, Any]:
        """As `dotphase attentions --json` prints it."""
        return {"kind": self.kind, "formula": self.formula, "parameters": dict(self.numbers)}


# ------------------------------------------------------------------------------ from scores to rows


@checked
def softmax(rank: int = 1, tied: bool = True) -> Attention:
    """Dot-product attention: S[h] = softmax_rows(h hᵀ); untied, S[h] = softmax_rows(h_Q h_Kᵀ) with
    h = (h_Q | h_K).

    **Arguments**: `rank`, the width of the query; `tied`: an untied attention has twice as many
    columns.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=softmax(2))`.
    """
    return _scored("softmax", _softmax, rank, tied)


@checked
def linear(rank: int = 1, tied: bool = True) -> Attention:
    """Attention without the softmax: S[h] = h hᵀ; untied, S[h] = h_Q h_Kᵀ.

    **Arguments**: `rank` and `tied` as in `softmax`.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=linear())`.
    """
    return _scored("linear", _linear, rank, tied)


@checked
def tempered(rank: int = 1, tied: bool = True, temperature: float = 1.0) -> Attention:
    """Softmax at a temperature: S[h] = softmax_rows(s/τ), τ = `temperature`.

    **Arguments**: `rank` and `tied` as in `softmax`; `temperature`, τ > 0.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=tempered(temperature=0.5))`.
    """
    return _scored(
        "tempered", _tempered, rank, tied, temperature=_positive("temperature", temperature)
    )


@checked
def causal(rank: int = 1, tied: bool = True) -> Attention:
    """Softmax that looks back only: S[h]_ij ∝ exp(s_ij) for j ≤ i, else 0.

    **Arguments**: `rank` and `tied` as in `softmax`.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=causal())`.
    """
    return _scored("causal", _causal, rank, tied)


@checked
def sink(rank: int = 1, tied: bool = True) -> Attention:
    """Softmax that may look nowhere ("softmax-1"): S[h]_ij = exp(s_ij)/(1 + Σ_k exp(s_ik)).

    **Arguments**: `rank` and `tied` as in `softmax`.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=sink())`.
    """
    return _scored("sink", _sink, rank, tied)


@checked
def sigmoid(rank: int = 1, tied: bool = True, threshold: float = 0.0) -> Attention:
    """Every score for itself: S[h]_ij = 1/(1 + exp(b − s_ij)), b = `threshold`.

    **Arguments**: `rank` and `tied` as in `softmax`; `threshold`, b.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=sigmoid(threshold=0.7))`.
    """
    return _scored(
        "sigmoid", _sigmoid, rank, tied, threshold=freeze("threshold", threshold, ndim=0)
    )


@checked
def relu(rank: int = 1, tied: bool = True) -> Attention:
    """Scores below zero cut off: S[h]_ij = max(s_ij, 0)/L.

    **Arguments**: `rank` and `tied` as in `softmax`.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=relu())`.
    """
    return _scored("relu", _relu, rank, tied)


@checked
def relative(rank: int = 1, tied: bool = True, bias: ArrayLike = (0.0,)) -> Attention:
    """Softmax with a bias by relative position: S[h] = softmax_rows(s_ij + b_{j−i}).

    **Arguments**: `rank` and `tied` as in `softmax`; `bias`, b_{1−L} … b_{L−1}: 2L − 1 numbers.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=relative(bias=[-0.5, 0.0, 0.5]))`.
    """
    return _scored("relative", _relative, rank, tied, bias=freeze("bias", bias, ndim=1))


# ----------------------------------------------------------------------------------- other formulas


@checked
def kernel(rank: int = 1, width: float = 1.0) -> Attention:
    """Nearness in place of the scalar product: S[h]_ij ∝ exp(−‖h_i − h_j‖²/(2w²)), rows summing to
    one, w = `width`.

    **Arguments**: `rank`, columns of h; `width`, w > 0.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=kernel(width=0.8))`.
    """
    numbers = {"width": _positive("width", width)}
    return Attention(
        _kernel,
        rank,
        numbers,
        batched=True,
        symmetric=_any,
        kind="kernel",
        settings=(("rank", rank),),
    )


@checked
def heads(heads: int = 2, rank: int = 1, shares: ArrayLike | None = None) -> Attention:
    """Several heads, mixed in fixed shares: S[h] = Σ_k a_k softmax_rows(h_k h_kᵀ), h = (h_1 | h_2 |
    …).

    **Arguments**: `heads`, how many; `rank`, of each; `shares`, a_k, equal and summing to one
    unless given.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(student=heads(2, shares=[0.7, 0.3]))`.
    """
    given = np.full(heads, 1 / heads) if shares is None else thaw(freeze("shares", shares, ndim=1))
    if len(given) != heads:
        raise ValueError(f"shares: expected {heads}, one per head, got {len(given)}")
    settings = (("heads", heads), ("rank", rank))
    function = _Heads(heads)
    return Attention(
        function,
        heads * rank,
        {"shares": given},
        batched=True,
        symmetric=_any,
        kind="heads",
        settings=settings,
    )


@checked_with(matrix=array(2))
def constant(positional: ArrayLike, rank: int = 1) -> Attention:
    """Positional-only attention: S[h] = A, the same whatever the tokens say.

    **Arguments**: `positional`, A, (L, L); `rank`, of the fields it does not look at.

    **Returns**: an `Attention`.

    **Example**: `paper().vary(teacher=constant([[0.6, 0.4], [0.4, 0.6]]))`.
    """
    numbers = {"positional": freeze("positional", positional, ndim=2)}
    return Attention(
        _constant,
        rank,
        numbers,
        batched=True,
        symmetric=_keeps_positional,
        kind="constant",
        settings=(("rank", rank),),
    )


@checked
def mixture(positional: ArrayLike, mixing: float, semantic: Attention | None = None) -> Attention:
    """The paper's teacher: T[h] = (1 − ω) semantic[h] + ω A.

    **Arguments**

    - `positional`: A, (L, L).
    - `mixing`: ω ∈ [0, 1], from purely semantic to purely positional.
    - `semantic`: the semantic attention; tied softmax of rank one unless given.

    **Returns**: an `Attention`.

    **Example**: `mixture([[0.6, 0.4], [0.4, 0.6]], mixing=0.3, semantic=softmax(2))`.
    """
    semantic = softmax(1) if semantic is None else semantic
    matrix = freeze("positional", positional, ndim=2)
    rows, columns = thaw(matrix).shape
    if rows != columns:
        raise ValueError(f"positional: expected a square matrix, got {rows}×{columns}")
    mixing = finite_number("mixing", mixing, most=1)
    clash = {"positional", "mixing"} & set(semantic.parameters)
    if clash:
        raise ValueError(
            f"semantic: its parameter {clash.pop()!r} would be hidden by the mixture's own"
        )
    parameters = {
        **semantic.parameters,
        "positional": matrix,
        "mixing": mixing,
    }
    return Attention(
        _Mixture(semantic.function, semantic.batched),
        semantic.rank,
        parameters,
        spread=semantic.spread,
        batched=semantic.batched,
        symmetric=_of_mixture(semantic.symmetric),
        kind="mixture" if semantic.kind != "custom" else "custom",
        settings=(("semantic", semantic),),
    )


# -------------------------------------------- their symmetries: whether S[P h s] = P S[h] Pᵀ

Order = tuple[int, ...]
Signs = tuple[int, ...]


def _any(order: Order, signs: Signs, **numbers: Any) -> bool:
    return True


@dataclass(frozen=True)
class _ScoredKeeps:
    """Scores keep any signs of tied columns, and of untied ones equal signs of query and key; they
    move with the tokens, and so do the rows of most functions of scores."""

    rows: Callable[..., Any]
    tied: bool

    def __call__(self, order: Order, signs: Signs, **numbers: Any) -> bool:
        half = len(signs) // 2
        kept = self.tied or signs[:half] == signs[half:]
        if self.rows is _causal:
            return kept and order == tuple(range(len(order)))
        if self.rows is _relative:
            return kept and _keeps_bias(order, **numbers)
        return kept


def _keeps_positional(order: Order, signs: Signs, positional: Any) -> bool:
    return _equal(positional[list(order)][:, list(order)], positional)


def _keeps_bias(order: Order, bias: Any) -> bool:
    """b_{P(j)−P(i)} = b_{j−i} for all i and j."""
    before, after = np.arange(len(order)), np.asarray(order)
    apart = lambda place: bias[place[None] - place[:, None] + len(order) - 1]
    return len(bias) != 2 * len(order) - 1 or _equal(apart(before), apart(after))


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Up to rounding, as of numbers that were computed."""
    return bool(np.abs(one - other).max() <= 1e-12 * np.abs(other).max())


@dataclass(frozen=True)
class _MixtureKeeps:
    """What both parts keep; a part of no weight is not asked."""

    semantic: Callable[..., bool]

    def __call__(
        self, order: Order, signs: Signs, positional: Any, mixing: Any, **numbers: Any
    ) -> bool:
        return (mixing == 0 or _keeps_positional(order, signs, positional)) and (
            mixing == 1 or self.semantic(order, signs, **numbers)
        )


def _of_mixture(semantic: bool | Callable[..., bool]) -> bool | Callable[..., bool]:
    return semantic if isinstance(semantic, bool) else _MixtureKeeps(semantic)


# ------------------------------------------------------------- the functions, (L, r, N) → (L, L, N)


@dataclass(frozen=True)
class _Scored:
    """`rows` of the scores, as a value: equal for equal parts, which then share a compilation."""

    rows: Callable[..., Any]
    tied: bool

    def __call__(self, h: Any, **numbers: Any) -> Any:
        half = h.shape[1] // 2
        queries, keys = (h, h) if self.tied else (h[:, :half], h[:, half:])
        return self.rows((queries[:, None] * keys[None]).sum(2), **numbers)


@dataclass(frozen=True)
class _Heads:
    heads: int

    def __call__(self, h: Any, shares: Any) -> Any:
        each = h.reshape(len(h), self.heads, -1, h.shape[-1])
        scores = (each[:, None] * each[None]).sum(3)
        return (shares[:, None] * _softmax(scores)).sum(2)


@dataclass(frozen=True)
class _Mixture:
    """(1 − ω) semantic[h] + ω A."""

    semantic: Callable[..., Any]
    batched: bool

    def __call__(self, h: Any, positional: Any, mixing: Any, **parameters: Any) -> Any:
        matrix = self.semantic(h, **parameters)
        return (1 - mixing) * matrix + mixing * (
            positional[..., None] if self.batched else positional
        )


def _softmax(scores):
    """Along the second axis."""
    import jax.numpy as jnp
    from jax.lax import stop_gradient

    weights = jnp.exp(scores - stop_gradient(scores.max(1, keepdims=True)))
    return weights / weights.sum(1, keepdims=True)


def _linear(scores):
    return scores


def _tempered(scores, temperature):
    return _softmax(scores / temperature)


def _causal(scores):
    import jax.numpy as jnp

    behind = np.tri(len(scores), dtype=bool)[..., None]
    return _softmax(jnp.where(behind, scores, -jnp.inf))


def _sink(scores):
    import jax.numpy as jnp
    from jax.lax import stop_gradient

    highest = stop_gradient(jnp.maximum(scores.max(1, keepdims=True), 0.0))
    weights = jnp.exp(scores - highest)
    return weights / (jnp.exp(-highest) + weights.sum(1, keepdims=True))


def _sigmoid(scores, threshold):
    import jax

    return jax.nn.sigmoid(scores - threshold)


def _relu(scores):
    import jax

    return jax.nn.relu(scores) / len(scores)


def _relative(scores, bias):
    length = len(scores)
    if len(bias) != 2 * length - 1:
        raise ValueError(
            f"bias: expected {2 * length - 1} numbers for {length} tokens, got {len(bias)}"
        )
    apart = np.arange(length)[None] - np.arange(length)[:, None]
    return _softmax(scores + bias[apart + length - 1][..., None])


def _kernel(h, width):
    squared = ((h[:, None] - h[None]) ** 2).sum(2)
    return _softmax(-0.5 * squared / width**2)


def _constant(h, positional):
    return positional[..., None] + 0 * h[:1, :1]


def _scored(kind: str, rows: Callable, rank: int, tied: bool, **numbers: Any) -> Attention:
    columns = np.eye(rank) if tied else np.hstack([np.eye(rank), np.eye(rank)])
    settings = (("rank", rank), ("tied", tied))
    function = _Scored(rows, tied)
    return Attention(
        function,
        columns.shape[1],
        numbers,
        columns,
        batched=True,
        symmetric=_ScoredKeeps(rows, tied),
        kind=kind,
        settings=settings,
    )


def _positive(name: str, value: float) -> float:
    return finite_number(name, value, above=True)


# ---------------------------------------------------------------------------------------- the table

_SCORED = {"rank": "width of query and key", "tied": "whether query and key share their weights"}
ENTRIES = (
    Entry("softmax", "softmax_j(s_ij)", _SCORED, softmax),
    Entry("linear", "s_ij", _SCORED, linear),
    Entry("tempered", "softmax_j(s_ij/τ)", {**_SCORED, "temperature": "τ > 0"}, tempered),
    Entry("causal", "softmax over j ≤ i of s_ij", _SCORED, causal),
    Entry("sink", "exp(s_ij)/(1 + Σ_k exp(s_ik))", _SCORED, sink),
    Entry("sigmoid", "1/(1 + exp(b − s_ij))", {**_SCORED, "threshold": "b"}, sigmoid),
    Entry("relu", "max(s_ij, 0)/L", _SCORED, relu),
    Entry(
        "relative", "softmax_j(s_ij + b_{j−i})", {**_SCORED, "bias": "b_{1−L} … b_{L−1}"}, relative
    ),
    Entry(
        "kernel",
        "exp(−‖h_i − h_j‖²/(2w²)), rows summing to one",
        {"rank": "columns of h", "width": "w > 0"},
        kernel,
    ),
    Entry(
        "heads",
        "Σ_k a_k softmax_j((h_k h_kᵀ)_ij), h = (h_1 | h_2 | …)",
        {"heads": "how many", "rank": "of each", "shares": "a_k"},
        heads,
    ),
    Entry(
        "constant",
        "A_ij",
        {"positional": "A, (L, L)", "rank": "of the fields it does not look at"},
        constant,
    ),
    Entry(
        "mixture",
        "(1 − ω) semantic[h]_ij + ω A_ij",
        {
            "positional": "A, (L, L)",
            "mixing": "ω between 0 and 1",
            "semantic": "an attention of this list",
        },
        mixture,
    ),
)
CATALOGUE = {entry.kind: entry for entry in ENTRIES}
