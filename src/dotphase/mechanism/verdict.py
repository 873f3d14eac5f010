"""One word for what a head does, and how safe it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..results.estimate import Estimate
from ..scenario.arguments import checked_with, kind

THRESHOLD = 0.25  # the share of the variance from which on a mechanism counts
SAFE = 3.0  # standard errors


class Verdict(NamedTuple):
    """`word`: positional, semantic, both, neither or undecided; `margin`: the smaller distance of the
    two shares from the threshold, in standard errors."""

    word: str
    margin: float

    def __str__(self) -> str:
        return f"{self.word} ({self.margin:.3g} standard errors)"


@checked_with(position=kind("Estimate"), content=kind("Estimate"))
def verdict_of(position: Estimate, content: Estimate, threshold: float = THRESHOLD) -> Verdict:
    """What two shares say.

    Two questions: is `position` above `threshold`, is `content`? Yes and no: positional; no and yes:
    semantic; yes and yes: both; no and no: neither. Undecided if one of the shares is within three
    standard errors of the threshold.

    **Returns**: a `Verdict`: the word, and the margin in standard errors.

    **Example**: `verdict_of(Estimate(0.9, 0.01), Estimate(0.05, 0.01)).word`, "positional".
    """
    shares = (position, content)
    margins = [abs(s.value - threshold) / s.error if s.error else float("inf") for s in shares]
    margin = float(np.min(margins))  # not a number if one of them is
    if not np.isfinite([s.value for s in shares]).all() or not margin >= SAFE:
        return Verdict("undecided", margin if np.isfinite(margin) else 0.0)
    words = {
        (True, False): "positional",
        (False, True): "semantic",
        (True, True): "both",
        (False, False): "neither",
    }
    return Verdict(words[bool(position > threshold), bool(content > threshold)], margin)
