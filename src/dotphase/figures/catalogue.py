"""All figures, in the order of the report."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from .figure import PaperFigure

MODULES = {
    "mechanisms": "mechanisms",
    "transition": "transition",
    "phase-diagram": "phase_diagrams",
    "slices": "slices",
    "alternative": "alternative",
    "rank-two": "rank_two",
    "sizes": "sizes",
    "random-starts": "random_starts",
    "surgery": "surgery",
    "message-passing": "message_passing",
    "stability": "stability",
    "accuracy": "accuracy",
    "one-pass": "one_pass",
    "possible": "possible",
}


def figure_named(name: str) -> PaperFigure:
    """One figure, its module loaded now."""
    return import_module(f".{MODULES[name]}", __package__).FIGURE


def chosen(names: Iterable[str]) -> list[PaperFigure]:
    """The figures of these names in the catalogue's order; all of them for none or "all"."""
    asked = list(names)
    for name in asked:
        if name not in MODULES and name != "all":
            raise ValueError(f"figure: expected all or some of {', '.join(MODULES)}, got {name!r}")
    everything = not asked or "all" in asked
    return [figure_named(name) for name in MODULES if everything or name in asked]
