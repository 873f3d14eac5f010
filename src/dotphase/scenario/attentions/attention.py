"""Attention as a function of one sample's fields: what a teacher is, and what a student is.

With fields h ∈ R^{L×r} (h_l = x_l Q/√d for token l), an attention is a map h ↦ S[h] ∈ R^{L×L}; the
output of the layer is S[h] x. Teacher and student are both of this kind, and anything of this kind
can be either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import checked
from ..validation import Numbers, freeze, shown, thaw
from .equality import by_content

if TYPE_CHECKING:
    import jax


F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Form:
    """What of an attention is compiled: its function and its shape, without its numbers."""

    function: Callable[..., Any]
    rank: int
    batched: bool


@checked
@dataclass(frozen=True, repr=False)
class Attention:
    """A map from the fields of one sample, (L, rank), to its attention matrix, (L, L).

    **Arguments**

    - `function`: `function(fields, **parameters) -> matrix`, written for one sample with
      `jax.numpy`.
    - `rank`: the number of columns of the fields (r_s for a student, r_t for a teacher).
    - `parameters`: numbers handed to `function` by name; they may vary over a grid without a new
      compilation.
    - `spread`: (k, rank): a named start has weights Q = directions @ spread, with k directions,
      for example of the teacher. The identity unless given; for an untied attention it puts the
      same direction into query and key.
    - `symmetric`: which symmetries of tokens and signs the function has (see `symmetry.py`). True:
      they are searched for on random fields. False: none; use it for a function that is symmetric
      at most fields, but not at all of them. A function
      `symmetric(order, signs, **parameters) -> bool` declares them: whether S[P h s] = P S[h] Pᵀ.
      The attentions of the catalogue declare theirs.
    - `batched`: `function` takes many samples at once, on the last axis, (L, rank, N), and returns
      (L, L, N). The built-in ones are written so, because operations along the samples are
      fast; a function of one sample is lifted with `vmap` instead.
    - `kind`, `settings`: how a scenario file names it; `"custom"` cannot be written to a file.

    **Example**

        cosine = Attention(lambda h: jnp.cos(h @ h.T), rank=1)
    """

    function: Callable[..., Any]
    rank: int
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    spread: ArrayLike | None = None
    batched: bool = False
    symmetric: bool | Callable[..., bool] = True
    kind: str = "custom"
    settings: tuple[tuple[str, object], ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.symmetric, bool) or callable(self.symmetric)):
            raise ValueError(
                f"symmetric: expected True, False or a function, got {shown(self.symmetric)}"
            )
        if not isinstance(self.settings, tuple):
            raise ValueError(f"settings: expected a tuple of pairs, got {shown(self.settings)}")
        frozen = tuple(
            (name, freeze(name, value)) for name, value in sorted(dict(self.parameters).items())
        )
        object.__setattr__(self, "parameters", _Frozen(frozen))
        spread = np.eye(self.rank) if self.spread is None else self.spread
        object.__setattr__(self, "spread", freeze("spread", spread, ndim=2))
        shape = np.shape(spread)
        if shape[1] != self.rank:
            raise ValueError(f"spread: expected {self.rank} columns, got shape {shape}")

    @property
    def form(self) -> Form:
        return Form(by_content(self.function), self.rank, self.batched)

    @property
    def values(self) -> dict[str, np.ndarray]:
        return {name: thaw(value) for name, value in self.parameters.items()}  # type: ignore[arg-type]

    @property
    def content(self) -> Hashable:
        """Equal for attentions that give the same matrices, and new when something changes that the
        function reads."""
        symmetric = self.symmetric
        declared = symmetric if isinstance(symmetric, bool) else by_content(symmetric)
        return self.form, self.parameters, declared  # type: ignore[return-value]

    def with_parameters(self, **changes: ArrayLike) -> Attention:
        """The same attention with other numbers."""
        unknown = set(changes) - set(self.parameters)
        if unknown:
            raise ValueError(
                f"{', '.join(sorted(unknown))}: not a parameter of this attention ({self.kind})"
            )
        return replace(self, parameters={**self.parameters, **changes})

    def __call__(self, fields: ArrayLike) -> jax.Array:
        """The attention matrix of one sample."""
        import jax.numpy as jnp

        if not self.batched:
            return self.function(fields, **self.values)
        return self.function(jnp.asarray(fields)[..., None], **self.values)[..., 0]

    def __copy__(self) -> Attention:
        return self

    def __deepcopy__(self, memo: Any) -> Attention:
        return self

    def __repr__(self) -> str:
        return f"Attention({self})"

    def _repr_html_(self) -> str:
        from ...results.tables import html_table
        from .catalogue import CATALOGUE

        formula = CATALOGUE[self.kind].formula if self.kind in CATALOGUE else "a function of yours"
        numbers = {name: _brief(value) for name, value in self.values.items()}
        return html_table(self.kind, [{"formula": formula, "columns": self.rank} | numbers])

    def __str__(self) -> str:
        inside = [f"{name}={_brief(value)}" for name, value in self.values.items()]
        return f"{self.kind}(rank={self.rank}{''.join(', ' + text for text in inside)})"


def lifted(form: Form) -> Callable[..., jax.Array]:
    """`form.function` over many samples at once, samples on the last axis: (L, rank, N) → (L, L,
    N)."""
    if form.batched:
        return form.function
    import jax

    def over_samples(fields, **parameters):
        one = lambda h: form.function(h, **parameters)
        return jax.vmap(one, in_axes=-1, out_axes=-1)(fields)

    return over_samples


def entries(form: Form) -> Callable[..., list]:
    """The same on nested lists of arrays over samples: fields[l][a], each (N,), to matrix[i][j],
    each (N,)."""
    import jax.numpy as jnp

    def over_samples(fields, **parameters):
        matrix = lifted(form)(jnp.stack([jnp.stack(row) for row in fields]), **parameters)
        return [list(row) for row in matrix]

    return over_samples


def matrices(attention: Attention, fields: np.ndarray) -> np.ndarray:
    """The attention matrices of many samples, in double precision: (L, rank, N) → (L, L, N)."""
    import jax

    few = fields.shape[-1] <= 1024  # then a program that is compiled faster
    with jax.enable_x64(True):
        return np.asarray(_compiled(attention.form, few)(fields, attention.values))


@dataclass(frozen=True)
class _Call:
    """The arguments of a call, compared by `content`."""

    content: Hashable
    arguments: tuple = field(compare=False)


def kept_by_content(function: F) -> F:
    """`lru_cache` for a function whose first argument is an attention."""
    kept = lru_cache(maxsize=256)(lambda call: function(*call.arguments))

    @wraps(function)
    def call(attention: Attention, *others: Any) -> Any:
        return kept(_Call((attention.content, *others), (attention, *others)))

    return call  # type: ignore[return-value]


@lru_cache(maxsize=256)
def _compiled(form: Form, small: bool) -> Callable[..., Any]:
    from ...numerics.compilation import compiled

    return compiled(lambda fields, parameters: lifted(form)(fields, **parameters), small=small)


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


def _brief(array: np.ndarray) -> str:
    return (
        f"{float(array):.6g}"
        if array.ndim == 0
        else np.array2string(array, separator=",").replace("\n", "")
    )
