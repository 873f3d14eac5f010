"""The page as plain files that need no server: `dotphase explore --static DIR`.

Browsers do not load JavaScript modules from `file://`, so the modules become one classic script;
the data become a script too.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from .answers.shipped import COUNTERS, DIAGRAM, MECHANISMS, TABLES

PAGE = Path(__file__).parent / "page"
IMPORT = re.compile(r'^import (.+?) from "(.+?)";.*$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)


def write_site(folder: Path) -> int:
    """Write the page into `folder`, which may exist; returns the number of bytes."""
    from ..numerics.extras import require

    require("the explorer needs", "explorer")
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "index.html": _index((PAGE / "index.html").read_text(encoding="utf-8")),
        "page.js": bundle(PAGE / "js" / "main.js"),
        "worker.js": bundle(PAGE / "js" / "network" / "worker.js"),
        "data.js": f"window.DOTPHASE = {json.dumps(data(), separators=(',', ':'))};\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("style.css", "icon.svg"):
        shutil.copyfile(PAGE / name, folder / name)
    shutil.copyfile(plotly_script(), folder / "plotly.js")
    written = [*texts, "style.css", "icon.svg", "plotly.js"]
    return sum((folder / name).stat().st_size for name in written)


def plotly_script() -> Path:
    """The script of the installed plotly."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def _index(page: str) -> str:
    """The page with its files beside it."""
    kept = [line for line in page.splitlines() if "modulepreload" not in line]
    main = '<script src="/page/js/main.js" type="module"></script>'
    alone = '<script src="data.js" defer></script>\n  <script src="page.js" defer></script>'
    text = "\n".join(kept).replace(main, alone)
    return text.replace('"/page/', '"').replace('"/plotly.js"', '"plotly.js"') + "\n"


def bundle(entry: Path) -> str:
    """A module and everything that it imports as one script: each module is a function that is
    called once and returns what it exports."""
    order: list[Path] = []
    _visit(entry.resolve(), order, ())
    names = {path: f"module{k}" for k, path in enumerate(order)}
    return "\n".join(["(() => {", '"use strict";', *(_wrapped(p, names) for p in order), "})();\n"])


def _visit(path: Path, order: list[Path], above: tuple[Path, ...]) -> None:
    if path in above:
        raise ValueError(f"{path.name} imports itself, by way of others")
    if path in order:
        return
    for _, where in IMPORT.findall(path.read_text(encoding="utf-8")):
        _visit((path.parent / where).resolve(), order, (*above, path))
    order.append(path)


def _wrapped(path: Path, names: dict[Path, str]) -> str:
    text = path.read_text(encoding="utf-8")

    def imported(match: re.Match[str]) -> str:
        what, where = match.groups()
        bound = what.removeprefix("* as ").replace(" as ", ": ")
        return f"const {bound} = {names[(path.parent / where).resolve()]};"

    exported = ", ".join(EXPORT.findall(text))
    body = EXPORT.sub("", IMPORT.sub(imported, text))
    return f"const {names[path]} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();"


def data() -> dict[str, Any]:
    """What the page asks a server for, as far as it can be known before."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    return {
        "about": about(tables),
        "diagram": json.loads(DIAGRAM.read_text(encoding="utf-8")),
        "tables": tables,
        "counters": counters(),
    }


def about(tables: dict[str, Any]) -> dict[str, Any]:
    """As the server's, with the students and the bounds of the tables."""
    from .. import __version__
    from .answers.export import BIBTEX, student_option, student_python
    from .answers.task import RANGES, STUDENTS, Task, bounds

    there = {plane["student"] for plane in tables["planes"]}
    students = {name: words for name, (words, _) in STUDENTS.items() if name in there}
    own = bounds()
    axes = {name: tables[name] for name in ("alpha", "omega")}
    axes |= {name: [plane[name] for plane in tables["planes"]] for name in ("sigma", "lambda")}
    for name, values in axes.items():
        own[name] |= {"least": min(values), "greatest": max(values)}
    own["d"]["greatest"] = 400  # a browser takes a few seconds for it
    tasks = {name: Task(student=name) for name in students}
    exports = {
        name: {
            "python": student_python(task) if name != "softmax" else "",
            "command": student_option(task),
        }
        for name, task in tasks.items()
    }
    return {
        **{"version": __version__, "ready": True, "students": students, "ranges": RANGES},
        **{"bounds": own, "exports": exports, "bibtex": BIBTEX},
        "choices": {name: sorted(set(axes[name])) for name in ("sigma", "lambda")},
    }


def counters() -> dict[str, Any]:
    """The weights of both counting transformers: shapes, and half-precision numbers in order."""
    from ..counting import Weights

    with np.load(COUNTERS, allow_pickle=False) as stored:
        arrays = {
            name: [stored[f"{name}.{field}"].astype("<f2") for field in Weights._fields]
            for name in MECHANISMS
        }
    shapes = [
        [field, list(array.shape)]
        for field, array in zip(Weights._fields, arrays[MECHANISMS[0]], strict=True)
    ]
    joined = {name: b"".join(array.tobytes() for array in each) for name, each in arrays.items()}
    return {
        "shapes": shapes,
        "models": {name: base64.b64encode(each).decode() for name, each in joined.items()},
    }
