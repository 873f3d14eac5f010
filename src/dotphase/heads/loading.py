"""`load`: the heads of a model's first layer from a file, memory-mapped and never unpickled."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..scenario.arguments import checked
from ..text.arrays import Halves, array_names, as_floats, open_array
from .layouts import LAYOUTS, Projections, Rotary, scores_of


@dataclass(frozen=True, eq=False, repr=False)
class FirstLayer:
    """The heads of a model's first layer: a function from token ids (n, L) to scores (n, heads, L, L).

    - `embedding`: E, (words, D), mapped: only the rows that occur are read;  `positions`: P, (places, D),
      or None.
    - `projections`: W_Q, W_K, norms, rotary encoding.  `words`: as text, if known.  `origin`: the file.
    """

    embedding: np.ndarray
    positions: np.ndarray | None
    projections: Projections
    words: tuple[str, ...] = ()
    origin: str = ""

    @property
    def heads(self) -> int:
        return len(self.projections.W_Q)

    def only(self, head: int) -> FirstLayer:
        """One head alone; its key head is that of its group."""
        if not 0 <= head < self.heads:
            raise ValueError(f"head: expected 0 to {self.heads - 1}, got {head}")
        p = self.projections
        key = head // (self.heads // len(p.W_K))
        bias = lambda b, at: b[at : at + 1] if np.ndim(b) else b
        chosen = p._replace(
            W_Q=p.W_Q[head : head + 1],
            W_K=p.W_K[key : key + 1],
            b_Q=bias(p.b_Q, head),
            b_K=bias(p.b_K, key),
        )
        return replace(self, projections=chosen)

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        return scores_of(self.projections, self.inputs(ids))

    def inputs(self, ids: np.ndarray) -> np.ndarray:
        """E[x_i] + P_i, (n, L, D), before the norm."""
        ids = np.asarray(ids)
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= len(self.embedding):
            wrong = low if low < 0 else high
            raise ValueError(
                f"ids: token {wrong} is out of range, E has rows 0 to {len(self.embedding) - 1}"
            )
        if self.positions is not None and ids.shape[1] > len(self.positions):
            raise ValueError(
                f"ids: sentences of {ids.shape[1]} tokens, the model has {len(self.positions)} positions"
            )
        used, at = np.unique(ids, return_inverse=True)
        rows = as_floats(self.embedding[used], isinstance(self.embedding, Halves))
        if not np.isfinite(rows).all():
            wrong = used[int((~np.isfinite(rows)).any(1).argmax())]
            raise ValueError(f"{self.origin}: the embedding of token {wrong} is not finite")
        x = rows[at.reshape(ids.shape)]
        if self.positions is not None:
            x = x + self.positions[: ids.shape[1]]
        return x

    def __repr__(self) -> str:
        return f"FirstLayer({self.heads} heads, {len(self.embedding)} words, {self.origin})"


@checked
def load(file: str | Path, config: dict[str, Any] | str | Path | None = None) -> FirstLayer:
    """The heads of the first layer of a model in a file.

    **Arguments**

    - `file`: `.safetensors` or `.npz`, of a family in `layouts.py` (GPT-2; GPT-NeoX, Pythia; Llama,
      Mistral, Qwen), or an `.npz` with arrays of your own: `W_Q` and `W_K`, (heads, D, d_h) or (D, d_h),
      `E`, (words, D), and if there are, `P`, (places, D), `rotary`, the base θ, and `words`. Then
      s_ij = R_i(x_i W_Q)·R_j(x_j W_K)/√d_h with x_i = E[t_i] + P_i; attention is causal unless an array `causal` is 0.
    - `config`: of the model: a dictionary or a file; `config.json` in the same folder by default.

    **Returns**: a `FirstLayer`.

    **Example**: `measure(load("gpt2/model.safetensors"), ids)`.
    """
    path = Path(file)
    if path.suffix not in (".safetensors", ".npz"):
        raise ValueError(
            f"{path}: expected a file ending in .safetensors or .npz; others are not read"
        )
    names = array_names(path)
    if {"W_Q", "W_K", "E"} <= set(names):
        return _of_arrays(path, names)
    settings = _config(path, config)
    family = settings.get("model_type")
    if family not in LAYOUTS:
        raise ValueError(
            f"{path}: models of type {family!r} are not known; known are {', '.join(LAYOUTS)}, "
            "and arrays W_Q, W_K, E, P in an .npz"
        )
    layout = LAYOUTS[family]
    prefix = next((p for p in layout.prefixes if p + layout.embedding in names), layout.prefixes[0])
    tensor = _Tensors(path, set(names), prefix)
    embedding = tensor.mapped(layout.embedding)
    width = embedding.shape[1]
    positions = None
    if layout.positions:
        positions = tensor(layout.positions, (None, width))
    projections = layout.projections(settings, tensor, width)
    return FirstLayer(embedding, positions, projections, (), str(path))


def shipped() -> FirstLayer:
    """The heads of our own small language model that come with the package (`dotphase
    language-model`).

    **Returns**: a `FirstLayer`.

    **Example**: `measure(shipped(), read_ids(shipped()))`.
    """
    return load(Path(__file__).parent / "data" / "language-model.npz")


class _Tensors:
    """Tensors of a file by name, checked for their shape and for numbers that are not finite."""

    def __init__(self, path: Path, names: set[str], prefix: str = "") -> None:
        self.path, self.names, self.prefix = path, names, prefix

    def mapped(self, name: str) -> np.ndarray:
        """A matrix that is not read."""
        if self.prefix + name not in self.names:
            raise ValueError(f"{self.path}: there is no tensor {self.prefix + name!r}")
        found = open_array(self.path, self.prefix + name)
        if found.ndim != 2:
            raise ValueError(
                f"{self.path}: {self.prefix + name} is {found.shape}, expected a matrix (words, D)"
            )
        return found

    def __call__(self, name: str, shape: tuple[int | None, ...], optional: bool = False) -> Any:
        full = self.prefix + name
        if full not in self.names:
            if optional:
                return None
            raise ValueError(f"{self.path}: there is no tensor {full!r}")
        found = open_array(self.path, full)
        if len(found.shape) != len(shape) or any(
            want is not None and have != want for have, want in zip(found.shape, shape, strict=True)
        ):
            wanted = ", ".join("…" if size is None else str(size) for size in shape)
            raise ValueError(f"{self.path}: {full} is {found.shape}, expected ({wanted})")
        numbers = as_floats(found, isinstance(found, Halves))
        if not np.isfinite(numbers).all():
            raise ValueError(f"{self.path}: {full} has an entry that is not a number")
        return numbers


def _of_arrays(path: Path, names: list[str]) -> FirstLayer:
    tensor = _Tensors(path, set(names))
    embedding = tensor.mapped("E")
    width = embedding.shape[1]
    weights = []
    for name in ("W_Q", "W_K"):
        shape = open_array(path, name).shape
        wanted = (None, width, None) if len(shape) == 3 else (width, None)
        found = tensor(name, wanted)
        weights.append(found.reshape(-1, *found.shape[-2:]))
    W_Q, W_K = weights
    if W_Q.shape[2] != W_K.shape[2] or len(W_Q) % len(W_K):
        raise ValueError(f"{path}: W_Q {W_Q.shape} and W_K {W_K.shape} do not fit each other")
    positions = tensor("P", (None, width), optional=True)
    causal = bool(open_array(path, "causal")[()]) if "causal" in names else True
    words = tuple(open_array(path, "words").tolist()) if "words" in names else ()
    if words and len(words) != len(embedding):
        raise ValueError(f"{path}: {len(words)} words, but E has {len(embedding)} rows")
    size = W_Q.shape[2]
    rotary = Rotary(size, float(open_array(path, "rotary")[()])) if "rotary" in names else None
    parts = Projections(W_Q, W_K, 0.0, 0.0, size**-0.5, rotary=rotary, causal=causal)
    return FirstLayer(embedding, positions, parts, words, str(path))


def _config(path: Path, config: Any) -> dict[str, Any]:
    if isinstance(config, dict):
        return config
    where = Path(config) if config is not None else path.parent / "config.json"
    if not where.is_file():
        raise ValueError(f"{path}: there is no {where}, which says what kind of model it is")
    try:
        found = json.loads(where.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected the config of a model")
    return found
