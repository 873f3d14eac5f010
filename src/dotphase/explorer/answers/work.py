"""The work of worker processes: each piece is a function of `say` and its arguments.

`say(message)` sends a message that JSON can encode; `say(None)` sends nothing. Both raise `Stopped`
if the request was cancelled, so that a long computation ends at its next message.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .task import Task

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ...theory.solver.solution import Solution

Message = dict[str, Any]
Say = Callable[[Message | None], None]
NODES = {"coarse": 2**11, "fine": 2**14, "row": 2**12}  # of the Gaussian averages
ENOUGH = 700 * 2**20  # bytes; a worker that has grown beyond ends, and a new one takes its place
BRANCHES = ("semantic", "positional")


class Stopped(Exception):
    """Raised by `say` when the request was cancelled."""


def serve(pipe: Connection, first: str, courtesy: int = 0) -> None:
    """The loop of a worker process: run `first`, then read orders from the pipe and send messages,
    until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server receives Ctrl-C and ends its workers
    if courtesy and hasattr(os, "nice"):
        os.nice(courtesy)
    # modules are never freed; without this, garbage collection takes a fifth of the time
    gc.disable()
    try:
        _do(pipe, first, {})
        gc.freeze()
        gc.enable()
        while True:
            order = pipe.recv()
            if order != "stop":  # a "stop" that arrived after the end
                _do(pipe, *order)
                if _resident() > ENOUGH:  # compiled programs of many problems: they are never freed
                    return
    except (EOFError, OSError):  # the server is gone
        return


def _resident() -> int:
    """Bytes of memory that this process has now (on Linux) or has had at most; 0 where that is not
    known (on Windows)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as table:
            return int(table.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        try:
            import resource
        except ImportError:
            return 0
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _do(pipe: Connection, name: str, arguments: dict[str, Any]) -> None:
    def say(message: Message | None) -> None:
        if pipe.poll():  # "stop" is the only message that a busy worker receives
            raise Stopped
        if message is not None:
            pipe.send(("message", message))

    try:
        WORKS[name](say, **arguments)
        pipe.send(("done", None))
    except Stopped:
        pipe.send(("done", None))
    except OSError:
        raise
    except Exception as error:
        pipe.send(("failed", " ".join(f"{type(error).__name__}: {error}".split())[:300]))


# ------------------------------------------------------------------------------------------- theory


def warm_theory(say: Say) -> None:
    """Compile the functions that the first drag of the point needs."""
    for branch in BRANCHES:
        say(None)
        solved(Task(), branch, NODES["coarse"], "lowest")


def solved(task: Task, branch: str, nodes: int, minimum: str) -> Solution:
    """One branch of the theory, on so many nodes, of the lowest minima or of those that training
    reaches."""
    from ...numerics.rules import Sobol
    from ...theory.solver.solve import solve

    return solve(task.scenario(), branch, rule=Sobol(nodes), rtol=None, minimum=minimum)


def branch_point(say: Say, task: Message, branch: str, stage: str, minimum: str) -> None:
    """One branch at one point: on few nodes (`coarse`), on many (`fine`), or as `dotphase solve`
    does it unless told otherwise (`exact`)."""
    asked = Task.model_validate(task)
    if stage == "exact":
        from ...theory.solver.solve import solve

        say(described(solve(asked.scenario(), branch, minimum=minimum)))
    else:
        say(described(solved(asked, branch, NODES[stage], minimum)))


def described(solution: Solution) -> Message:
    """What the page draws of a solution: ε_t, ε_g, |m|, |θ| and q, each value and error; null
    without an answer."""
    from ...results.json import plain

    usable = solution.outcome in ("converged", "imprecise")
    sizes = {name: getattr(solution, name) for name in ("m", "theta", "q")}
    numbers = {"train_loss": solution.train_loss, "test_error": solution.test_error, **sizes}
    return {
        "outcome": solution.outcome,
        "reason": solution.reason,
        "mechanism": solution.mechanism,
        "several_minima": plain(solution.several_minima),
        "nodes": solution.nodes,
        "numbers": plain(numbers) if usable else None,
    }


def diagram_row(say: Say, task: Message, alphas: list[float], minimum: str) -> None:
    """One row of a phase diagram, at the task's ω: by how much the semantic branch is lower, and
    its lines."""
    from .rows import row

    at = Task.model_validate(task)
    found = []
    for alpha in alphas:
        say(None)
        found.append(
            [solved(at.at(alpha=alpha), branch, NODES["row"], minimum) for branch in BRANCHES]
        )
    say({"omega": at.omega, **row(alphas, found)})


def baseline(say: Say, task: Message) -> None:
    """ε_lin, the best that ignores the tokens."""
    from ...results.json import plain
    from ...theory.baseline import linear_baseline

    say({"test_error": plain(linear_baseline(Task.model_validate(task).scenario()).test_error)})


# ---------------------------------------------------------------------------- one network, training


def warm_training(say: Say) -> None:
    """Load and compile what a first training needs."""
    training(
        lambda message: say(None), Task().model_dump(by_alias=True), 50, "semantic", "lbfgs", 0, 1
    )


def training(
    say: Say, task: Message, d: int, start: str, optimiser: str, seed: int, seeds: int
) -> None:
    """Loss and overlaps during training, seed after seed, and each final result."""
    from .live import descend

    scenario = Task.model_validate(task).scenario()
    for each in range(seed, seed + seeds):
        descend(say, scenario, d, start, optimiser, each)


# -------------------------------------------------------------------------- what attention looks at


def sentence(say: Say, task: Message, seed: int, minimum: str, landscape: str | None) -> None:
    """A random sentence through teacher and students; or one sample's inner problem on the branch
    `landscape`."""
    from .sentences import inner_landscape, look

    asked = Task.model_validate(task)
    if landscape is not None:
        say(inner_landscape(solved(asked, landscape, NODES["coarse"], minimum), seed))
        return
    say(
        look({branch: solved(asked, branch, NODES["coarse"], minimum) for branch in BRANCHES}, seed)
    )


def count(say: Say, text: str) -> None:
    """Both transformers on ten letters."""
    from .letters import count_letters

    say(count_letters(text))


WORKS: dict[str, Callable[..., None]] = {
    work.__name__: work
    for work in (
        warm_theory,
        branch_point,
        diagram_row,
        baseline,
        warm_training,
        training,
        sentence,
        count,
    )
}
