"""The plan: how each computation of a study is cut into units of work, by arithmetic on indices alone.

The results of a computation fill a box: the axes it depends on, then its own dimensions. A unit of work is a smaller
box in it, and the units tile it. Unit number u stands at `unravel_index(u, tiles)`, so that a study of a hundred
thousand points is planned without making one object per point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .axes import is_number_of, plain
from .kind import Kind, Point, Variable
from .study import Study

Known = Mapping[str, Mapping[str, Any]]  # label → quantity → array


@dataclass(frozen=True)
class Plan:
    """The units of one computation.

    - `axes`: names of the axes it depends on; `dims`: names of all dimensions in the store, axes first, then its own.
    - `coordinates`: of every dimension, in that order.
    - `reach`: how many entries a unit has along each dimension.
    """

    study: Study
    label: str
    axes: tuple[str, ...]
    dims: tuple[str, ...]
    coordinates: tuple[np.ndarray, ...]
    reach: tuple[int, ...]

    @property
    def kind(self) -> Kind:
        return self.study.compute[self.label]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.coordinates)

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
    def own(self) -> tuple[str, ...]:
        """The kind's own dimensions, by the kind's names."""
        return tuple(self.kind.coordinates())

    @cached_property
    def variables(self) -> dict[str, Variable]:
        return self.kind.every_variable()

    def tile(self, unit: int) -> tuple[int, ...]:
        """Where a unit stands among the units, along each dimension."""
        return tuple(int(index) for index in np.unravel_index(unit, self.tiles)) if self.tiles else ()

    def box(self, unit: int) -> tuple[slice, ...]:
        """The entries of a unit along each dimension."""
        spans = zip(self.tile(unit), self.reach, self.shape, strict=True)
        return tuple(slice(tile * reach, min((tile + 1) * reach, size)) for tile, reach, size in spans)

    @cached_property
    def kept(self) -> dict[str, tuple[int, ...]]:
        """Which of the dimensions each variable has, as positions in `dims`."""
        axes, place = range(len(self.axes)), {name: len(self.axes) + at for at, name in enumerate(self.own)}
        return {name: (*axes, *(place[dim] for dim in v.dims)) for name, v in self.variables.items()}

    def places(self, unit: int, known: Sequence[Known] | None = None) -> list[Point]:
        """The points of a unit, the last axis running fastest, each with what is `known` there."""
        box = self.box(unit)
        chosen = [[plain(v) for v in values[s]] for values, s in zip(self.coordinates, box, strict=True)]
        count = len(self.axes)
        own = dict(zip(self.own, chosen[count:], strict=True))
        found = []
        for at, values in enumerate(product(*chosen[:count])):
            here = dict(zip(self.axes, values, strict=True))
            numbers = {axis: value for axis, value in here.items() if is_number_of(self.study.base, axis)}
            scenario = self.study.base.vary(**numbers)
            found.append(Point(scenario, here, own, known[at] if known else {}))
        return found


def plans_of(study: Study) -> dict[str, Plan]:
    """The plan of every computation, in the order in which they are worked on."""
    return {label: _plan(study, label) for label in study.compute}


def _plan(study: Study, label: str) -> Plan:
    kind = study.compute[label]
    axes = tuple(kind.depends_on(tuple(study.axes), study.base))
    own = kind.coordinates()
    coordinates = [study.values(axis, label) for axis in axes] + [_as_array(values) for values in own.values()]
    reaching: dict[str, int | None] = dict.fromkeys(axes, 1) | dict.fromkeys(own) | kind.unit(axes)
    reach = tuple(
        len(values) if reaching[name] is None else min(int(reaching[name] or 1), len(values))
        for name, values in zip((*axes, *own), coordinates, strict=True)
    )
    dims = [f"{label}_{axis}" if axis in kind.at else axis for axis in axes] + [
        _dim(study, label, name) for name in own
    ]
    plan = Plan(study, label, axes, tuple(dims), tuple(coordinates), reach)
    _check_tiles(plan)
    return plan


def _check_tiles(plan: Plan) -> None:
    """A dimension that units divide must be one of every variable, else two units would write one entry."""
    divided = {name for name, tiles in zip((*plan.axes, *plan.own), plan.tiles, strict=True) if tiles > 1}
    for name, variable in plan.variables.items():
        missing = divided - {*plan.axes, *variable.dims}
        if missing:
            raise ValueError(f"compute.{plan.label}: units divide {missing}, which {name} does not have")


def _dim(study: Study, label: str, name: str) -> str:
    """A dimension of a kind's own is called `label_name` if computations disagree about its coordinates."""
    seen = [kind.coordinates()[name] for kind in study.compute.values() if name in kind.coordinates()]
    agreed = all(list(values) == list(seen[0]) for values in seen) and name not in study.axes
    return name if agreed else f"{label}_{name}"


def _as_array(values: Any) -> np.ndarray:
    listed = list(values)
    return np.array(listed, object) if listed and isinstance(listed[0], str) else np.asarray(listed)
