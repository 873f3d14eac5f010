"""The report: one self-contained page, pictures included.

Its text is the template `report.html.j2`; its data are collected here.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.extras import require
from ...results.estimate import plus_minus
from .figure import Claim
from .reproduce import Record, read_records

TITLE = "A phase transition between positional and semantic learning: all figures recomputed"
WHY = (
    "A deviation is (ours − published) divided by the standard error; known errors are added in squares. Most "
    "published numbers have no error, and then only ours is used. The published transitions α_c and α_l were "
    "computed with 144 Gauss–Hermite nodes, which do not resolve the jumps of the inner minimisation (figure "
    "“accuracy”). Our experiments end at a minimum (L-BFGS), the published ones after 5000 steps of gradient "
    "descent. At quick quality the counting models are trained for a few epochs instead of 200, and are slightly "
    "less accurate than the published ones."
)


def write_report(out: Path) -> Path:
    """Write `out/report.html`, with all figures in `out`."""
    path = out / "report.html"
    path.write_text(page(out, read_records(out)), encoding="utf-8")
    return path


def page(out: Path, records: list[Record]) -> str:
    """The whole page."""
    require("the report needs", "report")
    from jinja2 import Environment, PackageLoader

    pages = Environment(
        loader=PackageLoader("dotphase.figures.frame", "."), autoescape=True, trim_blocks=True
    )
    return pages.get_template("report.html.j2").render(
        title=TITLE,
        records=records,
        qualities=", ".join(dict.fromkeys(record.quality for record in records)),
        bad=", ".join(record.name for record in records if record.outcome != "made"),
        claims=[_claim(claim) for record in records for claim in record.claims],
        why=WHY,
        figures=[_figure(out, record) for record in records],
        times=_times(records),
        versions=_versions(records),
    )


def _claim(claim: Claim) -> tuple[str, ...]:
    return (
        claim.what,
        _number(claim.published),
        _number(claim.ours),
        _deviation(claim),
        claim.source,
    )


def _figure(out: Path, record: Record) -> dict[str, Any]:
    picture = out / "figures" / f"{record.name}.png"
    there = picture.exists()
    return {
        "record": record,
        "picture": base64.b64encode(picture.read_bytes()).decode() if there else "",
        "stale": record.outcome == "failed" and there,
        "note": f"{record.name}, quality {record.quality}; {_took(record)}; also as figures/{record.name}.pdf.",
        "parameters": {name: _parameters(study) for name, study in record.studies.items()},
    }


def _number(pair: tuple[float, float | None] | None) -> str:
    if pair is None:
        return "not computed"
    value, error = pair
    return (
        f"{value:.6g}"
        if error is None or not np.isfinite(error) or error == 0
        else plus_minus(value, error)
    )


def _deviation(claim: Claim) -> str:
    return "–" if claim.deviation is None else f"{claim.deviation:+.1f}"


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


def _parameters(study: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("scenario", _plain(study["scenario"]))]
    rows += [(f"axis {axis}", _plain(values)) for axis, values in study["axes"].items()]
    return rows + [(f"compute {label}", _plain(given)) for label, given in study["compute"].items()]


def _plain(value: Any) -> str:
    """A table as short text, without empty entries."""
    if isinstance(value, dict):
        return ", ".join(
            f"{key} = {_plain(entry)}"
            for key, entry in value.items()
            if entry not in (None, {}, [], "")
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _times(records: list[Record]) -> list[tuple[str, ...]]:
    clocks = ("estimated_seconds", "seconds", "cpu_seconds", "unit_seconds")
    rows = [
        (
            r.name,
            r.quality,
            *(duration(getattr(r, clock)) for clock in clocks),
            str(r.workers),
            r.made,
            r.outcome,
        )
        for r in records
    ]
    total = [duration(sum(getattr(r, clock) for r in records)) for clock in clocks]
    return [*rows, ("all", "", *total, "", "", "")]


def _versions(records: list[Record]) -> list[tuple[str, str]]:
    seen: dict[str, list[str]] = {}
    for record in records:
        for name, version in record.versions.items():
            seen.setdefault(name, []).append(version)
    return [(name, ", ".join(dict.fromkeys(versions))) for name, versions in seen.items()]
