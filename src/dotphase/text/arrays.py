"""Arrays in files, memory-mapped and never unpickled: `.npy`, `.npz` and safetensors.

The reader of safetensors is ours because the library gives numpy no bfloat16, in which most models
are published.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "U8": "u1",
    "BF16": "<u2",
}


def open_array(path: str | Path, name: str | None = None) -> np.ndarray:
    """One array of a file, memory-mapped. `name`: required if the file has several arrays."""
    path = Path(path)
    readers = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}
    if path.suffix not in readers:
        raise ValueError(f"{path}: expected a file ending in {', '.join(readers)}")
    try:
        return readers[path.suffix](path, name)
    except (
        zipfile.BadZipFile,
        EOFError,
        KeyError,
        json.JSONDecodeError,
        UnicodeDecodeError,
    ) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from None


def as_floats(block: np.ndarray, halved: bool = False) -> np.ndarray:
    """Numbers in double precision; `halved`: they are the upper halves of single-precision ones
    (bfloat16)."""
    if halved:
        return (block.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.asarray(block, dtype=np.float64)


def _npy(path: Path, name: str | None) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path}: cannot be read as an array of numbers: {error}") from None


def _npz(path: Path, name: str | None) -> np.ndarray:
    """A member of an archive: memory-mapped if it is not compressed, otherwise read."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo(
            f"{_chosen(path, [n.removesuffix('.npy') for n in archive.namelist()], name)}.npy"
        )
        if member.compress_type != zipfile.ZIP_STORED:
            with archive.open(member) as file:
                return np.lib.format.read_array(file, allow_pickle=False)
    with open(path, "rb") as file:
        file.seek(member.header_offset + 26)
        lengths = np.frombuffer(file.read(4), "<u2")
        file.seek(member.header_offset + 30 + int(lengths.sum()))
        version = np.lib.format.read_magic(file)
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, columns_first, dtype = read(file)
        if dtype.hasobject:
            raise ValueError(f"{path}: holds Python objects, not numbers")
        if not np.prod(shape):
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", file.tell(), shape, "F" if columns_first else "C")


def _safetensors(path: Path, name: str | None) -> np.ndarray:
    """The format: 8 bytes with the length of a JSON header that says where each array lies, then
    the arrays."""
    header, length = _header(path)
    entry = header[_chosen(path, list(header), name)]
    if entry["dtype"] not in TYPES:
        raise ValueError(f"{path}: numbers of type {entry['dtype']}; known are {', '.join(TYPES)}")
    shape, (first, last) = tuple(entry["shape"]), entry["data_offsets"]
    dtype = np.dtype(TYPES[entry["dtype"]])
    fits = last - first == int(np.prod(shape)) * dtype.itemsize
    if not fits or 8 + length + last > path.stat().st_size:
        raise ValueError(f"{path}: its header does not fit its data")
    found = np.memmap(path, dtype, "r", 8 + length + first, shape)
    return found.view(Halves) if entry["dtype"] == "BF16" else found


def array_names(path: str | Path) -> list[str]:
    """The names of the arrays of an `.npz` or safetensors file."""
    path = Path(path)
    try:
        if path.suffix == ".safetensors":
            return list(_header(path)[0])
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (zipfile.BadZipFile, EOFError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from None


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Where each array lies, and the length of the header that says so."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(100_000_000, path.stat().st_size - 8):  # bytes
            raise ValueError(f"{path}: not a safetensors file")
        header: dict[str, Any] = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return header, length


class Halves(np.memmap):
    """Upper halves of single-precision numbers (bfloat16), which numpy has no type for."""


def _chosen(path: Path, names: list[str], name: str | None) -> str:
    if name is not None and name in names:
        return name
    if name is None and len(names) == 1:
        return names[0]
    listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
    if name is not None:
        raise ValueError(f"{path}: it has no array {name!r}; it has {listed}")
    raise ValueError(f"{path}: it has several arrays, {listed}; name one as FILE:NAME")
