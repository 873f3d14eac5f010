"""What experiments are asked for, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..numerics.extras import free_memory
from ..scenario.scenario import Scenario
from .data.instance import Instance
from .data.source import Data, as_data

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def instances(
    scenario: Scenario,
    d: int | None,
    seeds: int | Iterable[int],
    precision: str = "float64",
    data: Data | np.ndarray | None = None,
) -> list[Instance]:
    """One realisation per seed, provided that the data of one of them fit into memory and, where
    they are given, that there are more of them than one training takes."""
    check_precision(precision)
    data = None if data is None else as_data(data)
    if d is None:
        if data is None:
            raise ValueError("d: give the dimension; it can be left out only with data=")
        d = data.dimension
    found = [Instance(scenario, d, seed, data) for seed in as_seeds(seeds)]
    if data is not None and found[0].sample_count >= data.count:
        wanted = (
            f"α = {scenario.sample_ratio:g} takes {found[0].sample_count} sentences for training"
        )
        raise ValueError(f"data: {wanted} and tests need more; there are {data.count}: lower α")
    check_memory(found[0], found[0].sample_count, precision)
    return found


def as_seeds(seeds: int | Iterable[int]) -> list[int]:
    """How many (then 0, 1, …), or which."""
    if isinstance(seeds, str) or not isinstance(seeds, int | np.integer | Iterable):
        raise ValueError(f"seeds: expected a whole number, or several, got {seeds!r}")
    listed = list(range(seeds)) if isinstance(seeds, int | np.integer) else list(seeds)
    if not listed:
        raise ValueError(f"seeds: at least one is needed, got {seeds!r}")
    if len(set(listed)) < len(listed):
        raise ValueError(
            f"seeds: the same seed is the same run, so each may be given once; got {listed}"
        )
    return listed


def several_seeds(seeds: int | Iterable[int]) -> list[int]:
    """The seeds of a comparison: two at least, whose scatter is its error."""
    listed = as_seeds(seeds)
    if len(listed) < 2:
        raise ValueError("seeds: at least two are needed for an error bar, got one")
    return listed


def check_precision(precision: str) -> None:
    if precision not in ("float32", "float64"):
        raise ValueError(f"precision: expected float32 or float64, got {precision!r}")


def check_memory(instance: Instance, count: int, precision: str) -> None:
    """Refuse data of `count` samples that take more memory than there is."""
    length, d = instance.scenario.length, instance.dimension
    needed = length * count * d * np.dtype(precision).itemsize
    free = free_memory()
    if needed > free:
        data = f"{count} samples of {length} tokens in {d} dimensions"
        remedy = (
            'precision="float32" takes half of it'
            if 2 * free > needed and precision == "float64"
            else "lower d or α"
        )
        raise ValueError(
            f"d: {data} take {size(needed)} of memory, {size(free)} are free; {remedy}"
        )


def size(count: float) -> str:
    """A number of bytes in words: 3.2 PB."""
    power = 0 if count < 1 else min(int(math.log10(count)) // 3, len(UNITS) - 1)
    return f"{count / 1000.0**power:.3g} {UNITS[power]}"
