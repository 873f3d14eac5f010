"""The order parameters: what weights Q have in common with themselves, the positions and the
teacher."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .layout import Layout

Shape = tuple[int, int, int]  # (L, r_s, r_t), or (1, L r_s, L r_t) for correlated tokens


class WeightOverlaps(NamedTuple):
    """What weights Q have, per token l, with the signs they have.

    - `q`: q_l = QᵀΣ_lQ/d, (L, r_s, r_s).
    - `m`: m_l = Qᵀp_l/√d, (L, r_s).
    - `theta`: θ_l = QᵀΣ_lQ*/d, (L, r_s, r_t).
    """

    q: Any
    m: Any
    theta: Any

    @property
    def sizes(self) -> dict[str, np.ndarray]:
        """Tr q_l, ‖m_l‖, ‖θ_l‖ per token, which Q → QO does not change. At rank one: q_l, |m_l|,
        |θ_l|."""
        return {
            "q": np.trace(self.q, axis1=-2, axis2=-1),
            "m": np.linalg.norm(self.m, axis=-1),
            "theta": np.linalg.norm(self.theta, axis=(-2, -1)),
        }

    @property
    def mean_sizes(self) -> dict[str, Any]:
        """The `sizes` averaged over tokens."""
        return {name: size.mean(-1) for name, size in self.sizes.items()}

    @classmethod
    def stacked(cls, several: Iterable[WeightOverlaps]) -> WeightOverlaps:
        """Several as one, with a new first axis."""
        return cls(*map(np.stack, zip(*several, strict=True)))


class Overlaps(NamedTuple):
    """What the theory has: q, m and θ as weights have them, and the response `V`, V_l, (L, r_s,
    r_s). Conjugates q̂, V̂, m̂, θ̂ have the same shapes. For correlated tokens q, V and θ
    have two token indices, (L, L, r_s, …)."""

    q: Any
    V: Any
    m: Any
    theta: Any


class Factors(NamedTuple):
    """What the Gaussian average needs of the overlaps, per token, or of all tokens as one group.

    - `C`: q = C Cᵀ;  `precision`: V⁻¹;  `m`.
    - `psi`: C⁻¹θ, so that u = ψᵀξ + Kη;  `K`: K Kᵀ = ρ − ψᵀψ.
    """

    C: Any
    precision: Any
    m: Any
    psi: Any
    K: Any


class Moments(NamedTuple):
    """What an average over samples has to give; each may have further axes in front.

    - `gg` E[g gᵀ], `g_xi` E[g ξᵀ], (L, r_s, r_s);  `g` E[g], (L, r_s);  `g_eta` E[g ηᵀ], (L, r_s,
      r_t).
    - `loss` E[ℓ(u, z)], `energy` E[E(z)] at the inner minimum z;  `test_error` ε_g = (2/L) E[ℓ(u,
      w)].
    """

    gg: Any
    g_xi: Any
    g: Any
    g_eta: Any
    loss: Any
    energy: Any
    test_error: Any

    def flat(self) -> Any:
        """One array, (…, size), laid out as `moment_layout` says."""
        lead = jnp.shape(self.loss)
        return jnp.concatenate([jnp.reshape(part, (*lead, -1)) for part in self], axis=-1)

    def over_samples(self) -> Any:
        """The same of N samples, which every part has on its last axis: (size, N)."""
        return jnp.concatenate([jnp.reshape(part, (-1, jnp.shape(part)[-1])) for part in self])

    @classmethod
    def unflat(cls, flat: Any, shape: Shape) -> Moments:
        return cls(*moment_layout(shape).split(flat))


def overlap_layout(shape: Shape) -> Layout:
    """Of flattened overlaps."""
    length, r_s, r_t = shape
    square = (length, r_s, r_s)
    return Layout(
        (("q", square), ("V", square), ("m", (length, r_s)), ("theta", (length, r_s, r_t)))
    )


def moment_layout(shape: Shape) -> Layout:
    """Of flattened moments: the first four are shaped, and transform, like q, V, m and θ."""
    like = zip(("gg", "g_xi", "g", "g_eta"), overlap_layout(shape).parts, strict=True)
    return Layout(
        (
            *((name, part) for name, (_, part) in like),
            ("loss", ()),
            ("energy", ()),
            ("test_error", ()),
        )
    )


def coordinate_layout(shape: Shape) -> Layout:
    """Of the coordinates in `coordinates.py`: triangles of C and of V's factor, m, and arsinh φ;
    named after what they are coordinates of."""
    length, r_s, r_t = shape
    triangle = (length, r_s * (r_s + 1) // 2)
    return Layout(
        (("q", triangle), ("V", triangle), ("m", (length, r_s)), ("theta", (length, r_s, r_t)))
    )
