"""Results as JSON: plain numbers, lists and dictionaries, with null for what is not finite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """`value` as what `json.dumps` takes: arrays become lists, named tuples and mappings
    dictionaries, complex numbers [real, imaginary]; anything with a `to_dict` is asked for it; a
    number that is not finite is null."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())  # type: ignore[attr-defined]
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, str | bool):
        return value
    array = np.asarray(value)
    if array.ndim:
        return [plain(entry) for entry in array.tolist()]
    if array.dtype.kind == "b":
        return bool(array)
    if array.dtype.kind in "iu":
        return int(array)
    if array.dtype.kind == "c":
        return [plain(np.real(array)), plain(np.imag(array))]
    number = float(array)
    return number if np.isfinite(number) else None
