"""Where the results of a figure are kept: one store per study, set aside, never lost, when the
study changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...studies.study.study import Study


def place_for(study: Study, name: str, folder: Path) -> Path:
    """The path of the store `name`, ready for `study`.

    A store of another study is renamed to `name.DIGEST.zarr`, DIGEST being that study's; a store of
    this study that was set aside before is taken back.
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
    """The study a store was computed for, as plain tables, those of parameters it did not know yet
    at their present defaults; None if there is no store."""
    from ...studies.store.store import Store
    from ...studies.study.study import Study

    if not path.exists():
        return None
    try:
        tables = Store(path).study
    except ValueError:  # of another format, or damaged: whatever it is, it is not touched
        return {"unreadable": path.name, "changed": path.stat().st_mtime}
    try:
        return _tables(Study.model_validate(tables))
    except ValueError:  # of a parameter that is no more
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
    """What the units of a store took, all runs together, on one core each."""
    from ...studies.store.store import Store

    return sum(record.get("seconds", 0.0) for record in Store(path).unit_records())


def _tables(study: Study) -> dict[str, Any]:
    return json.loads(study.model_dump_json())


def _aside(path: Path, tables: dict[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()[:10]
    return path.with_name(f"{path.stem}.{digest}.zarr")
