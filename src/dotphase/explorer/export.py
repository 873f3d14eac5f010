"""The state of the page as text to take away: Python, a command, a study file, BibTeX."""

from __future__ import annotations

import json

from .task import RANGES, STUDENTS, Export

STANDARD = [[0.6, 0.4], [0.4, 0.6]]
BIBTEX = """@misc{cui2024phase,
  title  = {A phase transition between positional and semantic learning in a solvable model of dot-product attention},
  author = {Cui, Hugo and Behrens, Freya and Krzakala, Florent and Zdeborov{\\'a}, Lenka},
  year   = {2024},
  eprint = {2402.03902},
  archivePrefix = {arXiv}
}
"""


def texts(asked: Export) -> dict[str, str]:
    """All of them, by name."""
    return {"python": python(asked), "command": command(asked), "study": study(asked), "bibtex": BIBTEX}


def python(asked: Export) -> str:
    """A script that solves and trains what the page shows."""
    task, more = asked.task, ""
    if task.positional != STANDARD:
        more = f", positional={task.positional!r}"
    numbers = f"alpha={task.alpha!r}, omega={task.omega!r}, sigma={task.sigma!r}, ridge={task.ridge!r}{more}"
    lines = ["import dotphase", "", f"scenario = dotphase.paper({numbers})"]
    if task.student != "softmax":
        lines.append(f"scenario = scenario.vary(student={STUDENTS[task.student][1]})")
    option = "" if asked.minimum == "lowest" else f', minimum="{asked.minimum}"'
    lines += [
        'for branch in ("semantic", "positional"):',
        f"    print(dotphase.solve(scenario, branch{option}))",
        "print(dotphase.linear_baseline(scenario).test_error)",
        f'print(dotphase.train(scenario, d={asked.d}, start="{asked.start}", optimiser="{asked.optimiser}", '
        f"seeds={asked.seeds}).test_error)",
    ]
    return "\n".join(lines) + "\n"


def command(asked: Export) -> str:
    """The same on the command line, with a scenario file where options do not suffice."""
    task = asked.task
    numbers = f"--alpha {task.alpha!r} --omega {task.omega!r} --sigma {task.sigma!r} --lambda {task.ridge!r}"
    if task.positional != STANDARD:
        rows = ";".join(",".join(repr(entry) for entry in row) for row in task.positional)
        numbers += f" --positional '{rows}'"
    comment = ""
    if task.student != "softmax":
        kind, settings = _student(task.student)
        comment = f"# the student is {kind} ({settings}): options cannot say that; use the study file or Python\n"
    train = f"dotphase train {numbers} --d {asked.d} --start {asked.start} --seeds {asked.seeds}"
    return f"{comment}dotphase solve {numbers}\n{train} --optimiser {asked.optimiser}\n"


def study(asked: Export) -> str:
    """A study file: both branches and the baseline along the parameter, `dotphase sweep FILE --out RUN.zarr`."""
    task = asked.task
    low, high = RANGES[asked.along]
    own = {"alpha": task.alpha, "omega": task.omega, "sigma": task.sigma, "lambda": task.ridge}[asked.along]
    scale = "logspace" if asked.along == "lambda" else "linspace"
    ends = [min(low, own), max(high, own)]
    kind, settings = _student(task.student)
    lines = [
        'name = "from the explorer"',
        "",
        "[scenario]",
        f"sample_ratio = {task.alpha!r}",
        f"ridge = {task.ridge!r}",
        "",
        "[scenario.teacher]",
        'kind = "mixture"',
        f"positional = {json.dumps(task.positional)}",
        f"mixing = {task.omega!r}",
        "",
        "[scenario.student]",
        f'kind = "{kind}"',
        settings.replace(", ", "\n"),
        "",
        "[scenario.tokens]",
        "length = 2",
        f"deviation = {task.sigma!r}",
        "",
        "[scenario.positions]",
        "components = [[1.0, -1.0]]",
        "",
        "[axes]",
        f"{asked.along} = {{ {scale} = [{ends[0]!r}, {ends[1]!r}, 25] }}",
        "",
        "[compute.theory]",
        'kind = "theory"',
        f'follow = "{asked.along}"',
        "",
        "[compute.linear]",
        'kind = "baseline"',
    ]
    return "\n".join(lines) + "\n"


def _student(name: str) -> tuple[str, str]:
    return {
        "softmax": ("softmax", "rank = 1"),
        "softmax-rank-2": ("softmax", "rank = 2"),
        "softmax-untied": ("softmax", "rank = 1, tied = false"),
        "linear": ("linear", "rank = 1"),
    }[name]
