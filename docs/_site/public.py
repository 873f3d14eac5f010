"""A page for every public name, from its signature and its docstring, which is Markdown."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType, UnionType
from typing import Any

from .outputs import EXAMPLE, outputs
from .sources import DOCS, Page, digest, table

# in the order of the reference: title, and the folder of the package its names are defined in
ROOMS = {
    "scenario": "What is learned",
    "theory": "Theory, d → ∞",
    "finite": "Finite size",
    "learning": "Training in time, d → ∞",
    "comparison": "Theory and training compared",
    "results": "Results, and numbers with errors",
    "numerics": "Gaussian averages",
    "plotting": "Plots",
    "overlaps": "Overlaps",
}
MODULES = {  # parts of the package with public names of their own
    "attentions": "Attentions by name",
    "scenario": "Scenarios, tokens and positions",
    "theory": "Theory: further functions",
    "finite": "Finite size: further functions",
    "learning": "Learning curves and one-pass learning",
    "bayes": "The Bayes-optimal limit",
    "studies": "Studies, computations and stores",
    "counting": "The counting task",
    "heads": "Heads of real transformers",
    "mechanism": "What an attention does",
    "text": "Real text",
}


def names(module: str = "dotphase") -> dict[str, Any]:
    """The public names of a module and what they are."""
    loaded = import_module(module)
    return {name: getattr(loaded, name) for name in sorted(loaded.__all__, key=str.lower)}


def pages() -> Iterator[Page]:
    """Of all names at the top, of the parts with names of their own, and an index of both."""
    top = {name: found for name, found in names().items() if not isinstance(found, ModuleType)}
    for name, found in top.items():
        yield f"api/{name}", _page("dotphase", name, found)
    parts = {part: title for part, title in MODULES.items() if _exists(part)}
    for part, title in parts.items():
        yield f"api/{part}", _module_page(part, title, top)
    yield "api/index", _index(top, parts)


def _exists(part: str) -> bool:
    try:
        return bool(import_module(f"dotphase.{part}").__all__)
    except (ImportError, AttributeError):
        return False


def room(found: Any) -> str:
    """The folder of the package where it is defined."""
    return found.__module__.split(".")[1]


def _index(top: dict[str, Any], parts: dict[str, str]) -> str:
    text = "# Public names\n\nUse these as `dotphase.NAME`. Each is loaded on first use.\n"
    rooms = dict.fromkeys([*ROOMS, *(room(found) for found in top.values())])
    for folder in rooms:
        inside = {name: found for name, found in top.items() if room(found) == folder}
        if inside:
            rows = [
                [f"[`{name}`](#dotphase.{name})", first_line(found)]
                for name, found in inside.items()
            ]
            text += f"\n## {ROOMS.get(folder, folder)}\n\n{table(['name', 'meaning'], rows)}"
    text += "\n## Submodules\n\n"
    text += table(
        ["submodule", "contents"],
        [[f"[`dotphase.{part}`]({part}.md)", title] for part, title in parts.items()],
    )
    listed = "\n".join([*top, *parts])
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def first_line(found: Any) -> str:
    """What it is, in one line."""
    return (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")


def _page(module: str, name: str, found: Any) -> str:
    return f"# {name}\n\n{entry(module, name, found)}\n\n```{{seen-in}} {module}.{name}\n```\n"


def _module_page(part: str, title: str, top: dict[str, Any]) -> str:
    loaded, text = import_module(f"dotphase.{part}"), ""
    for name, found in names(f"dotphase.{part}").items():
        if found is top.get(name):
            text += f"\n## {name}\n\nThe same as {{py:obj}}`dotphase.{name}`.\n"
        else:
            text += f"\n## {name}\n\n{entry(f'dotphase.{part}', name, found)}\n"
    return f"# {title}\n\n`dotphase.{part}`: {markdown(inspect.getdoc(loaded) or '')}\n{text}"


def entry(module: str, name: str, found: Any) -> str:
    """A name as a directive of Sphinx: its signature, its docstring, and what a class has."""
    full = f"{module}.{name}"
    if inspect.isclass(found):
        kind = "exception" if issubclass(found, BaseException) else "class"
        body = "\n\n".join([markdown(inspect.getdoc(found) or ""), *_members(found)])
        return _directive(kind, name, f"{_short(name, found)}", body, module)
    if callable(found):
        body = _with_output(full, inspect.getdoc(found) or "")
        return _directive("function", name, _short(name, found), body, module)
    return _directive("data", full, name, f"`{found!r}`", module)


def _with_output(name: str, doc: str) -> str:
    """The help of a function, and what its example prints below the example."""
    match = EXAMPLE.search(doc + "\n")
    if match is None or os.environ.get("DOTPHASE_DOCS_EXECUTE") == "off":
        return markdown(doc)
    text = outputs(DOCS / "_build" / "examples" / f"{digest()}.json").get(name)
    printed = f"```text\n{text}\n```\n\n" if text else ""
    after = doc[match.end() :].lstrip(". \n")
    return f"{markdown(doc[: match.end()])}\n\n{printed}{markdown(after)}"


def _directive(kind: str, name: str, signature: str, body: str, module: str = "") -> str:
    fence = ":" * (3 if kind in ("method", "property", "attribute") else 6)
    where = f":module: {module}\n" if module else ""
    return f"{fence}{{py:{kind}}} {signature}\n{where}\n{body}\n{fence}"


def _short(name: str, found: Any) -> str:
    """name(signature), as it stands in the source: annotations are short, defaults legible."""
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return name
    known = getattr(inspect.unwrap(found), "__globals__", None) or vars(
        sys.modules[found.__module__]
    )
    _plain = lambda annotation: _annotation(annotation, known)
    parameters = [
        p.replace(annotation=_plain(p.annotation), default=_legible(p.default))
        for p in signature.parameters.values()
    ]
    returns = _plain(signature.return_annotation)
    written = str(signature.replace(parameters=parameters, return_annotation=returns))
    return f"{name}{written}".replace("'", "").replace("\n", " ")


class _Legible:
    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _annotation(annotation: Any, known: dict[str, Any]) -> Any:
    """An annotation as text: unions written out, since a reader of the reference does not know
    their names, and public classes by their full names, since two modules may have a `Run`."""
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    short = re.sub(r"\b(?:[a-z_]+\.)+([A-Z]\w*)", r"\1", text)
    return _Legible(re.sub(r"\b[A-Z]\w*\b", lambda match: _full(match[0], known), short))


def _full(name: str, known: dict[str, Any]) -> str:
    found = known.get(name)
    if isinstance(found, UnionType):
        return re.sub(r"\b(?:[a-z_]+\.)+([A-Z]\w*)", r"\1", str(found))
    return _addresses().get(found, name) if inspect.isclass(found) else name


@cache
def _addresses() -> dict[type, str]:
    """Public classes, and the name each has in the reference."""
    modules = [*(f"dotphase.{part}" for part in MODULES if _exists(part)), "dotphase"]
    return {
        found: f"{module}.{name}"
        for module in modules
        for name, found in names(module).items()
        if inspect.isclass(found)
    }


def _legible(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return default
    if isinstance(default, int) and default > 512 and default & (default - 1) == 0:
        return _Legible(f"2**{default.bit_length() - 1}")
    text = repr(default)
    return _Legible(
        '"' + default + '"'
        if isinstance(default, str)
        else text
        if len(text) < 40 and "<" not in text
        else "…"
    )


def _members(found: type) -> Iterator[str]:
    """Public methods and properties that have help, those of its ancestors in the package included."""
    seen = dict.fromkeys(
        name
        for kind in found.__mro__
        if kind.__module__.startswith("dotphase")
        for name in vars(kind)
    )
    for name in sorted(seen):
        if name.startswith("_") or name in ("model_config",):
            continue
        member = inspect.getattr_static(found, name)
        owner = next(kind for kind in found.__mro__ if name in vars(kind))
        doc = (
            inspect.getdoc(getattr(member, "func", None) or member)
            if not isinstance(member, str)
            else ""
        )
        if not doc or (owner.__name__ == "Result" and found.__name__ != "Result"):
            continue
        if isinstance(member, (staticmethod, classmethod)):
            yield _directive("method", name, _short(name, getattr(found, name)), markdown(doc))
        elif inspect.isfunction(member):
            yield _directive(
                "method",
                name,
                _short(name, member).replace("(self, ", "(").replace("(self)", "()"),
                markdown(doc),
            )
        elif isinstance(member, property) or hasattr(member, "func"):
            yield _directive("property", name, name, markdown(doc))


def markdown(doc: str) -> str:
    """A docstring as a page: its indented lines are code if Python reads them, else formulas."""
    lines, block, text = doc.splitlines(), [], []
    for at, line in enumerate([*lines, ""]):
        opens = block or (line.startswith("    ") and (not text or not text[-1].strip()))
        if opens and (
            line.startswith("    ")
            or (not line.strip() and at < len(lines) and _goes_on(lines, at))
        ):
            block.append(line[4:])
            continue
        if block:
            text += [_code("\n".join(block)), ""]
            block = []
        text.append(line)
    return (
        "\n".join(text).strip().replace("\\", "\\\\")
        if "\\" in doc and "$" not in doc
        else "\n".join(text).strip()
    )


def _goes_on(lines: list[str], at: int) -> bool:
    rest = [line for line in lines[at:] if line.strip()]
    return bool(rest) and rest[0].startswith("    ")


def _code(block: str) -> str:
    try:
        ast.parse(block)
        language = "python"
    except SyntaxError:
        language = "text"
    return f"```{language}\n{block.rstrip()}\n```"
