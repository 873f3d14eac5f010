"""Real words: the difference between training on them and on Gaussian surrogates, and its
causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, panels
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import letter
from ..paper.three_panels import BRANCHES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from ...studies.study.study import Study

CHANGES = {
    "as they are": "real sentences",
    "not centred": "mean not subtracted",
    "not whitened": "not whitened",
    "without repeats": "no repeated words",
    "shuffled": "words shuffled",
    "Gaussian words": "Gaussian directions",
    "equal lengths": "equal lengths",
    "every word once": "every word once",
}
TASKS = {2: {"alpha": 2.0, "omega": 0.3}, 3: {"alpha": 1.25, "omega": 0.5}}
SURROGATES = {  # sources of the study: labels, and whether their marks are full
    "gaussian": ("surrogate: Gaussian tokens of the same covariances", False),
    "scaled": ("and of the same lengths", True),
}


def studies(quality: str) -> dict[str, Study]:
    full = quality == "full"
    options: dict[str, Any] = {
        "kind": "text",
        "variants": list(CHANGES),
        "starts": BRANCHES,
        "seeds": 48 if full else 8,
    }
    options |= {"d": 200 if full else 100, "theory": full, "nodes": 2**15}
    return {
        f"text-{length}": make_study(
            f"real words, L = {length}",
            {"omega": task["omega"]},
            {"alpha": [task["alpha"]]},
            words=options | {"length": length},
        )
        for length, task in TASKS.items()
    }


def draw(datasets: Datasets) -> Figure:
    figure, axes = panels(2, 2, 4.9, sharey=True, sharex=True)
    crosses: list[Line2D] = []
    for row, length in zip(axes, TASKS, strict=True):
        dataset = datasets[f"text-{length}"]
        dataset = dataset.isel({dim: 0 for dim in dataset.dims if str(dim).endswith("alpha")})
        for axis, branch in zip(row, BRANCHES, strict=True):
            crosses += _draw_panel(axis, dataset, branch)
    for axis in axes[-1]:
        axis.set_xlabel("test error on words less surrogate's [% of it]")
    letter(axes)
    for row, length in zip(axes, TASKS, strict=True):
        for axis, branch in zip(row, BRANCHES, strict=True):
            axis.set_title(f"{branch}, $L = {length}$", color=COLOURS[branch])
    _explain(figure, any(np.isfinite(line.get_xdata()).any() for line in crosses))
    return figure


def _draw_panel(axis: Axes, dataset: xarray.Dataset, branch: str) -> list[Line2D]:
    """A row for each change: how far the words are from each surrogate and from the theory; the
    latter's crosses."""
    names = [str(each) for each in dataset["variant"].values]
    places = np.arange(len(names))[::-1].astype(float)
    for place in places[::2]:
        axis.axhspan(place - 0.5, place + 0.5, color="#F3F3F3", lw=0, zorder=0)
    axis.axvline(0, color="#111111", lw=0.8, zorder=1)
    at = dataset.sel(start=branch)
    read = lambda name, source: at[f"words_{name}"].sel(source=source).values
    found = []
    for source, (_, full) in SURROGATES.items():
        off, error = (
            100 * read(f"off_test_error{end}", source) / read("test_error", source)
            for end in ("", "_error")
        )
        axis.errorbar(off, places, xerr=error, **_look(branch, full))
        found.append(off)
    axis.hlines(places, *found, color=COLOURS[branch], alpha=0.25, lw=3, zorder=1)
    theory = read("test_error", "theory scaled")
    off = 100 * (read("test_error", "sentences") - theory) / theory
    axis.set_yticks(places, [CHANGES.get(each, each) for each in names])
    axis.set_ylim(-0.5, len(names) - 0.5)
    return axis.plot(off, places, "x", color="#111111", ms=4.5, mew=1.1, zorder=4)


def _look(owner: str, full: bool) -> dict[str, Any]:
    colour = COLOURS[owner]
    look: dict[str, Any] = {"color": colour, "mfc": colour if full else "white", "ms": 4.5}
    return look | {"fmt": MARKERS.get(owner, "o"), "capsize": 1.8, "elinewidth": 0.9}


def _explain(figure: Figure, theory: bool) -> None:
    """The legend, without the colours of the two mechanisms."""
    axis = figure.axes[0]
    nowhere = [np.nan]
    handles = [
        axis.errorbar(nowhere, nowhere, xerr=nowhere, label=label, **_look("neutral", full))
        for label, full in SURROGATES.values()
    ]
    label = r"theory of the latter, $d \to \infty$"
    if theory:
        handles += axis.plot(nowhere, nowhere, "x", color="#111111", ms=4.5, mew=1.1, label=label)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


FIGURE = PaperFigure(
    name="text",
    title="Real words: is the theory universal?",
    caption=(
        "The test error of students trained on sentences of real words (Python's help texts, vectors from their mutual "
        "information, centred and whitened unless stated otherwise) less that of students trained on Gaussian tokens "
        "with the same covariances (open), with the same lengths, too (full), and the theory of the latter, d → ∞ "
        "(crosses). Each row takes one property of real tokens away; with equal lengths there is one surrogate only. "
        "If only the distribution of covariances and lengths mattered, the full points would lie at zero. Bars: one "
        "standard error over seeds."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 240, "full": 2400},
    new=True,
)
