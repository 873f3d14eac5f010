"""Quick pictures of results: theory as lines with bands, experiments as points with bars, of one
standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from ..results.estimate import Estimate
from ..results.result import Result
from ..results.tables import numbers
from ..scenario.arguments import check_varied, checked, listed
from ..scenario.names import word_of
from ..scenario.validation import shown
from .style import BASELINE, COLOURS, MARKERS, STYLE, curve, panels, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")
LABELS = {
    "test_error": r"test error $\epsilon_g$",
    "train_loss": r"training loss $\epsilon_t$",
    "q": r"$q$",
    "m": r"$|m|$",
    "theta": r"$|\theta|$",
    "sample_ratio": r"samples per dimension $\alpha$",
    "mixing": r"mixing $\omega$ of the teacher",
    "ridge": r"ridge $\lambda$",
    "token_deviation": r"deviation $\sigma$ of the tokens",
}
SHARES = {"theta": "-", "m": "--"}  # the overlaps of a picture, and their dashes


def in_style(draw: Callable[P, T]) -> Callable[P, T]:
    """Draw in the common style, without changing the caller's settings."""

    @wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> T:
        from matplotlib import rc_context

        with rc_context(STYLE):
            return draw(*arguments, **options)

    return drawn


@checked
def plot(results: Any, against: str | None = None, quantity: str = "test_error") -> Figure:
    """A picture of one result, of a list of solutions and runs over the number in which their
    scenarios differ, or of the dataset of a study.

    **Arguments**: `results`; `against`, the number on the horizontal axis, if several of them vary;
    `quantity`, of a dataset: `"test_error"`, or another that its variables end in.

    **Returns**: a matplotlib `Figure`.

    **Example**

        solutions = dotphase.solve_many([dotphase.paper(alpha=a) for a in (1, 1.5, 2)], "semantic")
        dotphase.plot(solutions).savefig("semantic.png")
    """
    if isinstance(results, Result):
        return results.plot()
    if hasattr(results, "data_vars"):  # an xarray.Dataset
        from .datasets import draw_dataset

        return draw_dataset(results, against, quantity)
    listed("results", results)
    drawn = list(results)
    for each in drawn:
        if not hasattr(each, "scenario"):
            raise ValueError(f"results: expected solutions and runs, got {shown(each)}")
        if against is not None:
            check_varied({"scenario": each.scenario, "against": against})
    return draw_solutions(drawn, against)


@in_style
def draw_solutions(
    results: Sequence[Any], against: str | None = None, baseline: Sequence[Any] = ()
) -> Figure:
    """Test error, training loss and overlaps of solutions (lines) and runs (points), coloured by
    branch.

    `baseline`: pairs of a parameter and the linear baseline's test error there.
    """
    if not results:
        raise ValueError("results: there is nothing to draw")
    against = varying([result.scenario for result in results]) if against is None else against
    figure, axes = panels(1, 3, 3.1, 9.5)
    names = list(dict.fromkeys(_branch(result) for result in results))
    for name in names:
        mine = [result for result in results if _branch(result) == name]
        x = [
            names.index(name) if against is None else result.scenario.value_of(against)
            for result in mine
        ]
        _draw_branch(axes[0], name, np.array(x, float), mine)
    if baseline:
        x, known = zip(*baseline, strict=True)
        curve(axes[0, 0], x, *_column(known), BASELINE, "linear positional baseline", ls=":")
    _finish(axes[0], against, names)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_branch(axes: np.ndarray, name: str, x: np.ndarray, results: list[Any]) -> None:
    colour, marker = COLOURS.get(name, COLOURS["neutral"]), MARKERS.get(name, "o")
    for experiment in (False, True):
        chosen = sorted(
            (k for k, r in enumerate(results) if hasattr(r, "runs") == experiment),
            key=lambda k: x[k],
        )
        if not chosen:
            continue
        place, mine = x[chosen], [results[k] for k in chosen]
        label = f"{name}{', ' + mine[0].method if experiment else ''}"
        lined = not experiment and len(set(place)) > 1
        for axis, observable in zip(
            axes[[0, 1, 2, 2]], ("test_error", "train_loss", *SHARES), strict=True
        ):
            y, error = _column([_answer(result, observable) for result in mine])
            if lined:
                curve(
                    axis,
                    place,
                    y,
                    error,
                    colour,
                    label,
                    ls=SHARES.get(observable, "-"),
                    marker=".",
                    ms=4,
                )
            else:
                hollow = {
                    "mfc": "white" if experiment else colour,
                    "alpha": 0.5 if observable == "m" else 1.0,
                }
                points(axis, place, y, error, colour, label, fmt=marker, **hollow)


