"""Scenarios that differ from the paper's in every way the finite-d room must bear."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from dotphase import attentions
from dotphase.scenario.attentions.attention import Attention
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens

THREE = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])


def uneven(student: Attention | None = None, alpha: float = 1.5, strength: float = 1.0) -> Scenario:
    """Three tokens with three spectra, two groups of directions, encodings that are not opposite."""
    return Scenario(
        teacher=attentions.mixture(THREE, 0.3),
        student=attentions.softmax(2) if student is None else student,
        tokens=Tokens([[0.25, 0.4, 0.3], [0.5, 0.2, 0.6]], [0.7, 0.3]),
        positions=Positions(strength * np.array([[1.0, -0.5, 0.3], [-0.4, 1.2, 0.6]])),
        sample_ratio=alpha,
        ridge=0.05,
    )


def cosine() -> Attention:
    """An attention of the user's own, written for one sample."""
    return Attention(
        lambda h, scale: jnp.cos(scale * h @ h.T) / 2, rank=1, parameters={"scale": 0.7}
    )


SCENARIOS = {
    "paper": paper(alpha=1.5, omega=0.3),
    "uneven, tied rank 2": uneven(),
    "uneven, untied": uneven(attentions.softmax(1, tied=False)),
    "uneven, linear": uneven(attentions.linear(1)),
    "uneven, custom": uneven(cosine()),
}
