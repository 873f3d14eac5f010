"""Make figures: run or continue their studies, draw, record the outcome, and write the report."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from .catalogue import MODULES
from .figure import Claim, PaperFigure
from .stores import is_finished, place_for, seconds_spent, stored_study, unfinished_share
from .style import on_the_page, write

if TYPE_CHECKING:
    import xarray

    from ...studies.study.study import Study

Bar = Callable[[str], AbstractContextManager[Callable[..., None]]]


@dataclass(frozen=True)
class Record:
    """The record of one figure.

    - `outcome`: "made"; "incomplete" (drawn, but some units of work failed); "failed" (no picture,
      or an old one).
    - `seconds`, `cpu_seconds`: of the run that made it, on all its processes; `unit_seconds`: what
      all units of work in its stores took, over all runs.
    - `estimated_seconds`: the estimate before the run, for the unfinished part.
    - `title`, `caption`, `new`: the figure's own.
    """

    name: str
    quality: str
    outcome: str
    reason: str
    seconds: float
    cpu_seconds: float
    unit_seconds: float
    estimated_seconds: float
    workers: int
    made: str
    claims: tuple[Claim, ...]
    studies: dict[str, Any]
    versions: dict[str, str]
    title: str = ""
    caption: str = ""
    new: bool = False


def reproduce(
    figures: Iterable[PaperFigure],
    quality: str,
    out: Path,
    workers: int = 1,
    latex: bool = False,
    bar: Bar = lambda title: nullcontext(lambda done, total, failed=0: None),
    tell: Callable[[Record], None] = lambda record: None,
    mix_versions: bool = False,
) -> list[Record]:
    """Make each figure in `out`, one after the other: after a figure that fails, the others are
    still made.

    Data go to `out/data`, pictures and records to `out/figures`, and `out/report.html` has
    everything made there so far; it is written anew after every figure. An unfinished store of
    another version of the code is continued only if `mix_versions`; a finished one is drawn.
    """
    from .report import write_report

    records = []
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for figure in figures:
        records.append(_make(figure, quality, out, workers, latex, bar, mix_versions))
        write_report(out)
        tell(records[-1])
    return records


def estimate(figure: PaperFigure, quality: str, out: Path, workers: int) -> float:
    """Estimated seconds for the unfinished part of a figure."""
    shares = [
        _share_left(study, name, out / "data") for name, study in figure.studies(quality).items()
    ]
    seconds = figure.core_seconds[quality] * sum(shares) / len(shares)
    if workers == 1:
        return seconds
    # Several workers start, compile separately and wait for the last unit: a quarter more time.
    return 1.25 * seconds / workers


def _share_left(study: Study, name: str, folder: Path) -> float:
    path = folder / f"{name}.zarr"
    return unfinished_share(path) if stored_study(path) == study.model_dump(mode="json") else 1.0


def _make(
    figure: PaperFigure,
    quality: str,
    out: Path,
    workers: int,
    latex: bool,
    bar: Bar,
    mix_versions: bool,
) -> Record:
    began, began_cpu = time.perf_counter(), _cpu_seconds()
    expected = estimate(figure, quality, out, workers)
    studies: dict[str, Study] = {}
    claims: list[Claim] = []
    complaint, stem = out / "figures" / f"{figure.name}.error.txt", out / "figures" / figure.name
    complaint.unlink(missing_ok=True)
    try:
        studies = figure.studies(quality)
        compute = partial(
            _computed, folder=out / "data", bar=bar, workers=workers, mix_versions=mix_versions
        )
        datasets = {name: compute(study, name) for name, study in studies.items()}
        with on_the_page(latex):
            write(figure.draw(datasets), stem)
        claims = figure.claims(datasets)
        reason = "; ".join(text for text in map(_failures, datasets.values()) if text)
        outcome = "incomplete" if reason else "made"
    except Exception as error:  # whatever it is, the other figures are still made
        outcome, reason = "failed", " ".join(f"{type(error).__name__}: {error}".split())
        complaint.write_text(traceback.format_exc(), encoding="utf-8")
    paths = [out / "data" / f"{name}.zarr" for name in studies]
    record = Record(
        name=figure.name,
        quality=quality,
        outcome=outcome,
        reason=reason,
        seconds=time.perf_counter() - began,
        cpu_seconds=_cpu_seconds() - began_cpu,
        unit_seconds=sum(seconds_spent(path) for path in paths if path.exists()),
        estimated_seconds=expected,
        workers=workers,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        claims=tuple(claims),
        studies={name: study.model_dump(mode="json") for name, study in studies.items()},
        versions=_versions(),
        title=figure.title,
        caption=figure.caption,
        new=figure.new,
    )
    (out / "figures" / f"{figure.name}.json").write_text(
        json.dumps(asdict(record), indent=1), encoding="utf-8"
    )
    return record


def _computed(study: Study, name: str, folder: Path, bar: Bar, **options: Any) -> xarray.Dataset:
    from ...studies.run.runner import run_study
    from ...studies.store.view import open_study

    place = place_for(study, name, folder)
    if is_finished(place):  # by any version of the code; the report names it
        return open_study(place)
    with bar(name) as progress, run_study(study, place, progress=progress, **options) as dataset:
        return dataset.load()


def _failures(dataset: xarray.Dataset) -> str:
    """How many entries of each computation failed, and the reason of the first."""
    found = []
    for name, outcome in dataset.data_vars.items():
        if str(name).endswith("_outcome") and (outcome == "failed").any():
            label = str(name).removesuffix("_outcome")
            reasons = dataset[f"{label}_reason"].values[(outcome == "failed").values]
            found.append(
                f"{label}: {len(reasons)} of {outcome.size} entries failed ({reasons.flat[0]})"
            )
    return "; ".join(found)


def read_records(out: Path) -> list[Record]:
    """The records of the figures in `out`, in the catalogue's order, others last."""
    found = {}
    for path in sorted((out / "figures").glob("*.json")):
        record = TypeAdapter(Record).validate_json(path.read_bytes())
        found[record.name] = record
    order = [
        *(name for name in MODULES if name in found),
        *(name for name in found if name not in MODULES),
    ]
    return [found[name] for name in order]


def _cpu_seconds() -> float:
    """Of this process and its children; on Windows, which does not add those up, of this one."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    from ...studies.store.code import LIBRARIES

    machine = {"machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"}
    libraries = {name: version(name) for name in ("dotphase", *LIBRARIES, "matplotlib")}
    return machine | {"python": platform.python_version()} | libraries
