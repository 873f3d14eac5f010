"""How far two attentions are from each other."""

from __future__ import annotations

import numpy as np


def attention_distance(A: np.ndarray, B: np.ndarray) -> float:
    """The total variation ½ Σ_j |A_ij − B_ij|, mean over rows and sentences."""
    return float(np.abs(A - B).sum(-1).mean() / 2)
