"""`python -m dotphase.sweeps.worker FD`: a worker process, at the other end of the pipe with that descriptor."""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection

from ..threads import one_of_many
from .plan import plans_of
from .study import Study
from .work import compute_unit


def main(descriptor: int) -> None:
    """Compute what comes through the pipe until it is closed."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    pipe = Connection(descriptor)
    plans = plans_of(Study.model_validate_json(pipe.recv()))
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        pipe.send(one_of_many(compute_unit)(plans[job.label], job.unit, job.known))


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it: nobody would write down what it finds."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
