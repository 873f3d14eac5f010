"""MathJax as one file of the site, from a package of the index: nothing is fetched when a page is
read. Letters with indices in sentences and tables, such as ε_t or 2^13, are set as formulas."""

from __future__ import annotations

import re
import shutil
import unicodedata
from importlib.metadata import distribution
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

FILE = "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"  # draws by itself, without fonts

SPECIAL = {
    "ε": r"\varepsilon",
    "λ": r"\lambda",
    "Λ": r"\Lambda",
    "∂": r"\partial",
    "∇": r"\nabla",
    "ℓ": r"\ell",
}
ACCENTS = {"\u0302": r"\hat", "\u0303": r"\tilde"}
RAISED = {"²": "^2", "ᵀ": r"^\top", "⁻¹": "^{-1}", "*": "^*"}
INDEX = r"(?:\{[^{}]*\}|[A-Za-zα-ωΣ0-9]{1,3}['′]*(?![A-Za-z0-9_]))"
LETTER = re.compile(
    r"(?:(?<![A-Za-z0-9_\\.\-])(?<![a-z]/)|(?<=\bd)(?=[α-ω]))"
    r"(?P<base>\d{1,2}(?=\^)|[A-Za-zα-ωΑ-Ω∂∇ℓ])(?P<accent>[\u0302\u0303]?)"
    rf"(?P<star>\*?)(?:_(?P<below>{INDEX}))?(?:\^(?P<above>{INDEX}|-?\d+))?(?P<raised>²|ᵀ|⁻¹)?"
)
PLAIN = (nodes.FixedTextElement, nodes.literal, nodes.math, nodes.title, nodes.raw, nodes.comment)


def latex(letters: str) -> str:
    """Letters as LaTeX writes them: α is \\alpha, Γ is \\Gamma, x̃ is \\tilde{x}."""
    found = ""
    for letter, accent in re.findall("(.)([\u0302\u0303]?)", letters):
        written = SPECIAL.get(letter, letter)
        if written == letter and "α" <= letter.lower() <= "ω":
            name = unicodedata.name(letter).split()[-1]
            written = "\\" + (name.title() if letter.isupper() else name.lower())
        found += f" {ACCENTS[accent]}{{{written}}}" if accent else f" {written}"
    return found.strip()


def as_latex(match: re.Match[str]) -> str:
    """A letter with its indices."""
    base = match["base"] if match["base"].isdigit() else latex(match["base"] + match["accent"])
    text = base + ("^*" if match["star"] and not match["above"] else "")
    for sign, mark in (("below", "_"), ("above", "^")):
        if index := match[sign]:
            word = re.fullmatch("[a-z]{3}", index)
            inner = rf"\mathrm{{{index}}}" if word else latex(index.strip("{}"))
            text += f"{mark}{{{inner}}}"
    return text + RAISED.get(match["raised"] or "", "")


def set_letters(app, doctree) -> None:
    """Turn letters with indices into formulas, outside code and titles."""
    for text in list(doctree.findall(nodes.Text)):
        above, inside = text.parent, []
        while above is not None:
            inside.append(above)
            above = above.parent
        if any(isinstance(each, (*PLAIN, addnodes.desc_signature)) for each in inside):
            continue
        parts, at = [], 0
        for match in LETTER.finditer(text.astext()):
            if not (match["below"] or match["above"] or match["accent"]):
                continue
            formula = as_latex(match)
            parts += [nodes.Text(text.astext()[at : match.start()]), nodes.math(formula, formula)]
            at = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text.astext()[at:])])


def setup(app) -> None:
    """Put the file beside the pages once they are built."""
    app.connect("doctree-read", set_letters)
    app.connect("build-finished", _copy)


def _copy(app, failure) -> None:
    if failure is None and app.builder.format == "html":
        shutil.copy(
            str(distribution("sphinx-mathjax-offline").locate_file(FILE)),
            Path(app.outdir) / "_static" / "mathjax.js",
        )
