"""All figures, in the order of the report."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from .figure import PaperFigure

MODULES = {
    "mechanisms": "further.mechanisms",
    "transition": "paper.transition",
    "phase-diagram": "paper.phase_diagrams",
    "slices": "paper.slices",
    "alternative": "paper.alternative",
    "rank-two": "paper.rank_two",
    "sizes": "paper.sizes",
    "random-starts": "paper.random_starts",
    "surgery": "further.surgery",
    "message-passing": "paper.message_passing",
    "stability": "further.stability",
    "accuracy": "paper.accuracy",
    "one-pass": "further.one_pass",
    "learning-curves": "further.learning_curves",
    "rank-two-phases": "further.rank_two_phases",
    "possible": "further.possible",
    "attentions": "further.attentions",
    "text": "further.text",
    "language": "further.language",
}


def figure_named(name: str) -> PaperFigure:
    """One figure, its module loaded now: one of the catalogue, or `package.module:NAME` of yours."""
    if ":" not in name:
        return import_module(f"dotphase.figures.{MODULES[name]}").FIGURE
    from ...studies.study.computation import named_object

    found = named_object(name, "figure", trust_code=True)
    if not isinstance(found, PaperFigure):
        raise ValueError(f"figure: {name!r} is {type(found).__name__}, not a PaperFigure")
    return found


def chosen(names: Iterable[str]) -> list[PaperFigure]:
    """The figures of these names, those of the catalogue first, in its order; all of it for none or
    "all"."""
    asked = list(names)
    for name in asked:
        if name not in MODULES and name != "all" and ":" not in name:
            expected = f"all, some of {', '.join(MODULES)}, or package.module:NAME"
            raise ValueError(f"figure: expected {expected}, got {name!r}")
    everything = not asked or "all" in asked
    ours = [name for name in MODULES if everything or name in asked]
    return [figure_named(name) for name in (*ours, *(name for name in asked if ":" in name))]
