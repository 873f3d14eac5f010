"""The layout of a computation's results: plain data, from which everything in a store can be read.

The results of a computation fill a box: the axes it depends on, then its own dimensions. A unit of
work is a smaller box in it, and the units tile it. Unit number u stands at `unravel_index(u,
tiles)`, so that a study of a hundred thousand points is planned without making one object per
point.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

Label = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
DType = Annotated[str, Field(pattern=r"^(str|f4|f8|[iu][1248])$")]


class Variable(NamedTuple):
    """A quantity: its dimensions among the computation's own, and `"f8"`, another numpy type of
    numbers, or `"str"`."""

    dims: tuple[Label, ...] = ()
    dtype: DType = "f8"

    @property
    def fill(self) -> Any:
        """The value of entries that have not been computed."""
        return "" if self.dtype == "str" else np.nan if self.dtype.startswith("f") else 0

    @property
    def numpy(self) -> np.dtype:
        return np.dtype(object if self.dtype == "str" else self.dtype).newbyteorder("<")


@dataclass(frozen=True)
class Layout:
    """Where the results of one computation are stored.

    - `kind`: by its name; `axes`: those it depends on; `own`: the computation's own dimensions, by
      its names.
    - `dims`: names of all dimensions in the store, axes first, then its own; `values`: of each, in
      that order.
    - `reach`: how many entries a unit has along each dimension.
    """

    label: Label
    kind: str
    axes: tuple[Label, ...]
    own: tuple[Label, ...]
    dims: tuple[Label, ...]
    values: tuple[list[int] | list[float] | list[str], ...]
    reach: tuple[Annotated[int, Field(ge=1)], ...]
    variables: dict[Label, Variable]

    def __post_init__(self) -> None:
        count = len(self.axes) + len(self.own)
        if (
            not count
            == len(self.dims)
            == len(self.values)
            == len(self.reach)
            == len(set(self.dims))
        ):
            raise ValueError(f"compute.{self.label}: dimensions that do not fit together")
        if any(set(variable.dims) - set(self.own) for variable in self.variables.values()):
            raise ValueError(f"compute.{self.label}: a variable has a dimension that is not there")
        if prod(self.shape) > 1e9:  # a mistake, or an attempt to fill the memory
            size = " × ".join(map(str, self.shape))
            raise ValueError(
                f"compute.{self.label}: {size} entries are too many; the most is 1e+09"
            )

    def to_dict(self) -> dict[str, Any]:
        variables = {name: [list(v.dims), v.dtype] for name, v in self.variables.items()}
        names = ("label", "kind", "axes", "own", "dims", "values", "reach")
        return {name: getattr(self, name) for name in names} | {"variables": variables}

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, ...]:
        return tuple(_as_array(values) for values in self.values)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.values)

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """How many units there are along each dimension."""
        return tuple(-(-size // reach) for size, reach in zip(self.shape, self.reach, strict=True))

    def __len__(self) -> int:
        return prod(self.tiles)

    @property
    def points(self) -> int:
        """How many points of the axes there are."""
        return prod(self.shape[: len(self.axes)])

    @cached_property
    def kept(self) -> dict[str, tuple[int, ...]]:
        """Which of the dimensions each variable has, as positions in `dims`."""
        axes, place = (
            range(len(self.axes)),
            {name: len(self.axes) + at for at, name in enumerate(self.own)},
        )
        return {
            name: (*axes, *(place[dim] for dim in v.dims)) for name, v in self.variables.items()
        }

    def box(self, unit: int) -> tuple[slice, ...]:
        """The entries of a unit along each dimension."""
        spans = []
        for tiles, reach, size in zip(
            self.tiles[::-1], self.reach[::-1], self.shape[::-1], strict=True
        ):
            unit, tile = divmod(unit, tiles)
            spans.append(slice(tile * reach, min((tile + 1) * reach, size)))
        return tuple(spans[::-1])

    def shapes(self, unit: int) -> dict[str, tuple[int, ...]]:
        """The shape of each variable's entries in a unit."""
        return self._shapes(tuple(span.stop - span.start for span in self.box(unit)))

    def _shapes(self, sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        return {name: tuple(sizes[k] for k in kept) for name, kept in self.kept.items()}

    def pack(self, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """A unit's arrays as JSON has them: numbers in base64, one variable after the other, and
        lists of words."""
        numbers = [
            np.ascontiguousarray(arrays[name], self.variables[name].numpy).tobytes()
            for name in self._numbers
        ]
        words = {name: [str(word) for word in np.ravel(arrays[name])] for name in self._words}
        return {"numbers": b64encode(b"".join(numbers)).decode(), "words": words}

    def unpack(self, box: tuple[slice, ...], packed: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays of a box again; a `ValueError`, `KeyError` or `TypeError` if they do not fit."""
        shapes, record = self._record(tuple(span.stop - span.start for span in box))
        content = np.frombuffer(b64decode(packed["numbers"]), record, 1)[0]
        arrays = {name: content[name] for name in self._numbers}
        for name in self._words:
            arrays[name] = np.array(packed["words"][name], object).reshape(shapes[name])
        return arrays

    def _record(self, sizes: tuple[int, ...]) -> tuple[dict[str, tuple[int, ...]], np.dtype]:
        """Shapes of the variables in a box of these sizes, and its numbers as one type; there are
        few such sizes."""
        if sizes not in self._records:
            shapes = self._shapes(sizes)
            fields = [(name, self.variables[name].numpy, shapes[name]) for name in self._numbers]
            self._records[sizes] = shapes, np.dtype(fields)
        return self._records[sizes]

    @cached_property
    def _records(self) -> dict[tuple[int, ...], tuple[dict[str, tuple[int, ...]], np.dtype]]:
        return {}

    @cached_property
    def _numbers(self) -> list[str]:
        return [name for name, variable in self.variables.items() if variable.dtype != "str"]

    @cached_property
    def _words(self) -> list[str]:
        return [name for name, variable in self.variables.items() if variable.dtype == "str"]


def layout_from(tables: Any) -> Layout:
    """A stored layout, fully validated: the store may come from someone else."""
    try:
        return TypeAdapter(Layout).validate_python(tables)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _as_array(values: list[Any]) -> np.ndarray:
    return np.array(values, object) if values and isinstance(values[0], str) else np.asarray(values)
