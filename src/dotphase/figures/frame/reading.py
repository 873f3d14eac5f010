"""Read results for drawing: means over seeds, the winner, and values where they exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...results.statistics import seed_mean

if TYPE_CHECKING:
    import xarray

USABLE = ("converged", "imprecise")
FALLEN = (*USABLE, "collapsed")


class Line(NamedTuple):
    """Values with standard errors, along the axis that is drawn."""

    x: np.ndarray
    value: np.ndarray
    error: np.ndarray


def theory(
    dataset: xarray.Dataset,
    quantity: str,
    branch: str,
    label: str = "theory",
    outcomes: tuple[str, ...] = USABLE,
) -> Line:
    """A quantity of one branch; not a number where the branch does not exist."""
    at = dataset.sel({dim(dataset[f"{label}_{quantity}"], "branch"): branch})
    exists = at[f"{label}_outcome"].isin(outcomes).values
    error = f"{label}_{quantity}_error"
    bar = at[error].values if error in at else np.zeros(exists.shape)
    value = at[f"{label}_{quantity}"]
    return Line(value[dim(value, "alpha")].values, np.where(exists, value.values, np.nan), bar)


def theory_or_fallen(
    dataset: xarray.Dataset, quantity: str, branch: str, label: str = "theory"
) -> Line:
    """As `theory`. Where the branch does not exist, its start reaches the uninformed fixed point:
    there the values are those of that fixed point."""
    return theory(dataset, quantity, branch, label=label, outcomes=FALLEN)


def experiment(
    dataset: xarray.Dataset,
    quantity: str,
    start: str,
    along: str = "alpha",
    label: str = "experiment",
    adjusted: bool = True,
) -> Line:
    """Means over seeds of a quantity, with their standard errors (infinite for a single seed).

    `adjusted`: at a teacher of the expected length, as `Runs.adjusted`: the same expectation, less
    scatter.
    """
    at = dataset.sel({dim(dataset[f"{label}_{quantity}"], "start"): start})
    values, excess = at[f"{label}_{quantity}"], at[f"{label}_teacher_excess"]
    axis, seed = dim(values, along), dim(values, "seed")
    both = [part.transpose(axis, seed).values for part in (values, excess)]
    return Line(values[axis].values, *seed_mean(both[0], both[1] if adjusted else None))


def margin(dataset: xarray.Dataset, label: str = "theory", fallen: bool = False) -> Line:
    """ε_t(semantic) − ε_t(positional) of the theory, where both branches exist; the error accounts
    for their common nodes.

    `fallen`: where one of them does not exist, use the uninformed fixed point that its start
    reaches.
    """
    outcome = dataset[f"{label}_outcome"]
    exists = outcome.isin(FALLEN if fallen else USABLE).all(dim(outcome, "branch")).values
    value = dataset[f"{label}_margin"]
    error = dataset[f"{label}_margin_error"].values
    return Line(value["alpha"].values, np.where(exists, value.values, np.nan), error)


def paired(dataset: xarray.Dataset, relative: bool = False) -> Line:
    """ε_t(semantic) − ε_t(positional) of training (`relative`: in units of the latter).

    Both starts of a seed have the same data, so seeds are compared one by one.
    """
    loss, excess = dataset["experiment_train_loss"], dataset["experiment_teacher_excess"]
    start, axis, seed = (dim(loss, name) for name in ("start", "alpha", "seed"))
    both = [
        loss.sel({start: name}).transpose(axis, seed).values for name in ("semantic", "positional")
    ]
    gap = both[0] / both[1] - 1 if relative else both[0] - both[1]
    return Line(
        loss[axis].values, *seed_mean(gap, excess.isel({start: 0}).transpose(axis, seed).values)
    )


def scaled(line: Line, factor: float) -> Line:
    return Line(line.x, factor * line.value, factor * line.error)


def only(line: Line, where: np.ndarray) -> Line:
    """The line where a condition holds, a gap elsewhere."""
    return line._replace(value=np.where(where, line.value, np.nan))


def dim(values: xarray.DataArray, name: str) -> str:
    """The dimension of that name, with or without the label of its computation."""
    found = [str(dim) for dim in values.dims if dim == name or str(dim).endswith(f"_{name}")]
    if not found:
        raise KeyError(
            f"{values.name} has no dimension {name}, only {', '.join(map(str, values.dims))}"
        )
    return found[0]
