"""Attention as a function of one sample's fields: what a teacher is, and what a student is.

With fields h ∈ R^{L×r} (h_l = x_l Q/√d for token l), an attention is a map h ↦ S[h] ∈ R^{L×L}; the output of the
layer is S[h] x. Teacher and student are both of this kind, and anything of this kind can be either.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .frozen import Numbers, finite_number, freeze, thaw, whole_number

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class Form:
    """What of an attention is compiled: its function and its shape, without its numbers."""

    function: Callable[..., Any]
    rank: int
    entrywise: bool


@dataclass(frozen=True)
class Attention:
    """A map from the fields of one sample, (L, rank), to its attention matrix, (L, L).

    **Arguments**

    - `function`: `function(fields, **parameters) -> matrix`, written for one sample with `jax.numpy`.
    - `rank`: the number of columns of the fields (r_s for a student, r_t for a teacher).
    - `parameters`: numbers handed to `function` by name; they may vary over a grid without a new compilation.
    - `spread`: how a direction one would start from fills the columns, (k, rank): weights Q = directions @ spread.
      The identity unless given; an untied attention puts the same direction in its query and its key.
    - `entrywise`: `function` takes and returns nested lists, `fields[l][a]` and `matrix[i][j]`, whose entries may be
      numbers or arrays over many samples. The built-in ones are written so, because then every operation runs along
      the samples, which machines like; a function of one sample's matrix is lifted with `vmap` instead.
    - `symmetric`: symmetries (of tokens and signs) are found by trying, on random fields, and used; False: none are
      assumed, for a function that has them at most fields but not at all.
    - `kind`, `settings`: how a scenario file names it; `"custom"` cannot be written to a file.

    **Example**

        cosine = Attention(lambda h: jnp.cos(h @ h.T), rank=1)
    """

    function: Callable[..., Any]
    rank: int
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    spread: ArrayLike | None = None
    entrywise: bool = False
    symmetric: bool = True
    kind: str = "custom"
    settings: tuple[tuple[str, object], ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function: expected a callable, got {self.function!r}")
        frozen = tuple((name, freeze(name, value)) for name, value in sorted(dict(self.parameters).items()))
        object.__setattr__(self, "rank", whole_number("rank", self.rank))
        object.__setattr__(self, "parameters", _Frozen(frozen))
        spread = np.eye(self.rank) if self.spread is None else self.spread
        object.__setattr__(self, "spread", freeze("spread", spread, ndim=2))
        if thaw(self.spread).shape[1] != self.rank:  # type: ignore[arg-type]
            raise ValueError(f"spread: expected {self.rank} columns, got shape {thaw(self.spread).shape}")  # type: ignore[arg-type]

    @property
    def form(self) -> Form:
        return Form(self.function, self.rank, self.entrywise)

    @property
    def values(self) -> dict[str, np.ndarray]:
        return {name: thaw(value) for name, value in self.parameters.items()}  # type: ignore[arg-type]

    def with_parameters(self, **changes: ArrayLike) -> Attention:
        """The same attention with other numbers."""
        unknown = set(changes) - set(self.parameters)
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))}: not a parameter of this attention ({self.kind})")
        return replace(self, parameters={**self.parameters, **changes})

    def __call__(self, fields: ArrayLike) -> jax.Array:
        """The attention matrix of one sample."""
        import jax.numpy as jnp

        if not self.entrywise:
            return self.function(fields, **self.values)
        return jnp.array(self.function(list(map(list, jnp.asarray(fields))), **self.values))

    def __getstate__(self) -> dict[str, Any]:
        # Picklers that take functions along by value (dask's cloudpickle) are not held up.
        by_value = sys._getframe(1).f_globals.get("__name__", "").startswith("cloudpickle")
        if not by_value and not _importable(self.function):
            inner = getattr(self.function, "semantic", self.function)
            name = getattr(inner, "__qualname__", inner)
            raise PicklingError(f"function: {name} cannot be pickled; put it in a module and import it from there")
        return self.__dict__

    def __copy__(self) -> Attention:
        return self

    def __deepcopy__(self, memo: Any) -> Attention:
        return self

    def __str__(self) -> str:
        inside = [f"{name}={_brief(value)}" for name, value in self.values.items()]
        return f"{self.kind}(rank={self.rank}{''.join(', ' + text for text in inside)})"


def entries(form: Form) -> Callable[..., list]:
    """`form.function` on nested lists of arrays over samples: fields[l][a], each (N,), to matrix[i][j], each (N,)."""
    if form.entrywise:
        return form.function
    import jax
    import jax.numpy as jnp

    def over_samples(fields, **parameters):
        stacked = jnp.stack([jnp.stack(row) for row in fields])
        one = lambda h: form.function(h, **parameters)
        matrix = jax.vmap(one, in_axes=-1, out_axes=-1)(stacked)
        return [list(row) for row in matrix]

    return over_samples


def lifted(form: Form) -> Callable[..., jax.Array]:
    """`form.function` over many samples at once, samples on the last axis: (L, rank, N) → (L, L, N)."""
    import jax.numpy as jnp

    def over_samples(fields, **parameters):
        matrix = entries(form)([list(row) for row in fields], **parameters)
        return jnp.stack([jnp.stack([jnp.broadcast_to(x, fields.shape[2:]) for x in row]) for row in matrix])

    return over_samples


def matrices(attention: Attention, fields: np.ndarray) -> np.ndarray:
    """The attention matrices of many samples, in double precision: (L, rank, N) → (L, L, N)."""
    import jax

    with jax.enable_x64(True):
        return np.asarray(_compiled(attention.form)(fields, attention.values))


@lru_cache(maxsize=256)
def _compiled(form: Form) -> Callable[..., Any]:
    import jax

    return jax.jit(lambda fields, parameters: lifted(form)(fields, **parameters))


# ---------------------------------------------------------------------------------------------- built-in attentions


def softmax_attention(rank: int = 1, tied: bool = True) -> Attention:
    """Dot-product attention: S[h] = softmax_rows(h hᵀ); untied, S[h] = softmax_rows(h_Q h_Kᵀ) with h = (h_Q | h_K).

    **Arguments**: `rank`, the width of the query; `tied`: an untied attention has twice as many columns.

    **Example**: `paper().vary(student=softmax_attention(2))`.
    """
    return _dot_product("softmax", _softmax_tied if tied else _softmax_untied, rank, tied)


def linear_attention(rank: int = 1, tied: bool = True) -> Attention:
    """Attention without the softmax: S[h] = h hᵀ; untied, S[h] = h_Q h_Kᵀ.

    **Arguments**: `rank` and `tied` as in `softmax_attention`.

    **Example**: `paper().vary(student=linear_attention())`.
    """
    return _dot_product("linear", _linear_tied if tied else _linear_untied, rank, tied)


def constant_attention(matrix: ArrayLike, rank: int = 1) -> Attention:
    """Positional-only attention: S[h] = A, the same whatever the tokens say.

    **Arguments**: `matrix`, A, (L, L); `rank`, of the fields it does not look at.

    **Example**: `paper().vary(teacher=constant_attention([[0.6, 0.4], [0.4, 0.6]]))`.
    """
    parameters = {"positional": freeze("positional", matrix, ndim=2)}
    settings = (("rank", rank),)
    return Attention(_constant, rank, parameters, entrywise=True, kind="constant", settings=settings)


def mixture(positional: ArrayLike, mixing: float, semantic: Attention | None = None) -> Attention:
    """The paper's teacher: T[h] = (1 − ω) semantic[h] + ω A.

    **Arguments**

    - `positional`: A, (L, L).
    - `mixing`: ω ∈ [0, 1], from purely semantic to purely positional.
    - `semantic`: the semantic attention; tied softmax of rank one unless given.

    **Example**: `mixture([[0.6, 0.4], [0.4, 0.6]], mixing=0.3, semantic=softmax_attention(2))`.
    """
    semantic = softmax_attention(1) if semantic is None else semantic
    mixing = finite_number("mixing", mixing, most=1)
    clash = {"positional", "mixing"} & set(semantic.parameters)
    if clash:
        raise ValueError(f"semantic: its parameter {clash.pop()!r} would be hidden by the mixture's own")
    parameters = {
        **semantic.parameters,
        "positional": freeze("positional", positional, ndim=2),
        "mixing": mixing,
    }
    return Attention(
        _Mixture(semantic.function, semantic.entrywise),
        semantic.rank,
        parameters,
        spread=semantic.spread,
        entrywise=semantic.entrywise,
        kind="mixture" if semantic.kind != "custom" else "custom",
        settings=(("semantic", semantic),),
    )


@dataclass(frozen=True)
class _Frozen(Mapping):
    """A read-only mapping that compares and hashes by value."""

    items_: tuple[tuple[str, Numbers], ...]

    def __getitem__(self, name: str) -> Numbers:
        return dict(self.items_)[name]

    def __iter__(self):
        return iter(name for name, _ in self.items_)

    def __len__(self) -> int:
        return len(self.items_)


def _importable(function: Callable[..., Any]) -> bool:
    try:
        pickle.dumps(function)
    except (PicklingError, AttributeError, TypeError):
        return False
    return True


def _dot_product(kind: str, function: Callable, rank: int, tied: bool) -> Attention:
    rank = whole_number("rank", rank)
    columns = np.eye(rank) if tied else np.hstack([np.eye(rank), np.eye(rank)])
    settings = (("rank", rank), ("tied", tied))
    return Attention(function, columns.shape[1], spread=columns, entrywise=True, kind=kind, settings=settings)


def _products(left, right):
    """Σ_a left_ia right_ja."""
    return [[sum(x * y for x, y in zip(u, v, strict=True)) for v in right] for u in left]


def _halves(h):
    half = len(h[0]) // 2
    return [row[:half] for row in h], [row[half:] for row in h]


def _softmax_rows(scores):
    import jax.numpy as jnp
    from jax.lax import stop_gradient

    matrix = []
    for row in scores:
        highest = stop_gradient(reduce(jnp.maximum, row))
        weights = [jnp.exp(score - highest) for score in row]
        share = 1 / sum(weights)
        matrix.append([weight * share for weight in weights])
    return matrix


def _softmax_tied(h):
    return _softmax_rows(_products(h, h))


def _softmax_untied(h):
    return _softmax_rows(_products(*_halves(h)))


def _linear_tied(h):
    return _products(h, h)


def _linear_untied(h):
    return _products(*_halves(h))


def _constant(h, positional):
    return [[positional[i, j] + 0 * h[0][0] for j in range(len(h))] for i in range(len(h))]


@dataclass(frozen=True)
class _Mixture:
    """(1 − ω) semantic[h] + ω A as a value: equal for equal semantic parts, which then share a compilation."""

    semantic: Callable[..., Any]
    entrywise: bool

    def __call__(self, h: Any, positional: Any, mixing: Any, **parameters: Any) -> Any:
        matrix = self.semantic(h, **parameters)
        if not self.entrywise:
            return (1 - mixing) * matrix + mixing * positional
        blend = lambda i, j: (1 - mixing) * matrix[i][j] + mixing * positional[i, j]
        return [[blend(i, j) for j in range(len(h))] for i in range(len(h))]


def _brief(array: np.ndarray) -> str:
    return f"{float(array):.6g}" if array.ndim == 0 else np.array2string(array, separator=",").replace("\n", "")
