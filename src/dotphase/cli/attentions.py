"""`dotphase attentions`: what a teacher or a student can be by name."""

from __future__ import annotations

import json

import typer

from .options import Json, print_table


def attentions(as_json: Json = False) -> None:
    """The catalogue of attentions. Each by its name, with its formula and its parameters."""
    from ..scenario.attentions.catalogue import ENTRIES

    if as_json:
        typer.echo(json.dumps([entry.to_dict() for entry in ENTRIES], indent=2, ensure_ascii=False))
        return
    rows = [
        [
            entry.kind,
            entry.formula,
            "; ".join(f"{name}: {text}" for name, text in entry.numbers.items()),
        ]
        for entry in ENTRIES
    ]
    title = "attentions, s = h hᵀ, or h_Q h_Kᵀ if not tied; by name in scenario files and with --student"
    print_table([["kind", "S[h]_ij", "parameters"], *rows], title)
