"""The progress of a study, from its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .lock import holder
from .store import BROKEN, FINISHED, Store


def status(path: str | Path) -> dict[str, Any]:
    """Counts of units per computation and in all, whether it is running, its rate, and the
    remaining time.

    `rate` is in units per second, over the last hundred; `seconds_left` is None when it is not
    running; `damaged` counts damaged lines of the log; `codes`, how many units each code has
    computed.
    """
    store = Store(path)
    contents = store.read()
    counts = {label: _counts(store, label, states) for label, states in contents.states.items()}
    total = {
        name: sum(entry[name] for entry in counts.values())
        for name in ("points", "done", "failed", "total")
    }
    running = holder(Path(path)) is not None
    span = contents.times[-1] - contents.times[0] if len(contents.times) > 1 else 0.0
    rate = (len(contents.times) - 1) / span if span > 0 else None
    left = total["total"] - total["done"] - total["failed"]
    return {
        "study": store.study.get("name"),
        "running": running,
        **total,
        "damaged": contents.damaged,
        "rate": rate,
        "seconds_left": left / rate if rate and running else None,
        "codes": contents.computed,
        "trusted": store.header.get("trusted", []),
        "compute": counts,
    }


def _counts(store: Store, label: str, states: np.ndarray) -> dict[str, Any]:
    layout = store.layouts[label]
    done, failed = int((states == FINISHED).sum()), int((states == BROKEN).sum())
    return {
        "kind": layout.kind,
        "points": layout.points,
        "done": done,
        "failed": failed,
        "total": len(layout),
    }
