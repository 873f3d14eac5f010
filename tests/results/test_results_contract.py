"""One contract for every public result type: how it prints, compares, is pickled, tabulated and
kept in a file."""

import inspect
import json
import pickle
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import dotphase
from dotphase.comparison.compare import Comparison, Entry
from dotphase.comparison.doctor import examine
from dotphase.comparison.trajectories import Trajectories
from dotphase.counting import CountingTask, Experiment, Recipe, Recovery
from dotphase.counting import train as train_counting
from dotphase.counting.summary import summarise
from dotphase.finite.landscape import lowest_curvatures, straight_path
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.starts import start_weights
from dotphase.numerics.rules import Sobol
from dotphase.results.estimate import Estimate
from dotphase.results.result import GOOD, Result
from dotphase.theory.branches.node_sets import Transition
from dotphase.theory.branches.phases import phase_of
from dotphase.theory.branches.sensitivity import OptimalRidge, Sensitivity
from dotphase.theory.stability.clusters import Clusters
from dotphase.theory.stability.one_step_result import OneStep, OneStepScan

ROOMS = (
    "theory.baseline",
    "theory.solver.solution",
    "theory.branches.curves",
    "theory.branches.phases",
    "theory.branches.node_sets",
    "theory.branches.sensitivity",
    "theory.stability.stability",
    "theory.stability.one_step_result",
    "finite.landscape",
    "finite.linear_fit",
    "finite.training.runs",
    "finite.message_passing.gamp",
    "finite.data.sampling",
    "comparison.compare",
    "comparison.doctor",
    "comparison.trajectories",
    "counting.runs",
    "counting.metrics",
    "counting.surgery",
    "counting.summary",
    "bayes.limit",
    "bayes.message_passing",
    "comparison.curves",
    "learning.full_batch.learning_curve",
    "learning.online.agreement",
    "learning.online.one_pass",
    "learning.online.phase_portrait",
    "learning.online.simulation",
    "heads.measure",
    "heads.teacher",
    "heads.training",
    "text.distribution",
    "text.lengths",
)
RULE = Sobol(2**9)
SCENARIO = dotphase.paper(alpha=2).vary(teacher=dotphase.attentions.softmax(1))


@pytest.fixture(scope="module")
def solution():
    return dotphase.solve(SCENARIO, "semantic", rule=RULE, rtol=None)


def of_theory(solution):
    other = replace(solution, branch="positional", train_loss=solution.train_loss + 1)
    yield solution
    yield solution.stability
    yield phase_of([solution, other])
    yield dotphase.branches(SCENARIO, [1.9, 2.0], starts=["semantic"], rule=RULE, rtol=None)
    yield dotphase.linear_baseline(SCENARIO)
    yield Transition(
        "linear",
        "sample_ratio",
        Estimate(np.nan, np.inf),
        "absent",
        "no change of sign",
        12,
        512,
        0.5,
    )
    yield OptimalRidge(Estimate(0.01, 0.002), solution, "interior")
    yield Sensitivity(Estimate(-0.1, 0.01), Estimate(0.2, 0.01))
    yield from of_breaking(solution)


def of_breaking(solution):
    o, number = solution.overlaps, Estimate(0.1, 0.01)
    clusters = Clusters(0.9 * o.q, 0.1 * o.q, o.V, o.m, o.theta)
    counts = (25, 512, 16, 1.5)
    point = OneStep(
        SCENARIO,
        "semantic",
        3.0,
        clusters,
        clusters,
        *[number] * 4,
        np.ones(8),
        "converged",
        "",
        *counts,
    )
    yield point
    yield OneStepScan([point, point], [number, number], number, 3.0, None, "Σ does not change sign")


def of_experiments(solution):
    runs = dotphase.train(SCENARIO, 40, seeds=2, record=10)
    diverged = dotphase.train(SCENARIO, 40, optimiser=dotphase.GradientDescent(rate=1e4), seeds=2)
    passed = dotphase.gamp(SCENARIO, 40, seeds=1, iterations=5)
    yield from (
        runs,
        diverged,
        runs.runs[0],
        diverged.runs[0],
        runs.runs[0].trajectory,
        passed.runs[0].trajectory,
    )
    yield dotphase.finite.fit_linear(SCENARIO, 40, seeds=2)
    objective = Objective(dotphase.sample(SCENARIO, 40))
    one, other = (
        start_weights(objective.sample.instance, name) for name in ("semantic", "positional")
    )
    yield straight_path(objective, one, other, 5)
    yield lowest_curvatures(objective, one)
    entries = [
        Entry("semantic", name, getattr(solution, name), passed.q, runs.q)
        for name in ("q", "m", "theta")
    ]
    by_start = ({"semantic": each} for each in (solution, passed, runs, "replica symmetric"))
    yield entries[0]
    yield Comparison(SCENARIO, 40, tuple(entries), *by_start)
    yield examine()
    yield Trajectories(40, ("q_1", "q_2"), np.ones((3, 2)), np.arange(12.0).reshape(2, 3, 2))


