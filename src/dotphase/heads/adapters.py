"""Heads of models that other libraries have loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def from_transformers(model: Any, layer: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """The heads of a Hugging Face model as a function of token ids, for `measure`.

    The scores are the logarithms of the attention, which differ from those before the softmax by a
    constant per row. The model is switched to its `eager` attention, which returns them.

    **Arguments**: `model`: loaded, of any architecture that returns `attentions`; `layer`: one layer,
    scores (n, heads, L, L); all layers, (n, layers, heads, L, L), by default.

    **Returns**: a function from ids, (n, L), to scores.

    **Example**: `measure(from_transformers(AutoModel.from_pretrained("gpt2"), layer=5), ids)`.
    """
    import torch  # pyright: ignore[reportMissingImports]

    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation("eager")
    model.eval()

    def head(ids: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            given = torch.as_tensor(np.asarray(ids), dtype=torch.long, device=model.device)
            found = model(given, output_attentions=True).attentions
        if not found or found[0] is None:
            raise ValueError(
                "model: it returns no attention; load it with attn_implementation='eager'"
            )
        if layer is not None and not 0 <= layer < len(found):
            raise ValueError(f"layer: expected 0 to {len(found) - 1}, got {layer}")
        chosen = found if layer is None else [found[layer]]
        logs = torch.log(torch.stack(list(chosen), 1).float()).cpu().numpy()
        return logs if layer is None else logs[:, 0]

    return head
