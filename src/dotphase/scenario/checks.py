"""What a scenario refuses before anything is computed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .attentions.attention import Attention, Form, kept_by_content, lifted, matrices

if TYPE_CHECKING:
    from .scenario import Scenario


def check_attention(role: str, attention: Attention, length: int) -> None:
    """Refuse an attention that does not give finite real matrices, (L, L), for fields of `length`
    tokens."""
    positional = attention.values.get("positional")
    if (
        positional is not None
        and attention.kind in ("mixture", "constant")
        and positional.shape != (length, length)
    ):
        raise ValueError(
            f"{role}: positional matrix A must be {length}×{length}, got shape {positional.shape}"
        )
    numbers = tuple((name, np.shape(value)) for name, value in attention.values.items())
    complaint = _of_form(attention.form, length, numbers)
    if not complaint and attention.kind == "custom":
        complaint = _of_values(attention, length)
        if not complaint and role == "student":
            complaint = _of_jumps(attention, length)
    if complaint:
        raise ValueError(f"{role}: its function {complaint}")


def check_plain(what: str, scenario: Scenario) -> None:
    """Refuse correlated tokens and random scales where `what` is written for tokens that have
    neither."""
    for there, name in (
        (scenario.tokens.joint, "correlated tokens"),
        (scenario.tokens.scales, "random scales"),
    ):
        if there:
            raise ValueError(
                f"tokens: {what} has no equations for {name} yet; solve, train and gamp do"
            )


@lru_cache(maxsize=1024)
def _of_form(form: Form, length: int, numbers: tuple[tuple[str, tuple[int, ...]], ...]) -> str:
    """What is wrong with shape and type of the matrices, whatever the numbers are."""
    import jax

    parameters = {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in numbers}
    over = (length, form.rank, 1) if form.batched else (length, form.rank)
    function = lifted(form) if form.batched else form.function
    try:
        matrix = jax.eval_shape(function, jax.ShapeDtypeStruct(over, np.float32), **parameters)
    except Exception as error:
        hint = "; use jax.numpy in it, not numpy" * (
            type(error).__name__ == "TracerArrayConversionError"
        )
        return f"fails on fields of shape {over[:2]}: {str(error).splitlines()[0]}{hint}"
    if not isinstance(matrix, jax.ShapeDtypeStruct):
        return f"must return one array of shape {(length, length)}, it returned a {type(matrix).__name__}"
    if matrix.shape[:2] != (length, length) or (not form.batched and len(matrix.shape) != 2):
        return f"must return shape {(length, length)}, it returned {matrix.shape}"
    if not jax.numpy.issubdtype(matrix.dtype, np.floating):
        return f"must return real floating-point numbers, it returned {matrix.dtype}"
    return ""


@kept_by_content
def _of_values(attention: Attention, length: int) -> str:
    """What is wrong with the matrices at random fields."""
    tried = 8  # random fields on which a user's function is tried
    fields = np.random.default_rng(0).normal(size=(length, attention.rank, tried))
    if not np.isfinite(matrices(attention, fields)).all():
        return "returns NaN or infinity at fields of order one"
    return _of_indices(attention, fields[..., 0])


@kept_by_content
def _of_jumps(attention: Attention, length: int) -> str:
    """Whether the matrices jump: then S(1) − S(0) along a path of fields is not the integral of dS/dt,
    however finely it is taken."""
    import jax

    ends = np.random.default_rng(1).normal(size=(2, length, attention.rank))

    def apart(count: int) -> float:
        t = (np.arange(count) + 0.5) / count
        path = ends[0][..., None] + (ends[1] - ends[0])[..., None] * t
        along = np.broadcast_to((ends[1] - ends[0])[..., None], path.shape)
        function = lambda fields: lifted(attention.form)(fields, **attention.values)
        with jax.enable_x64(True):
            _, slopes = jax.jvp(function, (path,), (along,))
        first, last = (matrices(attention, end[..., None])[..., 0] for end in ends)
        gap = np.abs(last - first - np.asarray(slopes).mean(-1)).max()
        return float(gap / (np.abs(last - first).max() + 1e-12))

    if apart(2**8) < 0.01 or apart(2**14) < 0.01:
        return ""
    return "is not differentiable: it jumps, and neither theory nor training can follow it"


@kept_by_content
def is_scale_free(attention: Attention, length: int) -> bool:
    """Whether S[ch] = S[h] for every c > 0, while S depends on h."""
    fields = np.random.default_rng(2).normal(size=(length, attention.rank, 8))
    first, *scaled = (matrices(attention, c * fields) for c in (1.0, 0.1, 0.5, 3.0))
    alike = all(np.allclose(first, other, rtol=1e-6, atol=1e-9) for other in scaled)
    return alike and not np.allclose(first, first[..., :1])


def _of_indices(attention: Attention, fields: np.ndarray) -> str:
    """JAX reads an index beyond the end as the last one without a warning; refuse it here."""
    import jax
    from jax.experimental import checkify

    if attention.batched:
        return ""  # written for this house, not by a user who may miscount
    checked = checkify.checkify(attention.function, errors=checkify.index_checks)
    with jax.enable_x64(True):
        error, _ = checked(jax.numpy.asarray(fields), **attention.values)
    said = error.get()
    return (
        f"looks beyond its fields, which have shape {fields.shape}: {said.splitlines()[0].rstrip('. ')}"
        if said
        else ""
    )
