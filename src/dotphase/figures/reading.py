"""Reading results for drawing: means over seeds, who wins, and values where there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..finite.statistics import over_seeds

if TYPE_CHECKING:
    import xarray

USABLE = ("converged", "imprecise")


class Line(NamedTuple):
    """Values with standard errors, along the axis that is drawn."""

    x: np.ndarray
    value: np.ndarray
    error: np.ndarray


def theory(dataset: xarray.Dataset, quantity: str, branch: str, along: str = "alpha", label: str = "theory") -> Line:
    """A quantity of one branch; not a number where the branch does not exist."""
    at = dataset.sel({_dim(dataset[f"{label}_{quantity}"], "branch"): branch})
    exists = at[f"{label}_outcome"].isin(USABLE).values
    error = f"{label}_{quantity}_error"
    bar = at[error].values if error in at else np.zeros(exists.shape)
    value = at[f"{label}_{quantity}"]
    return Line(value[_dim(value, along)].values, np.where(exists, value.values, np.nan), bar)


def experiment(
    dataset: xarray.Dataset, quantity: str, start: str, along: str = "alpha", label: str = "experiment"
) -> Line:
    """Means over seeds of a quantity, with their standard errors (infinite for a single seed)."""
    values = dataset[f"{label}_{quantity}"]
    values = values.sel({_dim(values, "start"): start})
    axis, seed = _dim(values, along), _dim(values, "seed")
    return Line(values[axis].values, *seed_mean(values.transpose(axis, seed).values))


def seed_mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the last axis, seeds without a value left out."""
    flat = np.asarray(values, float).reshape(-1, np.shape(values)[-1])
    means = [over_seeds([v if np.isfinite(v) else None for v in row]) for row in flat]
    number = lambda entry, missing: missing if entry is None else float(entry)
    shape = np.shape(values)[:-1]
    return (
        np.array([number(mean.mean, np.nan) for mean in means]).reshape(shape),
        np.array([number(mean.sem, np.inf) for mean in means]).reshape(shape),
    )


def margin(dataset: xarray.Dataset, along: str = "alpha", label: str = "theory") -> Line:
    """ε_t(semantic) − ε_t(positional) of the theory, where both branches exist; the error knows they share nodes."""
    exists = dataset[f"{label}_outcome"].isin(USABLE).all("branch").values
    value = dataset[f"{label}_margin"]
    error = dataset[f"{label}_margin_error"].values
    return Line(value[_dim(value, along)].values, np.where(exists, value.values, np.nan), error)


def paired(dataset: xarray.Dataset, along: str = "alpha", label: str = "experiment") -> Line:
    """ε_t(semantic) − ε_t(positional) of training: both starts of a seed have the same data, so seeds are compared one by
    one."""
    loss = dataset[f"{label}_train_loss"]
    start, axis, seed = (_dim(loss, name) for name in ("start", along, "seed"))
    both = [loss.sel({start: name}).transpose(axis, seed).values for name in ("semantic", "positional")]
    return Line(loss[axis].values, *seed_mean(both[0] - both[1]))


def scaled(line: Line, factor: float) -> Line:
    return Line(line.x, factor * line.value, factor * line.error)


def only(line: Line, where: np.ndarray) -> Line:
    """The line where a condition holds, a gap elsewhere."""
    return line._replace(value=np.where(where, line.value, np.nan))


def _dim(values: xarray.DataArray, name: str) -> str:
    """The dimension of that name, with or without the label of the computation it is particular to."""
    found = [str(dim) for dim in values.dims if dim == name or str(dim).endswith(f"_{name}")]
    if not found:
        raise KeyError(f"{values.name} has no dimension {name}, only {', '.join(map(str, values.dims))}")
    return found[0]
