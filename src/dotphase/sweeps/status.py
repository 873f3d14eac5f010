"""How far a sweep is, read off its journal."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

from .journal import BROKEN, FINISHED, Entry
from .lock import holder
from .store import Store

RECENT = 100  # entries of the journal that tell the present rate


def status(path: str | Path) -> dict[str, Any]:
    """Counts of units per computation and in all, whether someone is working on it, how fast, and how long it takes.

    `rate` is in units per second, over the last hundred; `seconds_left` is None when nobody is working.
    """
    store = Store(path)
    counts = {}
    for label, states in store.states().items():
        plan = store.plans[label]
        counts[label] = {
            "kind": plan.kind.kind,
            "points": plan.points,
            "done": int((states == FINISHED).sum()),
            "failed": int((states == BROKEN).sum()),
            "total": len(plan),
        }
    total = {name: sum(entry[name] for entry in counts.values()) for name in ("points", "done", "failed", "total")}
    owner = holder(Path(path))
    rate = _rate(deque(store.journal.entries(), RECENT))
    left = total["total"] - total["done"] - total["failed"]
    return {
        "study": store.study.name,
        "running": owner is not None,
        **total,
        "rate": rate,
        "seconds_left": left / rate if rate and owner is not None else None,
        "compute": counts,
    }


def _rate(recent: deque[Entry]) -> float | None:
    span = recent[-1].time - recent[0].time if len(recent) > 1 else 0.0
    return (len(recent) - 1) / span if span > 0 else None
