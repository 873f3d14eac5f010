"""The phase diagram: every branch at every point of a grid in (α, ω), and the lines of transitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..gaussian import Estimate, Sobol
from ..precision import in_double
from ..scenario.files import scenario_to_toml
from ..scenario.scenario import Scenario
from ..scenario.symmetry import symmetries
from ..threads import in_parallel
from .baseline import linear_baseline
from .evaluator import Evaluator
from .fixed_points import fixed_point
from .linearised import Linearised, around, linearise
from .nodes import stabiliser
from .overlaps import to_coordinates
from .solution import Solution, SolveError
from .solve import Start, _solution, solve
from .stability import replicon
from .transitions import USABLE, Transition, critical

if TYPE_CHECKING:
    import xarray

BRANCHES = ("semantic", "positional")
NUMBERS = (
    *("test_error", "test_error_error", "train_loss", "train_loss_error", "q", "V", "m", "theta"),
    *("replicon", "replicon_error", "several_minima", "residual", "evaluations", "nodes", "seconds"),
)
WORDS = ("outcome", "reason", "mechanism")
STRUGGLE = 40  # evaluations
FEW_EVALUATIONS = 12  # of Newton's steps from a neighbour, before the start is tried instead
TOLERANCE = 1e-8  # on the undamped residual
EVERY = 3  # rows of the grid between two points of the lines


def phase_diagram(
    scenario: Scenario,
    alphas: ArrayLike,
    omegas: ArrayLike,
    rule: Sobol | None = None,
    lines: bool = True,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xarray.Dataset:
    """Both branches over a grid of sample ratios α and mixings ω, as a dataset in which no point is missing.

    Along every row (one ω) branches are followed from α to α; rows are worked on by `workers` threads, one
    per core unless given, and do not depend on each other, so the result does not depend on how many there
    are.

    **Variables**, per branch, ω and α: `NUMBERS` and `WORDS`; an error is infinite where there is no fixed
    point. Per ω and α: `margin` = ε_t(semantic) − ε_t(positional) and `margin_error`, and `winner`: the
    mechanism of lower training loss, "undecided" within two errors, "unknown" where a solve stalled. Per ω:
    `linear_baseline`. With `lines`, at every third ω: α_c and α_l by root-finding, and their errors (not a
    number where a line leaves the grid).
    """
    began, began_cpu = time.perf_counter(), time.process_time()
    rule = rule or Sobol(2**13)
    columns, rows = np.sort(np.asarray(alphas, float)), np.sort(np.asarray(omegas, float))
    done, total = 0, len(columns) * len(rows) + (2 * len(rows[::EVERY]) if lines else 0)

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    work = lambda omega: _row(scenario.vary(mixing=omega), columns, rule, tell)
    first = work(rows[0])  # alone, since it compiles what the others share
    dataset = _dataset(scenario, columns, rows, [first, *in_parallel(work, rows[1:], workers)])
    if lines:
        _add_lines(dataset, scenario, workers, rule, tell)
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return dataset.assign_attrs(_provenance(scenario, rule, seconds, cpu))


class _Found(NamedTuple):
    """A solution, the map around it if there is a fixed point, and the start that led there."""

    solution: Solution
    line: Linearised | None
    start: Start

    @property
    def doubtful(self) -> bool:
        """Whether it deserves more nodes: a solve that struggled has blurred the prox's jumps too much."""
        return self.line is None or self.solution.outcome == "stalled" or self.solution.evaluations > STRUGGLE


def _row(scenario: Scenario, alphas: np.ndarray, rule: Sobol, tell: Callable[[], None]) -> list[dict[str, Any]]:
    """One ω, in the order of `alphas`: per point the entries of each branch, and what compares them.

    Each branch is followed away from where it is sure to exist: the semantic one from many samples, the
    positional one from few. A point at which either is doubtful is solved again on four times the nodes.
    """
    at = [scenario.vary(sample_ratio=alpha) for alpha in alphas]
    semantic = _followed(at[::-1], "semantic", rule)[::-1]
    points = []
    for place, *pair in zip(at, semantic, _followed(at, "positional", rule), strict=True):
        if any(found.doubtful for found in pair):
            finer = replace(rule, count=4 * rule.count)
            pair = [_afresh(place, found.start, finer) for found in pair]
        points.append({"branches": [_entries(found) for found in pair]} | _compared(pair[0], pair[1], rule))
        tell()
    return points


def _followed(places: Sequence[Scenario], branch: str, rule: Sobol) -> list[_Found]:
    """A branch from one place to the next: by Newton's steps, else along the flow, else from its start."""
    found: list[_Found] = []
    last: Start = branch
    for place in places:
        near = _next_to(place, last, rule) if isinstance(last, Solution) else None
        near = near or _afresh(place, last, rule)
        if near.solution.outcome == "stalled" and isinstance(last, Solution):
            near = _afresh(place, branch, rule)
        if near.solution.outcome in USABLE:
            last = near.solution
        found.append(near)
    return found


@in_double
def _next_to(scenario: Scenario, last: Solution, rule: Sobol) -> _Found | None:
    """The branch of a neighbour's solution, by Newton's steps alone; None if they do not stay on it."""
    began, group = time.perf_counter(), symmetries(scenario)
    kept = stabiliser(group, last.overlaps)
    evaluator = Evaluator(scenario, rule, group, kept)
    x = np.asarray(to_coordinates(last.overlaps, scenario.law.rho))
    trail = fixed_point(evaluator, x, TOLERANCE, FEW_EVALUATIONS, newton=True)
    if not trail.converged:
        return None
    spent = time.perf_counter() - began
    solution = _solution(scenario, last.branch, evaluator, trail, None, evaluator.evaluations, spent)
    if solution.outcome != "converged" or solution.mechanism != last.mechanism:
        return None
    return _Found(solution, around(solution, evaluator, trail.point, kept), last)


