"""What workers know of a study. It is sent once to each of them, also to those that come later.

It is no argument of the units: it contains all values of the axes, and with each unit it would be
sent again. It is no result that units depend on either: such a result is lost with its worker.
"""

from __future__ import annotations

from typing import NamedTuple

from distributed import WorkerPlugin, get_worker


class Task(NamedTuple):
    """The header of a study, as text, and the code that a worker must have."""

    header: str
    code: str


class Sent(WorkerPlugin):
    """Keeps a task on every worker."""

    def __init__(self, task: Task) -> None:
        self.task = task


def task_here(name: str) -> Task:
    """The task that was sent to this worker under a name."""
    found = get_worker().plugins[name]
    assert isinstance(found, Sent)
    return found.task
