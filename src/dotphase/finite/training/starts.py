"""Where training and message passing start from: the same names as in the theory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...scenario.arguments import checked
from ...scenario.validation import thaw
from ..data.instance import Instance

NAMES = ("semantic", "positional", "mixed", "random")
INSTEAD = {"uninformed": 'use "random" here; "uninformed" is the name of this start in the theory'}
RANDOM_SCALE = 0.1


@checked
@dataclass(frozen=True)
class Random:
    """Weights Q_i ~ scale · N(0, I)."""

    scale: float = RANDOM_SCALE

    def __str__(self) -> str:
        return "random" if self.scale == RANDOM_SCALE else f"random(scale={self.scale:g})"


Start = str | Random | ArrayLike


@checked
def start_weights(instance: Instance, start: Start) -> np.ndarray:
    """The weights (d, r_s) a start stands for.

    - `"semantic"`: the teacher's, Q = Q* spread over the student's columns.
    - `"positional"`: the first encoding, Q = p_1 spread likewise.
    - `"mixed"`: both, the encoding in the last of several columns; of one column half of each.
    - `"random"` or `Random(scale)`: Q_i ~ scale · N(0, I), scale 0.1 unless given.
    - an array (d, r_s): itself.

    The other columns are random, a tenth as large as the named direction. If they were zero, an
    attention that is even in them would have no gradient there, and training could not use them.

    **Returns**: an array (d, r_s).
    """
    shape = (instance.dimension, instance.scenario.student.rank)
    if isinstance(start, str):
        if start not in NAMES:
            raise ValueError(
                f"start: {INSTEAD[start]}" if start in INSTEAD else _expected(shape, start)
            )
        if start == "random":
            start = Random()
        else:
            return _named(instance, start)
    if isinstance(start, Random):
        return start.scale * instance.random("start").standard_normal(shape)
    if hasattr(start, "overlaps") or hasattr(start, "theta"):
        raise ValueError(f"{_expected(shape)}; overlaps do not say which weights have them")
    try:
        weights = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.array(np.nan)
    if weights.ndim == 0:
        raise ValueError(_expected(shape, start))
    if weights.shape != shape:
        raise ValueError(f"start: expected weights of shape {shape}, got {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("start: every weight must be finite")
    return weights


def _expected(shape: tuple[int, ...], got: object = None) -> str:
    wanted = f"start: expected {', '.join(NAMES)}, Random(scale) or weights of shape {shape}"
    return wanted if got is None else f"{wanted}, got {got!r}"


def _named(instance: Instance, start: str) -> np.ndarray:
    teacher, encoding = instance.teacher_weights, instance.positions[:1].T
    if start != "semantic" and not np.any(encoding):
        raise ValueError(
            "start: this scenario has no encodings (p = 0), so there is no positional start"
        )
    if start != "mixed":
        return _spread(instance, teacher if start == "semantic" else encoding)
    spread = np.asarray(instance.scenario.student.spread)
    if len(spread) == 1:
        return (teacher[:, :1] / 2 + encoding / np.sqrt(2)) @ spread
    filled = _filled(instance, teacher)
    filled[:, -1:] = encoding
    return filled @ spread


def _spread(instance: Instance, directions: np.ndarray) -> np.ndarray:
    return _filled(instance, directions) @ thaw(instance.scenario.student.spread)  # type: ignore[arg-type]


def _filled(instance: Instance, directions: np.ndarray) -> np.ndarray:
    """The directions side by side, and noise in what they leave empty."""
    count, size = len(np.asarray(instance.scenario.student.spread)), np.sqrt((directions**2).mean())
    noise = instance.random("start").standard_normal((instance.dimension, count))
    kept = min(count, directions.shape[1])
    return np.hstack([directions[:, :kept], (0.1 * size * noise)[:, kept:]])


def name_of(start: Start) -> str:
    """How a start is called in a result."""
    return str(start) if isinstance(start, str | Random) else "given weights"
