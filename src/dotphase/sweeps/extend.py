"""The store a study is computed into: a new one, the one it was begun in, or that one with more values."""

from __future__ import annotations

from pathlib import Path

from .store import Store
from .study import Study, differences


def prepared(study: Study, path: Path) -> Store:
    """The store at `path`, made ready for `study`, or a `ValueError` that says why it cannot be."""
    if not (path / ".sweep" / "study.json").exists():
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise ValueError(f"{path}: there is something else here already; choose another place")
        return Store.create(study, path)
    store = Store(path)
    changed = differences(store.study.model_dump(mode="json"), study.model_dump(mode="json"))
    if changed:
        raise ValueError(f"{path} holds another study ({'; '.join(changed[:4])}): choose another place")
    return store