def _finish(axes: np.ndarray, against: str | None, names: list[str]) -> None:
    for axis, title in zip(
        axes, (LABELS["test_error"], LABELS["train_loss"], "overlaps"), strict=True
    ):
        axis.set_title(title)
        if against is None:
            axis.set_xticks(range(len(names)), names)
            axis.set_xlim(-0.6, len(names) - 0.4)
            axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        else:
            axis.set_xlabel(LABELS.get(word_of(against), against))
    dashes = (
        r"$|\theta|$ full, $|m|$ dashed" if against is not None else r"$|\theta|$ full, $|m|$ pale"
    )
    axes[2].set_title(f"overlaps: {dashes}")


def _branch(result: Any) -> str:
    return result.start if hasattr(result, "runs") else result.branch


def _answer(result: Any, observable: str) -> Estimate:
    """An observable; not a number where the requested branch was not found."""
    missing = getattr(result, "outcome", "") in ("stalled", "collapsed")
    return Estimate(np.nan, np.inf) if missing else getattr(result, observable)


def _column(estimates: Iterable[Estimate]) -> tuple[np.ndarray, np.ndarray]:
    values, errors = zip(*((e.value, e.error) for e in estimates), strict=True)
    return np.array(values, float), np.array(errors, float)


def varying(scenarios: Sequence[Any]) -> str | None:
    """The number in which scenarios differ, None if there is none."""
    known = [numbers(scenario) for scenario in scenarios]
    found = [name for name in known[0] if len({each.get(name) for each in known}) > 1]
    if len(found) > 1:
        raise ValueError(
            f"against: {', '.join(found)} vary; choose one of them for the horizontal axis with `against`"
        )
    return found[0] if found else None


@in_style
def draw_solution(solution: Any) -> Figure:
    """Errors beside the linear baseline, overlaps, and on new sentences the attention of the first
    token to the last: the student's against the teacher's."""
    from ..scenario.attentions.attention import matrices
    from ..theory.baseline import linear_baseline
    from ..theory.fields import new_sentences, student_fields

    figure, axes = panels(1, 3, 3.1, 9.5)
    errors, overlaps, attention = axes[0]
    colour = COLOURS.get(solution.mechanism, COLOURS["neutral"])
    known = {name: _answer(solution, name) for name in ("test_error", "train_loss")}
    points(errors, range(2), *_column(known.values()), colour, fmt="o", ms=5)
    baseline = float(linear_baseline(solution.scenario).test_error.value)
    errors.plot([-0.4, 0.4], [baseline] * 2, color=BASELINE, ls=":", label="linear baseline")
    errors.set_xticks(range(2), [LABELS[name] for name in known])
    errors.set(xlim=(-0.6, 1.6), ylim=(0, None), title="errors")
    errors.legend(loc="lower left")
    parts = [(name, solution.overlaps, solution.overlap_errors) for name in ("m", "theta", "q")]
    for place, (name, values, error) in enumerate(parts):
        each = np.ravel(getattr(values, name))
        at = place + np.linspace(-0.2, 0.2, len(each)) * (len(each) > 1)
        points(overlaps, at, each, np.ravel(getattr(error, name)), colour, fmt="o", ms=4)
    overlaps.axhline(0, color=COLOURS["neutral"], lw=0.6, zorder=0)
    overlaps.set_xticks(range(3), [r"$m$", r"$\theta$", r"$q$"])
    overlaps.set_title("overlaps of each token")
    drawn = new_sentences(solution.scenario, 500, np.random.default_rng(0))
    T = matrices(solution.scenario.teacher, drawn.teacher_fields)
    S = matrices(solution.scenario.student, student_fields(solution, drawn))
    attention.scatter(T[0, -1], S[0, -1], s=8, color=colour, alpha=0.5, lw=0)
    both = [min(T[0, -1].min(), S[0, -1].min()), max(T[0, -1].max(), S[0, -1].max())]
    attention.plot(both, both, color=COLOURS["neutral"], lw=0.8, ls="--", zorder=0)
    attention.set(xlabel="teacher", ylabel="student", title="attention, first token to last")
    figure.suptitle(solution.headline.split("  ")[0], fontsize=10)
    return figure


