"""Examples of the reference, run: every example of a public function, and what it prints.

    python docs/_site/outputs.py        runs all of them and prints those that fail

An example begins with the names of its package, as after `from dotphase import *`, in an empty
folder.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

EXAMPLE = re.compile(r"\*\*Example\*\*\s*\n\n((?:    .*\n?|\n)+)|\*\*Example\*\*: `([^`]+)`")
LINES = 14  # of an output that are shown
SLOW = ("phase_of", "universality", "scenario_of")  # half a minute each


def example(found: Any) -> str | None:
    """The example in the help of a function."""
    match = EXAMPLE.search((inspect.getdoc(found) or "") + "\n") if callable(found) else None
    if match is None:
        return None
    return inspect.cleandoc(match[1]) if match[1] else " ".join(match[2].split())


def outputs(cache: Path) -> dict[str, str]:
    """What each example prints, by the full name of its function; kept in a file."""
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as empty:
            command = [sys.executable, str(Path(__file__).resolve()), str(cache.resolve())]
            subprocess.run(command, check=True, cwd=empty, stdout=subprocess.DEVNULL)
    return json.loads(cache.read_text(encoding="utf-8"))


def run(code: str, names: dict[str, Any]) -> str:
    """What a piece of code prints; the value of its last line too, as at the prompt."""
    tree, printed = ast.parse(code), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<example>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<example>", "eval"), names)
            if value is not None and type(value).__name__ != "Figure":
                print(value)
    lines = printed.getvalue().rstrip().splitlines()
    more = [f"… and {len(lines) - LINES} more lines"] if len(lines) > LINES + 1 else []
    return "\n".join(lines[:LINES] + more if more else lines)


def run_all() -> tuple[dict[str, str], dict[str, str]]:
    """Outputs and errors of all examples."""
    from _site.public import MODULES, names

    done, failed, seen = {}, {}, set()
    for module in ["dotphase", *(f"dotphase.{part}" for part in MODULES)]:
        for name, found in names(module).items():
            code = example(found)
            if code is None or inspect.isclass(found) or id(found) in seen or name in SLOW:
                continue
            seen.add(id(found))
            try:
                done[f"{module}.{name}"] = run(code, names() | names(module) | {"dotphase": _top()})
            except Exception as error:
                failed[f"{module}.{name}"] = f"{type(error).__name__}: {error}"
    return done, failed


def _top() -> Any:
    import dotphase

    return dotphase


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    sys.path[:0] = [str(here), str(here.parent)]
    sys.path.remove(str(here / "_site"))
    os.environ.setdefault("MPLBACKEND", "agg")
    found, errors = run_all()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1, ensure_ascii=False), "utf-8")
    for name, error in errors.items():
        print(f"{name}: {error}")
    print(f"{len(found)} examples run, {len(errors)} do not")
