"""The content of the log as a dataset, and as Zarr arrays for other programs.

The arrays on disk are written from the log when a run ends, and from time to time while it runs.
Each file is put in place in one step, outcomes last; every chunk has its checksum (`crc32c`), and
`differences` compares all of them.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scenario.arguments import checked
from ..run.work import DONE
from ..study.layout import Layout, Variable
from .store import Store

if TYPE_CHECKING:
    import xarray

UNFINISHED = "unfinished"
Arrays = dict[str, np.ndarray]


@checked
def open_study(path: str | Path) -> xarray.Dataset:
    """The dataset of a study, finished or not; every number has passed its checksum. Nothing in the
    store is executed.

    Points that are not finished have the outcome "unfinished", and no number. If units were
    computed by different codes, `label_code` says which.

    **Arguments**: `path`, the store.

    **Returns**: an `xarray.Dataset`.

    **Example**: `open_study("run.zarr").theory_test_error.sel(branch="semantic").plot()`.
    """
    import xarray

    store = Store(path)
    coordinates, variables = {}, {}
    for label, arrays in arrays_of(store).items():
        layout = store.layouts[label]
        coordinates |= dict(zip(layout.dims, layout.coordinates, strict=True))
        for name, array in (arrays or _unfinished(layout)).items():
            variables[f"{label}_{name}"] = (_dims(layout, name), array)
    return xarray.Dataset(variables, coordinates, attributes(store))


def arrays_of(store: Store) -> dict[str, Arrays]:
    """The variables of each computation: none if no unit of it has been computed. If several
    versions of the code computed its units, `code` says which of them computed which."""
    found: dict[str, Arrays] = {label: {} for label in store.layouts}
    for record in store.unit_records():
        if "numbers" in record:
            label = record["label"]
            found[label] = found[label] or _unfinished(store.layouts[label]) | {
                "code": _no_codes(store.layouts[label])
            }
            _put(store.layouts[label], record, found[label])
    for arrays in found.values():
        if len({*arrays.get("code", np.array([])).ravel()} - {""}) < 2:
            arrays.pop("code", None)
    return found


def _unfinished(layout: Layout) -> Arrays:
    shapes = {name: tuple(layout.shape[k] for k in kept) for name, kept in layout.kept.items()}
    return {
        name: np.full(shapes[name], fill_of(name, v), v.numpy)
        for name, v in layout.variables.items()
    }


def _no_codes(layout: Layout) -> np.ndarray:
    return np.full(layout.shape[: len(layout.axes)], "", object)


def _put(layout: Layout, record: dict[str, Any], arrays: Arrays) -> None:
    box = layout.box(record["unit"])
    try:
        found = layout.unpack(box, record)
    except (KeyError, TypeError, ValueError):  # deliberate, since the checksum is right
        return
    for name, kept in layout.kept.items():
        arrays[name][tuple(box[k] for k in kept)] = found[name]
    arrays["code"][box[: len(layout.axes)]] = (
        str(record.get("code", "")) if record["status"] == DONE else ""
    )


def attributes(store: Store) -> dict[str, str]:
    """Title, study and versions."""
    study = store.study
    return {"title": str(study.get("name")), "study": json.dumps(study)} | store.header[
        "provenance"
    ]


def fill_of(name: str, variable: Variable) -> Any:
    return UNFINISHED if name == "outcome" and variable.dtype == "str" else variable.fill


def write_view(store: Store) -> None:
    """Write the files of the Zarr store that differ from the log."""
    from zarr.core.buffer import default_buffer_prototype
    from zarr.core.sync import sync
    from zarr.storage import LocalStore

    there = LocalStore(store.path)
    for name, content in _files(store):
        if _content(store.path / name) != content:
            sync(there.set(name, default_buffer_prototype().buffer.from_bytes(content)))


def differences(store: Store) -> dict[str, str]:
    """Files of the Zarr store that are missing, or differ from the log."""
    found = {}
    for name, content in _files(store):
        there = _content(store.path / name)
        if there != content:
            found[name] = "missing" if there is None else "differs from the log"
    return found


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


def _files(store: Store) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file, outcomes last."""
    import zarr
    from zarr.storage import MemoryStore

    files: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(files), zarr_format=3, attributes=attributes(store))
    for label, arrays in arrays_of(store).items():
        layout = store.layouts[label]
        for dim, values in zip(layout.dims, layout.coordinates, strict=True):
            if dim not in group:
                _add(group, dim, values.dtype, values.shape, (dim,), None)[...] = values
        for name, variable in sorted(
            layout.variables.items(), key=lambda item: item[0] == "outcome"
        ):
            shape = tuple(layout.shape[k] for k in layout.kept[name])
            array = _add(
                group,
                f"{label}_{name}",
                variable.numpy,
                shape,
                _dims(layout, name),
                fill_of(name, variable),
            )
            if arrays:
                array[...] = arrays[name]
    with warnings.catch_warnings():
        # Metadata of all arrays in one place is not in version 3's text yet, though zarr and xarray
        # read it.
        warnings.filterwarnings("ignore", message="Consolidated metadata")
        zarr.consolidate_metadata(group.store)
    return ((name, buffer.to_bytes()) for name, buffer in files.items())


def _add(
    group: Any, name: str, dtype: np.dtype, shape: tuple[int, ...], dims: tuple[str, ...], fill: Any
) -> Any:
    from zarr.codecs import Crc32cCodec

    return group.create_array(
        name,
        shape=shape,
        chunks=_chunks(shape),
        dtype="string" if dtype.kind == "O" else dtype,
        fill_value=fill,
        compressors=[Crc32cCodec()],
        dimension_names=dims,
        config={"write_empty_chunks": True},  # so that a missing file is noticed
    )


def _chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Chunks of at most a megabyte, cut along the first dimensions."""
    found, entries = [], 1 << 17
    for at, size in enumerate(shape):
        found.append(max(1, min(size, entries // max(1, prod(shape[at + 1 :])))))
    return tuple(found)


def _dims(layout: Layout, name: str) -> tuple[str, ...]:
    return tuple(layout.dims[k] for k in layout.kept.get(name, range(len(layout.axes))))
