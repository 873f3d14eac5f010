"""Results as tables: for people (text, HTML), for pandas, for xarray."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..scenario.names import LETTERS
from ..scenario.scenario import Scenario
from .estimate import Estimate

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

MOST_ROWS = 12  # of a table for people
Rows = Sequence[Mapping[str, Any]]


def numbers(scenario: Scenario) -> dict[str, float]:
    """The numbers of a scenario by name: α, λ, σ, and those of teacher and student that are single
    numbers."""
    single = {
        n: v
        for a in (scenario.student, scenario.teacher)
        for n, v in a.values.items()
        if np.ndim(v) == 0
    }
    common = {
        name: scenario.value_of(name) for name in ("sample_ratio", "ridge", "token_deviation")
    }
    return common | {name: float(value) for name, value in single.items()}


def brief(scenario: Scenario) -> str:
    """A scenario in half a line: α = 2, λ = 0.01, σ = 0.5, ω = 0.3, 2 tokens, ranks 1, 1."""
    known = ", ".join(
        f"{LETTERS.get(name, name)} = {value:.6g}" for name, value in numbers(scenario).items()
    )
    return f"{known}, {scenario.length} tokens, ranks {scenario.ranks[0]}, {scenario.ranks[1]}"


def per_token(
    overlaps: Any, ending: str = "", lead: tuple[str, ...] = ()
) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Overlaps as named arrays: token, column of the student, column of student or teacher; `lead`
    axes come first."""
    axes = {
        "q": ("column", "column_"),
        "V": ("column", "column_"),
        "m": ("column",),
        "theta": ("column", "teacher"),
    }
    return {
        name + ending: ((*lead, "token", *inner), np.asarray(getattr(overlaps, name)))
        for name, inner in axes.items()
        if hasattr(overlaps, name)
    }


def per_pair(overlaps: Any, ending: str = "") -> dict[str, tuple[tuple[str, ...], Any]]:
    """Overlaps of every two tokens as named arrays, `q_joint`, `V_joint`, `theta_joint`."""
    axes = {"q": ("column", "column_"), "V": ("column", "column_"), "theta": ("column", "teacher")}
    return {
        f"{name}_joint{ending}": (("token", "token_", *inner), np.asarray(getattr(overlaps, name)))
        for name, inner in axes.items()
    }


def cell(value: Any) -> str:
    """One entry of a table, in few characters."""
    if value is None:
        return "–"
    if isinstance(value, bool | str | Estimate | int | np.integer):
        return str(value)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, Scenario):
        return brief(value)
    array = np.asarray(value)
    if array.dtype != object and array.ndim and array.size <= 6:
        return " ".join(f"{number:.4g}" for number in array.ravel())
    return f"{type(value).__name__} {array.shape}" if array.ndim else str(value).splitlines()[0]


def _columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def text_table(rows: Rows) -> str:
    """Aligned columns; of a single row, one line per entry."""
    names = _columns(rows)
    if len(rows) == 1:
        lines = [(f"  {name}", cell(rows[0].get(name))) for name in names]
    else:
        lines = [tuple(names), *(tuple(cell(row.get(name)) for name in names) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))] if lines else []
    return "\n".join(
        "  ".join(t.ljust(w) for t, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def html_table(headline: str, rows: Rows, figure: Figure | None = None) -> str:
    """A small table, and a small picture below it."""
    names, mark = (
        _columns(rows),
        lambda tag, texts: "".join(f"<{tag}>{escape(str(text))}</{tag}>" for text in texts),
    )
    if len(rows) == 1:
        body = [mark("th", [name]) + mark("td", [cell(rows[0].get(name))]) for name in names]
    else:
        body = [
            mark("th", names),
            *(mark("td", [cell(row.get(name)) for name in names]) for row in rows[:MOST_ROWS]),
        ]
    more = f"<p>… {len(rows) - MOST_ROWS} rows more</p>" if len(rows) > MOST_ROWS else ""
    table = "<table>" + "".join(f"<tr>{line}</tr>" for line in body) + "</table>"
    picture = "" if figure is None else _inline(figure)
    return f"<div><p><b>{escape(headline)}</b></p>{table}{more}{picture}</div>"


def _inline(figure: Figure) -> str:
    from base64 import b64encode
    from io import BytesIO

    file = BytesIO()
    figure.savefig(file, format="png", dpi=72)
    return f'<img alt="" src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'


def _flat(rows: Rows) -> dict[str, list]:
    """Columns of numbers and words: an estimate becomes two of them."""
    columns: dict[str, list] = {}
    for name in _columns(rows):
        entries = [row.get(name) for row in rows]
        if any(isinstance(entry, Estimate) for entry in entries):
            parts = [
                entry if isinstance(entry, Estimate) else Estimate(np.nan, np.nan)
                for entry in entries
            ]
            columns[name], columns[f"{name}_error"] = (
                [part.value for part in parts],
                [part.error for part in parts],
            )
        else:
            columns[name] = [_entry(entry, entries) for entry in entries]
    return columns


def _entry(entry: Any, entries: list) -> Any:
    """Numbers, truth values and words as they are; what is missing as not a number, or as no word;
    the rest as text."""
    if entry is None:
        return "" if any(isinstance(other, str) for other in entries) else np.nan
    if isinstance(entry, str | bool | int | float | np.number | np.bool_):
        return entry
    return cell(entry)


def to_pandas(rows: Rows) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(_flat(rows))


def to_xarray(
    headline: str, rows: Rows, arrays: Mapping[str, tuple[tuple[str, ...], Any]], row: str
) -> xarray.Dataset:
    """Columns along the axis `row` (without an axis if that is empty), and arrays along theirs."""
    import xarray

    columns = {
        name: np.asarray(entries) for name, entries in _flat(rows).items() if name not in arrays
    }
    along = {name: ((row,), column) if row else ((), column[0]) for name, column in columns.items()}
    coordinates = {row: along.pop(row)} if row in along else {}
    variables = {**along, **{name: pair for name, pair in arrays.items() if pair[1] is not None}}
    return xarray.Dataset(variables, coordinates, {"description": headline})
