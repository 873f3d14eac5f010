"""Averages over seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..scenario.arguments import checked_with, of_each, values
from .estimate import Estimate

if TYPE_CHECKING:
    import xarray


@checked_with(values=of_each)
def over_seeds(values: Sequence[Any], control: Sequence[float] | None = None) -> Estimate:
    """The average of `values`, one number or array per seed, and its standard error s/√n.

    A seed without an answer, None, is left out; `count` of the estimate tells how many gave one.
    The error is infinite where fewer than two did, and the value not a number where none did.

    **Arguments**

    - `control`: a number per seed whose expectation is known to be zero and that the values vary
      with. Then the answer is the value at control = 0 of a straight line through the seeds: the
      same expectation up to the line's curvature, with less scatter.
    """
    values = list(values)
    kept = [k for k, value in enumerate(values) if value is not None]
    known = np.array([values[k] for k in kept], dtype=np.float64)
    count = len(known)
    if not count:
        return Estimate(np.nan, np.inf, 0)
    if control is not None and count > 3:
        return _at_zero(np.array([control[k] for k in kept]), known)
    error = known.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(known.shape[1:], np.inf)
    return Estimate(known.mean(0), error, count)


def seed_mean(
    values: np.ndarray, control: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the last axis, seeds without a value left out; `control` as in
    `over_seeds`."""
    shape, count = np.shape(values)[:-1], np.shape(values)[-1]
    rows = np.asarray(values, float).reshape(-1, count)
    control_rows = (
        [None] * len(rows)
        if control is None
        else np.asarray(control, float).reshape(-1, count).tolist()
    )
    known = [[v if np.isfinite(v) else None for v in row] for row in rows]
    # A seed without a value has no control either.
    filled = [each if each is None else np.nan_to_num(each).tolist() for each in control_rows]
    means = [over_seeds(row, each) for row, each in zip(known, filled, strict=True)]
    return (
        np.array([mean.value for mean in means]).reshape(shape),
        np.array([mean.error for mean in means]).reshape(shape),
    )


def seed_average(dataset: xarray.Dataset, name: str, adjusted: bool = False) -> xarray.Dataset:
    """The mean of a variable over seeds, and its standard error, in `NAME` and `NAME_error`.

    Seeds without a value are left out; the error is infinite where fewer than two have one.

    **Arguments**: `dataset` of a study; `name` of a variable that has seeds, such as
    `"experiment_test_error"`; `adjusted`: at a teacher of the expected length, as `Runs.adjusted`:
    the same expectation, less scatter.

    **Returns**: an `xarray.Dataset` without seeds.

    **Example**: `seed_average(open_study("run.zarr"), "experiment_test_error", adjusted=True)`.
    """
    import xarray

    values = dataset[name]
    seed = dimension(values, "seed")
    if seed is None:
        raise ValueError(f"name: {name} has no seeds, only {', '.join(map(str, values.dims))}")
    last = lambda part: part.transpose(..., seed).values
    control = None
    if adjusted:
        excess = f"{label_of(dataset, name)}_teacher_excess"
        if excess not in dataset:
            raise ValueError(f"adjusted: the dataset has no {excess}")
        control = last(dataset[excess].broadcast_like(values))
    kept = values.isel({seed: 0}, drop=True)
    mean, error = (kept.copy(data=part) for part in seed_mean(last(values), control))
    return xarray.Dataset({name: mean, f"{name}_error": error})


def label_of(dataset: xarray.Dataset, name: str) -> str:
    """The label of the computation that a variable of a study belongs to."""
    study = json.loads(dataset.attrs.get("study", "{}"))
    labels = [label for label in study.get("compute", {}) if name.startswith(f"{label}_")]
    return max(labels, key=len, default=name.split("_", 1)[0])


def dimension(values: xarray.DataArray, name: str) -> str | None:
    """The dimension of that name, with or without the label of its computation."""
    return next((str(d) for d in values.dims if d == name or str(d).endswith(f"_{name}")), None)


@checked_with(sizes=values)
def at_infinite_size(sizes: ArrayLike, estimates: Sequence[Estimate]) -> Estimate:
    """The value at 1/d = 0 of a straight line in 1/d, weighed by the errors of the estimates.

    **Arguments**: `sizes`, at least two dimensions d;  `estimates` at each of them, with errors.

    **Returns**: an `Estimate`.

    **Example**

        sizes = (250, 500, 1000)
        at_infinite_size(sizes, [train(scenario, d, seeds=16).test_error for d in sizes])
    """
    inverse = 1 / np.array([float(size) for size in sizes])  # type: ignore[union-attr]
    values, errors = (
        np.array([getattr(each, part) for each in estimates], float) for part in ("value", "error")
    )
    if len(set(inverse)) < 2 or len(values) != len(inverse):
        raise ValueError("sizes: at least two different ones, with an estimate of each")
    if not (np.isfinite(errors) & (errors > 0)).all():
        raise ValueError("estimates: each needs a finite error above zero; take several seeds")
    design = np.stack([np.ones_like(inverse), inverse], axis=1) / errors[:, None]
    covariance = np.linalg.inv(design.T @ design)
    line = covariance @ design.T @ (values / errors)
    return Estimate(float(line[0]), float(np.sqrt(covariance[0, 0])))


def _at_zero(control: np.ndarray, values: np.ndarray) -> Estimate:
    design = np.stack([np.ones_like(control), control], axis=1)
    line, *_ = np.linalg.lstsq(design, values, rcond=None)
    variance = ((values - design @ line) ** 2).sum(0) / (len(values) - 2)
    return Estimate(
        line[0], np.sqrt(variance * np.linalg.inv(design.T @ design)[0, 0]), len(values)
    )
