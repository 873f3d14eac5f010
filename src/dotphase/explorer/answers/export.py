"""Export the state of the page as text: Python, a command, a study file, BibTeX."""

from __future__ import annotations

import json

from ...numerics.extras import require
from .task import RANGES, STUDENTS, Export, Task

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
    """Every exported text, by name."""
    return {
        "python": python(asked),
        "command": command(asked),
        "study": study(asked),
        "bibtex": BIBTEX,
    }


def python(asked: Export) -> str:
    """A script that solves and trains what the page shows."""
    task, more = asked.task, ""
    if task.positional != STANDARD:
        more = f", positional={task.positional!r}"
    numbers = f"alpha={task.alpha!r}, omega={task.omega!r}, sigma={task.sigma!r}, ridge={task.ridge!r}{more}"
    lines = ["import dotphase", "", f"scenario = dotphase.paper({numbers})"]
    if task.correlation:
        tokens = f"dotphase.scenario.correlated(2, {task.sigma!r}, {task.correlation!r})"
        lines.append(f"scenario = scenario.vary(tokens={tokens})")
    if task.student != "softmax":
        lines.append(f"scenario = scenario.vary(student=dotphase.{student_python(task)})")
    option = "" if asked.minimum == "lowest" else f', minimum="{asked.minimum}"'
    seeds = f"range({asked.seed}, {asked.seed + asked.seeds})" if asked.seed else asked.seeds
    lines += [
        'for branch in ("semantic", "positional"):',
        f"    print(dotphase.solve(scenario, branch{option}))",
        "print(dotphase.linear_baseline(scenario).test_error)",
        f'print(dotphase.train(scenario, d={asked.d}, start="{asked.start}", optimiser="{asked.optimiser}", '
        f"seeds={seeds}).test_error)",
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
    numbers += student_option(task)
    if task.correlation:
        comment = f"# tokens correlated by {task.correlation!r}: no option for this; use the study file or Python\n"
    train = f"dotphase train {numbers} --d {asked.d} --start {asked.start} --seeds {asked.seeds}"
    train += f" --first-seed {asked.seed}" if asked.seed else ""
    option = "" if asked.minimum == "lowest" else f" --minimum {asked.minimum}"
    return f"{comment}dotphase solve {numbers}{option}\n{train} --optimiser {asked.optimiser}\n"


def study(asked: Export) -> str:
    """A study file: both branches and the baseline along the parameter, `dotphase sweep FILE --out
    RUN.zarr`."""
    require("writing a study file needs", "tomli_w")
    import tomli_w

    task, (low, high) = asked.task, RANGES[asked.along]
    own = task.model_dump(by_alias=True)[asked.along]
    scale = "logspace" if asked.along == "lambda" else "linspace"
    tables = {
        "name": "from the explorer",
        "scenario": task.tables(),
        "axes": {asked.along: {scale: [min(low, own), max(high, own), 25]}},
        "compute": {
            "theory": {"kind": "theory", "follow": asked.along, "minimum": asked.minimum},
            "linear": {"kind": "baseline"},
        },
    }
    return tomli_w.dumps(tables)


def student_option(task: Task) -> str:
    """The student on the command line; nothing for the usual one."""
    if task.student == "softmax":
        return ""
    kind, *given = STUDENTS[task.student][1].items()
    settings = ",".join(f"{name}={json.dumps(value)}" for name, value in given)
    return f" --student {kind[1]}" + f":{settings}" * bool(settings)


def student_python(task: Task) -> str:
    """The student in Python."""
    kind, *given = STUDENTS[task.student][1].items()
    return f"attentions.{kind[1]}({', '.join(f'{name}={value!r}' for name, value in given)})"
