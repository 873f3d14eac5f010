"""The plan: how each computation of a study is cut into units of work, by arithmetic on indices
alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .axes import is_number_of, plain, snapped
from .computation import Computation, Point
from .layout import Layout
from .study import Study

Known = Mapping[str, Mapping[str, Any]]  # label → quantity → array


@dataclass(frozen=True)
class Plan(Layout):
    """The units of one computation of a study."""

    study: Study

    @property
    def computation(self) -> Computation:
        return self.study.compute[self.label]

    def places(self, unit: int, known: Sequence[Known] | None = None) -> list[Point]:
        """The points of a unit, the last axis running fastest, each with what is `known` there."""
        box = self.box(unit)
        chosen = [[plain(v) for v in values[s]] for values, s in zip(self.values, box, strict=True)]
        count = len(self.axes)
        own = dict(zip(self.own, chosen[count:], strict=True))
        found = []
        for at, values in enumerate(product(*chosen[:count])):
            here = dict(zip(self.axes, values, strict=True))
            numbers = {
                axis: value for axis, value in here.items() if is_number_of(self.study.base, axis)
            }
            scenario = self.study.base.vary(**numbers)
            found.append(Point(scenario, here, own, known[at] if known else {}))
        return found


def plans_of(study: Study, stored: Mapping[str, Layout] | None = None) -> dict[str, Plan]:
    """The plan of every computation, in the order in which they are worked on; values that are
    `stored` already up to rounding are the stored ones."""
    known = {} if stored is None else _values_of(stored)
    return {label: _plan(study, label, known) for label in study.compute}


def _values_of(layouts: Mapping[str, Layout]) -> dict[str, np.ndarray]:
    return {
        dim: values
        for layout in layouts.values()
        for dim, values in zip(layout.dims, layout.coordinates, strict=True)
    }


def _plan(study: Study, label: str, stored: Mapping[str, np.ndarray]) -> Plan:
    computation = study.compute[label]
    axes, own = (
        tuple(computation.depends_on(tuple(study.axes), study.base)),
        computation.coordinates(),
    )
    dims = [f"{label}_{axis}" if axis in computation.at else axis for axis in axes]
    dims += [_dim(study, label, name) for name in own]
    values = [study.values(axis, label) for axis in axes]
    values = [snapped(each, stored.get(dim, each)) for each, dim in zip(values, dims, strict=False)]
    listed = [each.tolist() for each in values] + [
        [plain(value) for value in each] for each in own.values()
    ]
    reaching: dict[str, int | None] = (
        dict.fromkeys(axes, 1) | dict.fromkeys(own) | computation.unit(axes)
    )
    sizes = zip((*axes, *own), map(len, listed), strict=True)
    reach = [
        size if reaching[name] is None else min(int(reaching[name] or 1), size)
        for name, size in sizes
    ]
    plan = Plan(label, str(computation.kind), axes, tuple(own), tuple(dims), tuple(listed), tuple(reach),
                computation.every_variable(), study)  # fmt: skip
    _check_tiles(plan)
    return plan


def _check_tiles(plan: Plan) -> None:
    """A dimension that units divide must be one of every variable, else two units would write one
    entry."""
    divided = {
        name for name, tiles in zip((*plan.axes, *plan.own), plan.tiles, strict=True) if tiles > 1
    }
    for name, variable in plan.variables.items():
        missing = divided - {*plan.axes, *variable.dims}
        if missing:
            raise ValueError(
                f"compute.{plan.label}: units divide {missing}, which {name} does not have"
            )


def _dim(study: Study, label: str, name: str) -> str:
    """A computation's own dimension is called `label_name` if computations have different
    coordinates for it."""
    seen = [
        computation.coordinates()[name]
        for computation in study.compute.values()
        if name in computation.coordinates()
    ]
    agreed = all(list(values) == list(seen[0]) for values in seen) and name not in study.axes
    return name if agreed else f"{label}_{name}"