def of_counting():
    task = CountingTask(length=4, letters=12, samples=400)
    run = train_counting(Experiment(task=task, recipe=Recipe(batch=32, epochs=1), seeds=(0, 1)))
    summary = summarise(run)
    yield from (run, summary, summary.seeds[0], summary.scores)
    yield Recovery(0, 0.9, 0.8, 0.9, 30.0, 0.1, 0.2, 0.01, 0.5, summary.scores, summary.scores)


def of_learning():
    from dotphase.comparison.curves import compare_curve
    from dotphase.learning.online.agreement import agreement
    from dotphase.learning.online.phase_portrait import plane

    yield dotphase.learning_curve(SCENARIO, steps=3, paths=1024, replicates=4)
    yield compare_curve(SCENARIO, d=40, seeds=2, steps=2, paths=1024)
    simulation = dotphase.learning.simulate(SCENARIO, 40, until=0.5, seeds=2)
    yield simulation
    yield agreement(simulation, RULE)
    yield dotphase.learning.one_pass(SCENARIO, "semantic", until=0.5, rule=RULE)
    yield plane(dotphase.paper(omega=0.3), np.linspace(0, 0.4, 4), np.linspace(0, 1, 4))


def of_bayes():
    yield dotphase.bayes.bayes(SCENARIO, rule=RULE, iterations=3)
    runs = dotphase.bayes.bayes_message_passing(SCENARIO, 40, 2, iterations=3, rule=RULE)
    yield from (runs, runs.runs[0])


def of_heads():
    from dotphase.heads import measure, scenario_of
    from dotphase.heads.language_model import Model
    from dotphase.heads.layouts import Projections
    from dotphase.heads.loading import FirstLayer
    from dotphase.heads.training import train_language

    rng = np.random.default_rng(0)
    E, ids = rng.standard_normal((20, 6)), rng.integers(20, size=(400, 5))
    yield measure(lambda ids: E[ids] @ E[ids].swapaxes(1, 2), ids)
    parts = Projections(*rng.standard_normal((2, 1, 6, 2)), 0.0, 0.0, 1.0)
    teacher = scenario_of(FirstLayer(E, rng.standard_normal((5, 6)), parts), ids)
    yield from (teacher, teacher.distribution, teacher.distribution.lengths)
    model = Model(words=40, length=6, heads=2, width=8, hidden=8, batch=4)
    yield train_language(model, 500, 2, (0, 1))


@pytest.fixture(scope="module")
def everything(solution):
    found = [of_theory(solution), of_experiments(solution), of_counting()]
    found += [of_learning(), of_bayes(), of_heads()]
    return [result for group in found for result in group]


def test_no_result_type_is_forgotten(everything):
    public = {
        found
        for room in ROOMS
        for name, found in vars(import_module(f"dotphase.{room}")).items()
        if inspect.isclass(found)
        and issubclass(found, Result)
        and found is not Result
        and not name.startswith("_")
    }
    assert public == {type(result) for result in everything}


def test_a_representation_is_a_few_lines(everything):
    for result in everything:
        assert 0 < len(repr(result)) < 2000, type(result)
        assert repr(result).count("\n") < 15
        assert str(result).startswith(repr(result)[:40])


def test_html_has_a_table_and_curves_a_picture(everything):
    for result in everything:
        html = result._repr_html_()
        assert html.count("<tr>") >= 1
        assert html.count("<tr>") == html.count("</tr>")
        assert ("data:image/png" in html) == type(result).curve


def test_a_result_survives_pickle_and_equals_its_copy_only(everything):
    for result in everything:
        copy = pickle.loads(pickle.dumps(result))
        assert copy == result
        assert not copy != result  # noqa: SIM202 (the operator is meant)
        assert result != 0