def draw_curves(branches: Any) -> Figure:
    """Branches over a parameter with bands, with the linear baseline next to the test error."""
    listed = [solution for followed in branches.solutions.values() for solution in followed]
    return draw_solutions(
        listed, branches.along, list(zip(branches.values, branches.baseline, strict=True))
    )


@in_style
def draw_runs(runs: Any) -> Figure:
    """Every seed as a point, its errors and its overlaps; averages with bars."""
    figure, axes = panels(1, 2, 3.1, 7.4)
    colour, marker = COLOURS.get(runs.start, COLOURS["neutral"]), MARKERS.get(runs.start, "o")
    for axis, (across, up) in zip(
        axes[0], (("train_loss", "test_error"), ("m", "theta")), strict=True
    ):
        x, y = (np.array(runs.values(name), float) for name in (across, up))
        axis.scatter(x, y, s=16, color=colour, marker=marker, alpha=0.45, lw=0, label="seeds")
        mean = [getattr(runs, name) for name in (across, up)]
        bars = [e.error if np.isfinite(e.error) else 0.0 for e in mean]
        look: dict[str, Any] = {"fmt": marker, "color": colour, "mfc": "white", "label": "mean"}
        axis.errorbar(mean[0].value, mean[1].value, bars[1], bars[0], **look)
        axis.set(xlabel=LABELS[across], ylabel=LABELS[up])
    axes[0, 0].legend()
    figure.suptitle(runs.headline, fontsize=10)
    return figure


@in_style
def draw_trajectories(trajectories: Sequence[Any], title: str = "") -> Figure:
    """Loss and overlaps against steps, one line per seed."""
    figure, axes = panels(1, 2, 2.9, 7.4)
    for number, path in enumerate(trajectories):
        axes[0, 0].plot(path.step, path.loss, color=COLOURS["neutral"], lw=1)
        _draw_overlaps(axes[0, 1], path.step, path.overlaps, labelled=number == 0)
    axes[0, 0].set(xlabel="step", title=LABELS["train_loss"])
    axes[0, 1].set(xlabel="step", title="overlaps")
    figure.suptitle(title, fontsize=10)
    return figure


@in_style
def draw_messages(messages: Any) -> Figure:
    """Gradient norm and overlaps against iterations."""
    figure, axes = panels(1, 2, 2.9, 7.4)
    iterations = np.arange(len(messages.gradient_norm))
    axes[0, 0].semilogy(iterations, messages.gradient_norm, color=COLOURS["neutral"], lw=1)
    axes[0, 0].set(xlabel="iteration", title="gradient norm")
    _draw_overlaps(axes[0, 1], iterations, messages.overlaps, labelled=True)
    axes[0, 1].set(xlabel="iteration", title="overlaps")
    return figure


@in_style
def draw_path(path: Any) -> Figure:
    """The loss along a path between two sets of weights."""
    figure, axes = panels(1, 1, 2.7, 4.2)
    axes[0, 0].plot(path.position, path.loss, color=COLOURS["neutral"])
    axes[0, 0].set(
        xlabel="share of the way", ylabel=LABELS["train_loss"], title=f"barrier {path.barrier:.3g}"
    )
    return figure


def _draw_overlaps(axis: Any, x: np.ndarray, overlaps: Any, labelled: bool) -> None:
    for name, owner in (("theta", "semantic"), ("m", "positional")):
        label = LABELS[name] if labelled else None
        axis.plot(x, overlaps.sizes[name].mean(-1), color=COLOURS[owner], lw=1, label=label)
    axis.legend()
