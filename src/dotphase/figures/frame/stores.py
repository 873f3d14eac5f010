"""The stores of a figure: one per study; when a study changes, its old store is renamed, never
deleted."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...studies.study.study import Study


def place_for(study: Study, name: str, folder: Path) -> Path:
    """The path of the store `name`, ready for `study`.

    A store of another study is renamed to `name.DIGEST.zarr`, DIGEST being that study's; a renamed
    store of this study is used again.
    """
    from ...studies.store.lock import locked

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.zarr"
    held = stored_study(path)
    if held == _tables(study):
        return path
    with locked(path):
        if held is not None:
            path.rename(_aside(path, held))
        kept = _aside(path, _tables(study))
        if kept.exists():
            kept.rename(path)
    return path


def stored_study(path: Path) -> dict[str, Any] | None:
    """The study a store was computed for, as plain tables, with present defaults for parameters
    that did not exist then; None if there is no store."""
    from ...studies.store.store import Store
    from ...studies.study.study import Study

    if not path.exists():
        return None
    try:
        tables = Store(path).study
    except ValueError:  # another format, or damaged: leave it unchanged
        return {"unreadable": path.name, "changed": path.stat().st_mtime}
    try:
        return _tables(Study.model_validate(tables))
    except ValueError:  # of a parameter that was removed
        return tables


def is_finished(path: Path) -> bool:
    """Whether every unit of a store has its answer."""
    return path.exists() and unfinished_share(path) == 0


def unfinished_share(path: Path) -> float:
    """The share of a store's units that are not finished; one if there is no store."""
    from ...studies.store.store import FINISHED, Store

    if not path.exists():
        return 1.0
    states = Store(path).read().states.values()
    total = sum(map(len, states))
    return sum(int((state != FINISHED).sum()) for state in states) / max(total, 1)


def seconds_spent(path: Path) -> float:
    """Seconds of all units of a store, over all runs, on one core each."""
    from ...studies.store.store import Store

    return sum(record.get("seconds", 0.0) for record in Store(path).unit_records())


def _tables(study: Study) -> dict[str, Any]:
    return study.model_dump(mode="json")


def _aside(path: Path, tables: dict[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:10]
    return path.with_name(f"{path.stem}.{digest}.zarr")
