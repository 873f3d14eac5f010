"""The store: one xarray dataset in a Zarr store, whose chunks are the units of work.

Only the process that runs the sweep writes. A unit's chunks are put in place first, each with its checksum, then a line
is appended to the journal: a unit is finished if its line is there and its chunks are intact. What is not data (the
journal, the study) is in the hidden folder `.sweep`, which readers of Zarr do not look at.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import chunks
from .journal import DONE, FAILED, FINISHED, PENDING, Journal
from .kind import UNFINISHED, Variable
from .plan import Plan, plans_of
from .provenance import provenance
from .study import Study, study_from

if TYPE_CHECKING:
    import xarray

SIZE_OF_FIRST_WRITE = 1 << 20  # bytes of room that must be there before work starts


class Store:
    """A store on disk and the plans of its study."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.study = _study_at(self.path)
        self.plans = plans_of(self.study)
        self.journal = Journal(self.path / ".sweep" / "journal")

    @classmethod
    def create(cls, study: Study, path: str | Path) -> Store:
        """A new store in which everything is unfinished, put in place when it is complete."""
        path = Path(path)
        new = path.with_name(f"{path.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        _check_room(new)
        with warnings.catch_warnings():
            # Metadata of all arrays in one place is not in version 3's text yet, though zarr and xarray read it.
            warnings.filterwarnings("ignore", message="Consolidated metadata")
            _create_arrays(study, new)
        chunks.write(f"{new}/.sweep/study.json", study.model_dump_json(indent=2).encode())
        if path.exists():
            path.rmdir()  # an empty folder; anything else was refused
        os.rename(new, path)
        return cls(path)

    def states(self, verify: bool = False) -> dict[str, np.ndarray]:
        """Per label a byte for each unit, as `Journal.states`; `verify` reads every chunk, and sets units of which
        one is torn back to pending."""
        found = self.journal.states({label: len(plan) for label, plan in self.plans.items()})
        if verify:
            for label, states in found.items():
                for unit in np.flatnonzero(states == FINISHED):
                    if not all(chunks.intact(path) for path in self._files(self.plans[label], int(unit)).values()):
                        states[unit] = PENDING
        return found

    def write(self, label: str, unit: int, arrays: Mapping[str, np.ndarray], failed: bool, seconds: float) -> None:
        """Put a unit's arrays (as `work.compute_unit` gives them) in place, then enter it in the journal."""
        plan = self.plans[label]
        for name, path in self._files(plan, unit).items():
            chunks.write(path, chunks.encode(plan.variables[name], _padded(plan, name, arrays[name])))
        self.journal.append(label, unit, FAILED if failed else DONE, seconds)

    def close(self) -> None:
        self.journal.close()

    def _files(self, plan: Plan, unit: int) -> dict[str, str]:
        """The chunk of each variable."""
        tile = [str(index) for index in plan.tile(unit)]
        start = f"{self.path}/{plan.label}"
        return {name: "/".join([f"{start}_{name}/c", *(tile[k] for k in kept)]) for name, kept in plan.kept.items()}


def open_sweep(path: str | Path) -> xarray.Dataset:
    """The dataset of a sweep, finished or not, numbers being read as they are used.

    Points that are not finished have the outcome "unfinished", and no number.

    **Arguments**: `path`, the store.

    **Example**: `open_sweep("run.zarr").theory_test_error.sel(branch="semantic").plot()`.
    """
    import xarray

    path = Path(path)
    _study_at(path)
    dataset = xarray.open_zarr(path, chunks=None, consolidated=True)
    words = {name: array.astype(object) for name, array in dataset.variables.items() if array.dtype.kind == "T"}
    return dataset.assign_coords({name: words.pop(name) for name in list(words) if name in dataset.coords}).assign(
        words
    )


def fill_of(name: str, variable: Variable) -> Any:
    return UNFINISHED if name == "outcome" and variable.dtype == "str" else variable.fill


def _study_at(path: Path) -> Study:
    try:
        return study_from(json.loads((path / ".sweep" / "study.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"{path}: no sweep is stored here") from None


def _check_room(path: Path) -> None:
    """Complain now, not after hours of work, if nothing can be written here."""
    try:
        path.mkdir(parents=True)
        probe = path / "probe"
        with open(probe, "wb") as file:
            file.write(bytes(SIZE_OF_FIRST_WRITE))
            file.flush()
            os.fsync(file.fileno())
        probe.unlink()
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror or error}") from None


def _create_arrays(study: Study, path: Path) -> None:
    import zarr

    group = zarr.open_group(path, mode="a", zarr_format=3)
    group.attrs.update(provenance(study))
    for plan in plans_of(study).values():
        for dim, values in zip(plan.dims, plan.coordinates, strict=True):
            if dim not in group:
                words = values.dtype.kind in "OU"
                array = group.create_array(dim, shape=values.shape, dtype="string" if words else values.dtype,
                                           chunks=values.shape, compressors=None, dimension_names=(dim,))  # fmt: skip
                array[:] = values.astype(object) if words else values
        for name, variable in plan.variables.items():
            _create_array(group, plan, name, fill_of(name, variable))
    zarr.consolidate_metadata(path)


def _create_array(group: Any, plan: Plan, name: str, fill: Any) -> None:
    from zarr.codecs import Crc32cCodec

    variable, kept = plan.variables[name], plan.kept[name]
    group.create_array(
        f"{plan.label}_{name}",
        shape=tuple(plan.shape[k] for k in kept),
        chunks=tuple(plan.reach[k] for k in kept),
        dtype="string" if variable.dtype == "str" else variable.dtype,
        fill_value=fill,
        compressors=[Crc32cCodec()],
        dimension_names=tuple(plan.dims[k] for k in kept),
    )


def _padded(plan: Plan, name: str, array: np.ndarray) -> np.ndarray:
    """A unit's entries filled up to a whole chunk, which is what Zarr has at the borders."""
    variable = plan.variables[name]
    whole = tuple(plan.reach[k] for k in plan.kept[name])
    if array.shape == whole:
        return array
    padded = np.full(whole, fill_of(name, variable), object if variable.dtype == "str" else variable.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded
