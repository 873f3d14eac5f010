"""Links both ways: names in the text lead to the reference, and the reference says where a name is
used and which letters of the notation it speaks of."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from .public import MODULES, names

PART = "|".join(MODULES)
NAME = re.compile(rf"(dotphase\.)?(?:({PART})\.)?([A-Za-z]\w*)(?:\.(\w+))?(\(.*\))?", re.DOTALL)
SURE = {
    "solve",
    "paper",
    "gamp",
    "critical",
    "spinodal",
    "isotropic",
    "mixture",
    "sensitivities",
}  # words of no other use
IN_CODE = re.compile(r"\b(?:dotphase|dp)\.([A-Za-z]\w*)")


GENERATED = {  # sources to which pages link, and the pages that the site makes of them
    r"examples/(\w+)\.py": r"examples/\1.md",
    r"src/dotphase/__init__\.pyi": "api/index.md",
    r"src/dotphase/cli/app\.py": "commands.md",
    r"src/dotphase/scenario/tables\.py": "scenario-files.md",
    r"src/dotphase/studies/study/study\.py": "study-files.md",
}


def to_generated(app, page: str, source: list[str]) -> None:
    """Links to a source file, which lead somewhere wherever the Markdown is read, lead to the
    generated page where the site has one."""
    up = "../" * page.count("/")
    for file, made in GENERATED.items():
        source[0] = re.sub(
            rf"\]\({re.escape(up)}\.\./{file}\)", f"]({up}generated/{made})", source[0]
        )


class SeenIn(SphinxDirective):
    """Where a public name is used on this site, and its letters."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        holder = nodes.container(classes=["seen-in"])
        holder["name"] = self.arguments[0].removeprefix("dotphase.")
        return [holder]


@cache
def public() -> dict[str, object]:
    """The names of the top level that can be linked to."""
    return {name: found for name, found in names().items() if not isinstance(found, ModuleType)}


@cache
def parts() -> dict[str, str]:
    """Names of submodules, with and without the submodule, and where each is described."""
    found: dict[str, str] = {}
    for part in MODULES:
        for name, object_ in names(f"dotphase.{part}").items():
            address = name if object_ is public().get(name) else f"{part}.{name}"
            found[f"{part}.{name}"] = address
            found[name] = "" if name in found else address  # two of the same name: no link
    return found


def target(text: str) -> str | None:
    """The public name that inline code means, if it does."""
    match = NAME.fullmatch(text)
    if match is None:
        return None
    _, part, name, member, _ = match.groups()
    address = parts().get(f"{part}.{name}") if part else name if name in public() else None
    address = address or (parts().get(name) if not part else None)
    sure = match[1] or part or member or name in SURE or name != name.lower() or "_" in name
    return address if address and sure else None


def link_names(app, doctree) -> None:
    """Turn inline code that is a public name, or a command, into a link; remember who uses what."""
    env, page = app.env, app.env.docname
    uses = env.__dict__.setdefault("dotphase_uses", {})
    for pages in uses.values():
        pages.discard(page)
    found = {
        match
        for block in doctree.findall(nodes.literal_block)
        for match in IN_CODE.findall(block.astext())
    }
    for literal in list(doctree.findall(nodes.literal)):
        inside = literal.parent
        if isinstance(
            inside, nodes.reference | addnodes.pending_xref | addnodes.desc_signature | nodes.title
        ):
            continue
        name = target(literal.astext())
        if name is not None and page != f"generated/api/{name}":
            found.add(name)
            _wrap(literal, "py", "obj", f"dotphase.{name}", page)
        elif (label := command(literal.astext())) is not None and page != "generated/commands":
            _wrap(literal, "std", "keyword", label, page)  # unlike `ref`, keeps the code
    for name in found & set(public()):
        if not page.startswith("generated/api"):
            uses.setdefault(name, set()).add(page)


@cache
def _commands() -> frozenset[str]:
    from .commands import pages

    return frozenset(re.findall(r"^\((dotphase-[\w-]+)\)=$", next(pages())[1], re.MULTILINE))


def command(text: str) -> str | None:
    """The label of the command that inline code begins with, if it does."""
    words = text.split()
    if len(words) < 2 or words[0] != "dotphase":
        return None
    for count in (3, 2):
        label = "-".join(words[:count])
        if label in _commands():
            return label
    return None


def _wrap(literal: nodes.literal, domain: str, kind: str, name: str, page: str) -> None:
    link = addnodes.pending_xref(
        "", refdomain=domain, reftype=kind, reftarget=name, refexplicit=True, refwarn=True
    )
    link["refdoc"] = page
    literal.replace_self(link)
    link += literal


def fill(app, doctree, page) -> None:
    """Say where a name is used and which letters its help has, once all pages are known."""
    for holder in list(doctree.findall(nodes.container)):
        if "seen-in" not in holder["classes"] or "name" not in holder:
            continue
        name = holder["name"]
        seen = getattr(app.env, "dotphase_uses", {}).get(name, ())
        uses = sorted(use for use in seen if use in app.env.titles)  # pages may have been removed
        if uses:
            holder += _line(
                "Seen in", [(app.env.titles[use].astext(), use, "") for use in uses], app, page
            )
        letters = [
            (letter, "notation", f"letter-{label}")
            for letter, label in LETTERS.items()
            if letter in doctree.astext()
        ]
        if letters:
            holder += _line("Letters", letters, app, page)


LETTERS = {
    "α": "alpha",
    "λ": "lambda",
    "ω": "omega",
    "σ": "sigma",
    "γ": "gamma",
    "τ": "tau",
    "π": "pi",
    "ρ": "rho",
}
LETTERS |= {
    "θ": "overlaps",
    "ξ": "nodes",
    "ε_g": "errors",
    "ε_t": "errors",
    "α_c": "transitions",
    "α_l": "transitions",
    "ε_lin": "baseline",
}


def _line(title: str, links: list[tuple[str, str, str]], app, page: str) -> nodes.paragraph:
    paragraph = nodes.paragraph("", "", nodes.strong("", title), nodes.Text(": "))
    for at, (text, use, anchor) in enumerate(links):
        paragraph += nodes.Text(" · " if at else "")
        paragraph += make_refnode(app.builder, page, use, anchor or None, nodes.Text(text))
    return paragraph


def setup(app) -> None:
    """The directive and the two passes."""
    app.add_directive("seen-in", SeenIn)
    app.connect("source-read", to_generated)
    app.connect("doctree-read", link_names)
    app.connect("doctree-resolved", fill)