def _afresh(scenario: Scenario, start: Start, rule: Sobol) -> _Found:
    solution = solve(scenario, start, rule=rule, rtol=None)
    try:
        return _Found(solution, linearise(solution, rule), start)
    except SolveError:
        return _Found(solution, None, start)


def _entries(found: _Found) -> dict[str, Any]:
    solution, line = found.solution, found.line
    radius, several = (Estimate(np.nan, np.inf), solution.prox_disagreement) if line is None else replicon(line)
    largest = {name: float(np.abs(part).max()) for name, part in solution.overlaps._asdict().items()}
    return largest | {
        "test_error": solution.test_error.value,
        "test_error_error": solution.test_error.error,
        "train_loss": solution.train_loss.value,
        "train_loss_error": solution.train_loss.error,
        "replicon": radius.value,
        "replicon_error": radius.error,
        "several_minima": several,
        "residual": solution.residual,
        "evaluations": solution.evaluations,
        "nodes": solution.nodes,
        "seconds": solution.seconds,
        "outcome": solution.outcome,
        "reason": solution.reason,
        "mechanism": solution.mechanism,
    }


def _compared(semantic: _Found, positional: _Found, rule: Sobol) -> dict[str, Any]:
    one, two = semantic.line, positional.line
    margin = float(semantic.solution.train_loss.value - positional.solution.train_loss.value)
    if one is None or two is None:
        return {"margin": margin, "margin_error": np.inf, "winner": "unknown"}
    error = float(rule.error(one.deviations[:, 1] - two.deviations[:, 1]))
    kinds = semantic.solution.mechanism, positional.solution.mechanism
    winner = kinds[0] if margin < 0 else kinds[1]
    decided = abs(margin) > 2 * error or kinds[0] == kinds[1]
    return {"margin": margin, "margin_error": error, "winner": winner if decided else "undecided"}


def _dataset(scenario: Scenario, alphas: np.ndarray, omegas: np.ndarray, rows: list) -> xarray.Dataset:
    import xarray

    def table(name: str) -> list:
        return [[[point["branches"][b][name] for point in row] for row in rows] for b in range(len(BRANCHES))]

    grid = lambda name: [[p[name] for p in row] for row in rows]
    variables: dict[str, Any] = {}
    for name in NUMBERS:
        variables[name] = (("branch", "mixing", "sample_ratio"), np.array(table(name), float))
    for name in WORDS:
        variables[name] = (("branch", "mixing", "sample_ratio"), np.array(table(name), object))
    for name in ("margin", "margin_error"):
        variables[name] = (("mixing", "sample_ratio"), np.array(grid(name), float))
    variables["winner"] = (("mixing", "sample_ratio"), np.array(grid("winner"), object))
    baseline = [float(linear_baseline(scenario.vary(mixing=omega)).test_error.value) for omega in omegas]
    variables["linear_baseline"] = (("mixing",), np.array(baseline))
    coordinates = {"branch": list(BRANCHES), "mixing": omegas, "sample_ratio": alphas}
    return xarray.Dataset(variables, coordinates)


def _add_lines(dataset: xarray.Dataset, scenario: Scenario, workers: int | None, rule: Sobol, tell) -> None:
    """α_c and α_l by root-finding, in the interval of the grid in which the sign changes."""
    omegas = dataset["mixing"].values[::EVERY]
    test_error = dataset["test_error"].sel(branch="semantic")
    signs = {
        "train-loss": dataset["margin"],
        "linear": (test_error - dataset["linear_baseline"]).transpose("mixing", "sample_ratio"),
    }
    exists = (dataset["outcome"] == "converged").all("branch").values[::EVERY]

    def locate(job: tuple[str, int]) -> Transition | None:
        kind, row = job
        between = _bracket(dataset["sample_ratio"].values, signs[kind].values[::EVERY][row], exists[row])
        at = scenario.vary(mixing=omegas[row])
        found = None if between is None else critical(at, kind, between=between, precision=0.01, rule=rule, scan=2)
        tell()
        return found

    jobs = [(kind, row) for kind in signs for row in range(len(omegas))]
    found = list(in_parallel(locate, jobs, workers))
    dataset.coords["line_mixing"] = omegas
    for kind, name in (("train-loss", "alpha_c"), ("linear", "alpha_l")):
        line = [t for job, t in zip(jobs, found, strict=True) if job[0] == kind]
        dataset[name] = ("line_mixing", np.array([np.nan if t is None else t.location.value for t in line]))
        dataset[f"{name}_error"] = (
            "line_mixing",
            np.array([np.inf if t is None else t.location.error for t in line]),
        )


def _bracket(alphas: np.ndarray, values: np.ndarray, exists: np.ndarray) -> tuple[float, float] | None:
    """The uppermost interval of the grid in which a difference changes sign while its branches exist."""
    for upper in range(len(alphas) - 1, 0, -1):
        if exists[upper - 1 : upper + 1].all() and values[upper] * values[upper - 1] <= 0:
            return float(alphas[upper - 1]), float(alphas[upper])
    return None


def _provenance(scenario: Scenario, rule: Sobol, seconds: float, cpu: float) -> dict[str, Any]:
    import jax

    from .. import __version__

    try:
        described = scenario_to_toml(scenario)
    except ValueError:  # an attention of the user's own has no name in a file
        described = str(scenario)
    versions = {"dotphase": __version__, "jax": jax.__version__, "numpy": np.__version__}
    return versions | {"scenario": described, "rule": repr(rule), "seconds": seconds, "cpu_seconds": cpu}
