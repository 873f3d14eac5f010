"""The dataset of a study as a picture: one quantity over one axis."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.statistics import dimension, label_of, seed_average
from ..scenario.names import word_of
from .quick import LABELS, in_style
from .style import COLOURS, MARKERS, curve, panels, points

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OWN = ("branch", "start", "seed", "transition")  # dimensions that are no axis of a study


@in_style
def draw_dataset(
    dataset: xarray.Dataset, against: str | None = None, quantity: str = "test_error"
) -> Figure:
    """One quantity of every computation over one axis: the theory as lines, experiments as means
    over seeds, with their standard errors."""
    names = [str(name) for name in dataset.data_vars if str(name).endswith(f"_{quantity}")]
    if not names:
        raise ValueError(f"quantity: no variable of this dataset ends in _{quantity}")
    against = _axis(dataset, names) if against is None else against
    names = [name for name in names if dimension(dataset[name], against) is not None]
    if not names:
        axes = ", ".join(map(str, dataset.dims))
        raise ValueError(f"against: no {quantity} depends on {against!r}; the dataset has {axes}")
    figure, axes = panels(1, 1, 3.4, 5.2)
    for name in names:
        _draw(axes[0, 0], dataset, name, against)
    axes[0, 0].set_xlabel(LABELS.get(word_of(against), against))
    axes[0, 0].set_ylabel(LABELS.get(quantity, quantity))
    axes[0, 0].legend()
    return figure


def _draw(axis: Axes, dataset: xarray.Dataset, name: str, against: str) -> None:
    """One variable, a line or points for each of its branches or starts."""
    values = dataset[name]
    if dimension(values, "seed") is not None:
        dataset = seed_average(dataset, name).assign_attrs(dataset.attrs)
        values = dataset[name]
        draw: Any = points
    else:
        draw = curve
    each = dimension(values, "branch") or dimension(values, "start")
    along = dimension(values, against)
    for k in range(values.sizes[each] if each else 1):
        part = dataset if each is None else dataset.isel({each: k})
        kind = "" if each is None else str(values[each].values[k])
        y, error = part[name], part.get(f"{name}_error")
        if y.ndim != 1:
            more = ", ".join(str(dim) for dim in y.dims if dim != along)
            raise ValueError(f"{name}: also depends on {more}; choose one value of each with .sel")
        bar = np.zeros(y.size) if error is None else error.values
        label = f"{label_of(dataset, name)}{_dimension_of(dataset, name)}"
        colour = COLOURS.get(kind, COLOURS["neutral"])
        look = {"fmt": MARKERS.get(kind, "o")} if draw is points else {"marker": ".", "ms": 4}
        draw(axis, y[along].values, y.values, bar, colour, f"{label} {kind}".strip(), **look)


def _dimension_of(dataset: xarray.Dataset, name: str) -> str:
    """What a label says of the dimension: `, d = 500,` if the study computes the variable at that d,
    nothing if it is for d → ∞."""
    settings = json.loads(dataset.attrs.get("study", "{}")).get("compute", {})
    d = settings.get(label_of(dataset, name), {}).get("d")
    return f", d = {d}," if isinstance(d, int) else ""


def _axis(dataset: xarray.Dataset, names: list[str]) -> str:
    """The one numeric axis along which there are several values."""
    dims = dict.fromkeys(str(dim) for name in names for dim in dataset[name].dims)
    own = lambda dim: any(dim == word or dim.endswith(f"_{word}") for word in OWN)
    found = [
        dim for dim in dims if not own(dim) and dataset.sizes[dim] > 1 and _numbers(dataset[dim])
    ]
    if not found:
        raise ValueError("against: no axis of numbers has more than one value; there is no curve")
    if len(found) > 1:
        example = f"plot(dataset.sel({found[0]}=…), {found[-1]!r})"
        raise ValueError(
            f"against: several axes have more than one value ({', '.join(found)}); draw along one of "
            f"them at one value of the others, as in {example}"
        )
    return found[0]


def _numbers(coordinate: xarray.DataArray) -> bool:
    return coordinate.dtype.kind in "fiu"