def test_a_result_survives_a_file_without_pickle(everything, tmp_path):
    for number, result in enumerate(everything):
        path = tmp_path / str(number)
        result.save(path)
        assert type(result).load(path) == result, type(result)
        assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_plain_data_is_json(everything):
    for result in everything:
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False))


def test_tables_have_every_row_and_both_parts_of_an_estimate(everything):
    for result in everything:
        frame, rows = result.to_pandas(), result.rows()
        assert len(frame) == len(rows)
        for name, value in rows[0].items():
            assert name in frame
            assert (f"{name}_error" in frame) == any(
                isinstance(row.get(name), Estimate) for row in rows
            )
            if isinstance(value, Estimate):
                np.testing.assert_array_equal(frame[name].iloc[0], value.value)


def test_datasets_have_named_axes(everything):
    for result in everything:
        dataset = result.to_xarray()
        assert len(dataset.variables) > 0
        for name, (axes, array) in result.arrays().items():
            assert dataset[name].dims == axes
            np.testing.assert_array_equal(dataset[name].values, array)
        assert dataset.attrs["description"] == result.headline
        assert not any(str(name).startswith("dim_") for name in dataset.dims)


def test_what_differs_is_not_equal_and_time_does_not_count(solution):
    assert replace(solution, seconds=solution.seconds + 1) == solution
    assert replace(solution, residual=0.5) != solution
    moved = solution.overlaps._replace(q=solution.overlaps.q + 1e-12)
    assert replace(solution, overlaps=moved) != solution
    assert replace(solution, scenario=SCENARIO.vary(alpha=2.1)) != solution


def test_a_solution_says_how_far_it_can_be_trusted(solution):
    fresh = replace(solution)
    assert "stability not computed" in str(fresh)
    assert "several minima" in str(solution)
    verdict = solution.stability.verdict
    assert verdict in str(solution)


def test_every_result_says_what_speaks_against_its_numbers(everything):
    for result in everything:
        assert isinstance(result.caveats, tuple), type(result)
        assert all(isinstance(caveat, str) and caveat for caveat in result.caveats)
        if getattr(result, "outcome", "converged") not in GOOD:
            assert (getattr(result, "reason", "") or result.outcome) in result.caveats
        if type(result).__name__ == "Run" and getattr(result, "outcome", "") == "converged":
            assert result.caveats == ()


def test_caveats_of_a_solution(solution):
    fine = replace(solution)
    fine.__dict__["stability"] = solution.stability
    checked = fine.checks
    assert checked["residual"] == solution.residual
    assert checked["unsettled"] == 0
    assert not checked["outlier"]
    assert (checked["stability"], checked["replica_symmetry"]) == ("stable", "replica symmetric")
    assert fine.caveats == ()
    assert replace(solution).checks["stability"] is None
    rough = replace(solution, residual=1e-3)
    assert rough.caveats == ("the residual is 1.0e-03",)
    assert replace(rough, minimum="reached").caveats == ()  # their map jumps
    said = "residual 1.0e-03: it changes the results by at most a tenth of their errors"
    assert replace(rough, outcome="imprecise", reason=said).caveats == (said,)
    assert rough.to_dict()["caveats"] == list(rough.caveats)
    apart = np.array([1, -1, 2, -2, 1, -1, 1, 500]) * 1e-6
    alone = replace(solution, deviations=solution.deviations._replace(train_loss=apart))
    assert "one replicate" in str(alone)
    saddle = dotphase.solve(SCENARIO, "uninformed", rule=Sobol(2**13), rtol=None)
    assert saddle.stability.branch.startswith("unstable")
    assert any(caveat.startswith("the branch is unstable") for caveat in saddle.caveats)


def test_caveats_of_a_comparison_are_those_of_its_parts(everything):
    for result in everything:
        if isinstance(result, Comparison):
            assert "semantic, message passing: 1 of 1 seeds stopped" in result.caveats[0]
        if type(result).__name__ == "Runs" and "diverged" in result.outcomes:
            assert sum("blew up" in caveat for caveat in result.caveats) == 2


def test_an_outlier_is_rare_among_normal_numbers():
    """One of a thousand, by the definition of the test."""
    from dotphase.theory.solver.errors import Scatter

    draws = np.random.default_rng(0).standard_normal((20_000, 2, 8))
    found = sum(Scatter(*draw).outlier for draw in draws)
    assert abs(found - 20) < 5 * np.sqrt(20)
