"""Real words: the difference between training on them and on Gaussian surrogates, and its
causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...plotting.style import COLOURS, MARKERS, panels
from ..frame.figure import Datasets, PaperFigure, make_study
from ..frame.style import legend_below, letter
from ..paper.three_panels import BRANCHES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
SHOWN = {"test_error": r"test error $\epsilon_g$", "train_loss": r"training loss $\epsilon_t$"}


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
    figure, axes = panels(2, 2, 4.9, sharey=True, sharex="col")
    for row, length in zip(axes, TASKS, strict=True):
        dataset = datasets[f"text-{length}"]
        for axis, (name, label) in zip(row, SHOWN.items(), strict=True):
            _draw_panel(
                axis,
                dataset.isel({dim: 0 for dim in dataset.dims if str(dim).endswith("alpha")}),
                name,
            )
            axis.set_title(f"$L = {length}$, {label}")
    for axis in axes[-1]:
        axis.set_xlabel("trained on words less surrogate [% of it]")
    letter(axes)
    for row, length in zip(axes, TASKS, strict=True):
        for axis, label in zip(row, SHOWN.values(), strict=True):
            axis.set_title(f"$L = {length}$, {label}")
    legend_below(figure, axes)
    return figure


def _draw_panel(axis: Axes, dataset: xarray.Dataset, name: str) -> None:
    names = [str(each) for each in dataset["variant"].values]
    places = np.arange(len(names))[::-1].astype(float)
    axis.axvline(0, color="#111111", lw=0.8, zorder=0)
    for branch, shift in zip(BRANCHES, (0.16, -0.16), strict=True):
        colour = COLOURS[branch]
        look: dict[str, Any] = {
            "color": colour,
            "fmt": MARKERS[branch],
            "ms": 4,
            "capsize": 1.8,
            "elinewidth": 0.9,
        }
        for source, fill, source_label in (
            ("gaussian", "white", "covariances"),
            ("scaled", colour, "and lengths"),
        ):
            at = {"start": branch, "source": source}
            surrogate = dataset[f"words_{name}"].sel(at).values
            off, error = (
                100 * dataset[f"words_off_{name}{end}"].sel(at).values / surrogate
                for end in ("", "_error")
            )
            axis.errorbar(
                off, places + shift, xerr=error, mfc=fill, label=f"{branch}, {source_label}", **look
            )
        _draw_theory(axis, dataset, name, branch, places + shift)
    axis.set_yticks(places, [CHANGES.get(each, each) for each in names])
    axis.set_ylim(-0.6, len(names) - 0.4)


def _draw_theory(
    axis: Axes, dataset: xarray.Dataset, name: str, branch: str, places: np.ndarray
) -> None:
    """The theory with lengths, next to the surrogate whose limit it is."""
    read = lambda source: dataset[f"words_{name}"].sel(start=branch, source=source).values
    theory = read("theory scaled")
    if np.isfinite(theory).any():
        off = 100 * (read("sentences") - theory) / theory
        axis.plot(
            off, places, "x", color=COLOURS[branch], ms=4.5, mew=1.1, label=f"{branch}, theory"
        )


FIGURE = PaperFigure(
    name="text",
    title="Real words: is the theory universal?",
    caption=(
        "Students trained on sentences of real words (Python's help texts, vectors from their mutual information, "
        "centred and whitened unless stated otherwise) against students trained on Gaussian tokens with the same "
        "covariances (open) and with the same lengths, too (filled); crosses: the theory of the latter, d → ∞. Each "
        "row takes one property of real tokens away. If only the distribution of covariances and lengths mattered, the "
        "filled points would lie at zero. Bars: one standard error over seeds."
    ),
    studies=studies,
    draw=draw,
    core_seconds={"quick": 240, "full": 2400},
    new=True,
)
