"""The report: one page that holds everything, pictures included, and asks the network for nothing."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..estimate import plus_minus
from .catalogue import MODULES, figure_named
from .figure import Claim
from .reproduce import Record, read_records

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; }
img { max-width: 100%; border: 1px solid #ddd; }
table { border-collapse: collapse; font-size: 0.9rem; margin: 1rem 0; }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.note { color: #555; font-size: 0.9rem; } .bad { color: #b00020; font-weight: bold; }
code { font-size: 0.85em; } summary { cursor: pointer; color: #555; }
"""
WHY = (
    "A deviation is (ours − published) divided by the standard errors that are known, added in squares; most "
    "published numbers come without one, and then only ours counts. The published transitions α_c and α_l were "
    "computed with 144 Gauss–Hermite nodes; such a rule does not resolve the jumps of the inner minimisation, as "
    "the last figure shows. Experiments: ours end at a minimum (L-BFGS), the published ones after 5000 steps of "
    "gradient descent. At quick quality the counting models are trained for a few epochs, not 200, and count a "
    "little worse than the published ones."
)


def write_report(out: Path) -> Path:
    """Write `out/report.html` about everything that was made in `out`."""
    path = out / "report.html"
    path.write_text(page(out, read_records(out)), encoding="utf-8")
    return path


def page(out: Path, records: list[Record]) -> str:
    """The whole page."""
    claims = [claim for record in records for claim in record.claims]
    sections = "\n".join(_section(out, record) for record in records)
    title = "A phase transition between positional and semantic learning: every figure again"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{STYLE}</style></head>
<body><h1>{escape(title)}</h1>
<p>Figures of arXiv 2402.03902 computed anew by dotphase, and some that are new. {_summary(records)}</p>
<h2>Published and ours</h2>{claims_table(claims) if claims else "<p>No published numbers here.</p>"}
<p class="note">{escape(WHY)}</p>
{sections}
<h2>Times, machine and versions</h2>{_times(records)}{_versions(records)}
</body></html>
"""


def claims_table(claims: list[Claim]) -> str:
    head = ("", "published", "ours", "deviation, s.e.", "source of the published number")
    rows = [(c.what, _number(c.published), _number(c.ours), _deviation(c), c.source) for c in claims]
    return _table(head, rows, numbers=(1, 2, 3))


def _number(pair: tuple[float, float | None] | None) -> str:
    if pair is None:
        return "not computed"
    value, error = pair
    return f"{value:.6g}" if error is None or not np.isfinite(error) or error == 0 else plus_minus(value, error)


def _deviation(claim: Claim) -> str:
    return "–" if claim.deviation is None else f"{claim.deviation:+.1f}"


def _summary(records: list[Record]) -> str:
    bad = [record.name for record in records if record.outcome != "made"]
    told = f"{len(records)} figures, quality {', '.join(dict.fromkeys(r.quality for r in records))}."
    return escape(told) + (f' <span class="bad">Not as they should be: {escape(", ".join(bad))}.</span>' if bad else "")


def _section(out: Path, record: Record) -> str:
    title, caption, new = _words(record.name)
    picture = out / "figures" / f"{record.name}.png"
    image = ""
    if picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        image = f'<img alt="{escape(title)}" src="data:image/png;base64,{data}">'
    trouble = f'<p class="bad">{escape(record.outcome)}: {escape(record.reason)}</p>' * (record.outcome != "made")
    old = record.outcome == "failed" and picture.exists()
    stale = '<p class="bad">The picture is of an earlier run.</p>' if old else ""
    note = f"{record.name}, quality {record.quality}; {_took(record)}; also as figures/{record.name}.pdf."
    parameters = "".join(_parameters(name, study) for name, study in record.studies.items())
    return f"""<h2 id="{escape(record.name)}">{escape(title)}{" (new)" * new}</h2>{trouble}{stale}{image}
<p>{escape(caption)}</p>
<p class="note">{escape(note)}</p>
<details><summary>Parameters</summary>{parameters}</details>"""


def _words(name: str) -> tuple[str, str, bool]:
    if name not in MODULES:
        return name, "", False
    figure = figure_named(name)
    return figure.title, figure.caption, figure.new


def _took(record: Record) -> str:
    several = "s" * (record.workers > 1)
    return (
        f"made in {duration(record.seconds)} with {record.workers} worker{several} "
        f"({duration(record.cpu_seconds)} of processor time; all its units of work, over all runs: "
        f"{duration(record.unit_seconds)})"
    )


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, with a digit after the point."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _parameters(name: str, study: dict[str, Any]) -> str:
    rows = [("scenario", _plain(study["scenario"]))]
    rows += [(f"axis {axis}", _plain(values)) for axis, values in study["axes"].items()]
    rows += [(f"compute {label}", _plain(given)) for label, given in study["compute"].items()]
    return f"<p><code>data/{escape(name)}.zarr</code></p>" + _table(("", ""), rows)


def _plain(value: Any) -> str:
    """Tables as short text: what is empty or not set is left out."""
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_plain(entry)}" for key, entry in value.items() if entry not in (None, {}, [], ""))
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _times(records: list[Record]) -> str:
    head = ("figure", "quality", "estimated", "took", "processor", "units, all runs", "workers", "made", "outcome")
    clocks = ("estimated_seconds", "seconds", "cpu_seconds", "unit_seconds")
    rows = [
        (r.name, r.quality, *(duration(getattr(r, clock)) for clock in clocks), str(r.workers), r.made, r.outcome)
        for r in records
    ]
    total = [duration(sum(getattr(r, clock) for r in records)) for clock in clocks]
    return _table(head, [*rows, ("all", "", *total, "", "", "")], numbers=(2, 3, 4, 5))


def _versions(records: list[Record]) -> str:
    seen: dict[str, list[str]] = {}
    for record in records:
        for name, version in record.versions.items():
            seen.setdefault(name, []).append(version)
    return _table(("", ""), [(name, ", ".join(dict.fromkeys(versions))) for name, versions in seen.items()])


def _table(head: tuple[str, ...], rows: list[Any], numbers: tuple[int, ...] = ()) -> str:
    cell = lambda text, k: f'<td class="number">{escape(text)}</td>' if k in numbers else f"<td>{escape(text)}</td>"
    top = "".join(f"<th>{escape(text)}</th>" for text in head) if any(head) else ""
    body = "".join("<tr>" + "".join(cell(text, k) for k, text in enumerate(row)) + "</tr>\n" for row in rows)
    return f"<table><tr>{top}</tr>\n{body}</table>" if top else f"<table>{body}</table>"
