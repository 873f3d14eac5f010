"""Seeds in a study: how many (then 0, 1, …), or which."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def seeds_of(seeds: int | tuple[int, ...]) -> list[int]:
    """The seeds that are meant."""
    return list(range(seeds)) if isinstance(seeds, int) else list(seeds)


def _sensible(seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
    listed = seeds_of(seeds)
    if not listed or min(listed) < 0 or len(set(listed)) < len(listed):
        raise ValueError(
            f"expected a positive number of seeds or different seeds from 0 up, got {seeds!r}"
        )
    return seeds


Seeds = Annotated[int | tuple[int, ...], AfterValidator(_sensible)]
