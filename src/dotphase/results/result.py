"""`Result`: the one protocol of everything that is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..scenario.scenario import Scenario
from . import archive, tables
from .estimate import Estimate
from .json import plain

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

LINES, WIDTH = 14, 130  # of a representation, at most
# outcomes without a caveat
GOOD = ("converged", "finished", "located", "perfect", "interior")


class Result:
    """A frozen dataclass that is an answer; make it with `@dataclass(frozen=True, repr=False,
    eq=False)`.

    A class says what it is, and everything else follows:

    - `headline`: one line;  `rows()`: its numbers and words, as rows of a table in which an
      `Estimate` is one entry;
    - `arrays()`: what does not fit into a table, each with the names of its axes, unless there is
      none;
    - `caveats`: what speaks against its numbers, where that is not what its `outcome` says.
    - `row`: what a row is, the name of their axis; empty for a result that is one row;
    - `curve`: whether `plot()` is shown small in a notebook.

    Two results are equal if all their fields are, those declared `field(compare=False)` (times)
    left out.
    """

    row: ClassVar[str] = ""
    curve: ClassVar[bool] = False

    @property
    def headline(self) -> str:
        return type(self).__name__

    def rows(self) -> list[dict[str, Any]]:
        return [{f.name: getattr(self, f.name) for f in fields(self)}]  # type: ignore[arg-type]

    def arrays(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        return {}

    @property
    def caveats(self) -> tuple[str, ...]:
        """What speaks against the numbers, a sentence each; empty if nothing is known to.

        By default the `reason` of an `outcome` that is no good one, and the caveats of all results
        that this one holds."""
        outcome = getattr(self, "outcome", None)
        bad = outcome is not None and outcome not in GOOD
        own = [getattr(self, "reason", "") or str(outcome)] if bad else []
        held = [c for f in fields(self) for c in _caveats_in(getattr(self, f.name))]  # type: ignore[arg-type]
        return tuple(dict.fromkeys([*own, *held]))

    def plot(self) -> Figure:
        raise NotImplementedError(f"{type(self).__name__} has no picture")

    # --------------------------------------------------------------------------------- what follows

    def __str__(self) -> str:
        return f"{self.headline}\n{tables.text_table(self.rows())}"

    def __repr__(self) -> str:
        lines = str(self).splitlines()
        if len(lines) > LINES:
            lines = [*lines[: LINES - 1], f"… {len(lines) - LINES + 1} lines more: print(…)"]
        return "\n".join(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for line in lines)

    def _repr_html_(self) -> str:
        return tables.html_table(self.headline, self.rows(), self.plot() if self.curve else None)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _same_fields(self, other)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, ready for JSON; of the scenario, its
        numbers."""
        entry = lambda value: tables.numbers(value) if isinstance(value, Scenario) else plain(value)
        return {f.name: entry(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame; `x ± error` becomes two columns, `x` and `x_error`."""
        return tables.to_pandas(self.rows())

    def to_xarray(self) -> xarray.Dataset:
        """The rows and the arrays as a dataset with named axes."""
        return tables.to_xarray(self.headline, self.rows(), self.arrays(), self.row)

    def save(self, path: str | Path) -> None:
        """Keep it in one file: a zip archive of JSON and NumPy arrays, without pickle."""
        archive.save(self, path)

    @classmethod
    def load(
        cls, path: str | Path, functions: Iterable[Callable] | Mapping[str, Callable] = ()
    ) -> Self:
        """What `save` kept; `functions` of your own that the scenario is made of have to be given
        again."""
        found = archive.load(path, functions)
        if not isinstance(found, cls):
            raise ValueError(f"{path}: holds a {type(found).__name__}, not a {cls.__name__}")
        return found


def _caveats_in(value: Any) -> Iterable[str]:
    """The caveats of a result, or of those in a list or dictionary."""
    if isinstance(value, Result):
        return value.caveats
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(value, list | tuple | Mapping):
        return ()
    return (caveat for part in parts for caveat in _caveats_in(part))


def _same_fields(one: Any, other: Any) -> bool:
    return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays entry by entry (not a number equals itself), inside
    containers too."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        alike = type(one) is type(other) and len(one) == len(other)
        return alike and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float | complex) or (
        hasattr(one, "__array__") and not isinstance(one, Estimate)
    ):
        arrays = [np.asarray(each) for each in (one, other)]
        return bool(
            np.array_equal(*arrays, equal_nan=all(array.dtype.kind in "fc" for array in arrays))
        )
    if is_dataclass(one) and type(one).__eq__ is object.__eq__:
        return type(one) is type(other) and _same_fields(one, other)
    return bool(one == other)
