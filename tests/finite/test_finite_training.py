import json
from dataclasses import replace

import numpy as np
import pytest
from finite_scenarios import uneven

from dotphase import attentions
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.linear_fit import fit_linear
from dotphase.finite.message_passing.gamp import gamp
from dotphase.finite.overlaps import overlaps
from dotphase.finite.training.optimisers import LBFGS, Adam, GradientDescent
from dotphase.finite.training.starts import Random, start_weights
from dotphase.finite.training.training import train
from dotphase.results.statistics import over_seeds
from dotphase.scenario.presets import paper
from dotphase.scenario.tokens import no_positions


def test_the_answer_is_averages_over_seeds_with_errors():
    found = train(paper(alpha=1.5), 80, "semantic", seeds=4)
    errors = [run.test_error.value for run in found.runs]
    assert found.test_error.value == pytest.approx(np.mean(errors))
    assert found.test_error.error == pytest.approx(np.std(errors, ddof=1) / 2)
    assert found.m.value == pytest.approx(
        np.mean([abs(run.overlaps.m[0, 0]) for run in found.runs])
    )
    assert found.theta.value == pytest.approx(
        np.mean([abs(run.overlaps.theta[0, 0, 0]) for run in found.runs])
    )
    assert found.outcomes == {"converged": 4}


def test_the_answer_survives_json():
    plain = json.loads(json.dumps(train(uneven(), 40, seeds=2).to_dict(), allow_nan=False))
    for name in ("test_error", "train_loss", "m", "theta", "q"):
        assert set(plain[name]) == {"value", "error"}
        assert plain[name]["value"] > 0
    assert plain["outcome"] == {"converged": 2}
    assert len(plain["per_token"]["m"]["value"]) == 3


def test_one_seed_has_no_error_bar_rather_than_a_wrong_one():
    found = train(paper(), 40, seeds=1)
    assert np.isinf(found.test_error.error)
    assert found.to_dict()["test_error"]["error"] is None
    assert np.isnan(over_seeds([None, None]).value)
    assert over_seeds([1.0, None, 3.0]).count == 2


def test_seeds_may_be_named_and_are_independent_of_their_company():
    alone, together = train(paper(), 40, seeds=[5]), train(paper(), 40, seeds=[3, 5])
    assert alone.runs[0].test_error == together.runs[1].test_error


def test_trajectories_go_down_from_the_start_to_the_end():
    found = train(paper(), 60, "semantic", "lbfgs", seeds=1, record=1)
    run = found.runs[0]
    path = run.trajectory
    assert len(path.step) == run.steps + 1
    assert (np.diff(path.loss) <= 1e-12).all()
    assert path.loss[-1] == pytest.approx(run.train_loss)
    np.testing.assert_allclose(path.overlaps.theta[-1], run.overlaps.theta)
    first = overlaps(Instance(paper(), 60, 0), start_weights(Instance(paper(), 60, 0), "semantic"))
    np.testing.assert_allclose(path.overlaps.q[0], first.q)


def test_single_precision_data_give_the_same_minimum_nearly():
    single, double = (train(paper(), 100, seeds=1, precision=p) for p in ("float32", "float64"))
    assert single.outcomes == double.outcomes == {"converged": 1}
    assert single.train_loss.value == pytest.approx(double.train_loss.value, rel=1e-5)


def test_overlaps_are_what_they_say():
    instance = Instance(uneven(), 30, 2)
    weights = np.random.default_rng(0).standard_normal((30, 2))
    found = overlaps(instance, weights)
    for l in range(3):
        Sigma = np.diag(instance.gamma[l])
        np.testing.assert_allclose(found.q[l], weights.T @ Sigma @ weights / 30)
        np.testing.assert_allclose(
            found.theta[l], weights.T @ Sigma @ instance.teacher_weights / 30
        )
        np.testing.assert_allclose(found.m[l], weights.T @ instance.positions[l] / np.sqrt(30))
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((2, 2)))[0]
    for name, size in overlaps(instance, weights @ turn).sizes.items():
        np.testing.assert_allclose(size, found.sizes[name])


def test_named_starts():
    instance = Instance(paper(), 50, 1)
    np.testing.assert_array_equal(start_weights(instance, "semantic"), instance.teacher_weights)
    np.testing.assert_allclose(
        start_weights(instance, "positional"), np.full((50, 1), 1 / np.sqrt(50))
    )
    small, large = start_weights(instance, "random"), start_weights(instance, Random(1.0))
    np.testing.assert_allclose(10 * small, large)
    wide = Instance(paper(student_rank=2), 50, 1)
    first, second = start_weights(wide, "semantic").T
    np.testing.assert_array_equal(first, wide.teacher_weights[:, 0])
    assert 0.05 < second.std() < 0.2
    untied = Instance(uneven(attentions.softmax(1, tied=False)), 50, 1)
    query, key = start_weights(untied, "semantic").T
    np.testing.assert_array_equal(query, key)


def test_a_wider_student_does_at_least_as_well_in_training():
    narrow, wide = (
        train(paper(alpha=1.0, student_rank=r), 100, "semantic", seeds=1) for r in (1, 2)
    )
    assert wide.train_loss.value < narrow.train_loss.value - 1e-7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": np.zeros((40, 3))}, r"shape \(40, 1\), got \(40, 3\)"),
        ({"start": "sematic"}, "start: expected semantic"),
        ({"start": np.full((40, 1), np.nan)}, "finite"),
        ({"optimiser": "newton"}, "optimiser: expected one of"),
        ({"start": "uninformed"}, 'use "random" here'),
        (
            {"start": overlaps(Instance(paper(), 40, 0), np.ones((40, 1)))},
            "overlaps do not say which weights",
        ),
        ({"start": None}, "start: expected semantic"),
        ({"seeds": 0}, "seeds: at least one"),
        ({"seeds": [1, 1, 1, 1]}, r"each may be given once; got \[1, 1, 1, 1\]"),
        ({"record": 0}, "record: expected a whole number of at least 1, got 0"),
        ({"record": 1.5}, "record: expected a whole number"),
        ({"d": 10_000_000}, r"take 3.2 PB of memory, \d.* are free; lower d or α"),
        ({"precision": "int8"}, "precision"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        train(**({"scenario": paper(), "d": 40} | arguments))


@pytest.mark.parametrize("run", [gamp, fit_linear, sample])
def test_what_does_not_fit_into_memory_is_refused_everywhere(run):
    with pytest.raises(ValueError, match=r"3\.2 PB of memory"):
        run(paper(), 10_000_000)


def test_optimisers_refuse_what_cannot_be():
    for make, options, name in (
        (GradientDescent, {"rate": 0.0}, "rate"),
        (Adam, {"steps": 0}, "steps"),
        (Adam, {"decay": (0.9, 1.0)}, "decay"),
        (LBFGS, {"tolerance": -1.0}, "tolerance"),
        (LBFGS, {"memory": 0}, "memory"),
    ):
        with pytest.raises(ValueError, match=name):
            make(**options)


def test_no_positional_start_without_positions():
    with pytest.raises(ValueError, match="no encodings"):
        train(paper().vary(positions=no_positions(2)), 40, "positional")


def test_random_scale_must_be_positive():
    with pytest.raises(ValueError, match="scale"):
        Random(0.0)


def test_a_divergence_before_the_first_record_is_an_outcome():
    """Weights so large that the loss overflows: there is nothing on the way to show."""
    task = paper(alpha=1).vary(student=attentions.linear(1))
    far = np.full((20, 1), 1e200)
    with np.errstate(all="ignore"):
        for optimiser in ("lbfgs", "gd"):
            run = train(task, d=20, start=far, optimiser=optimiser, record=1).runs[0]
            assert run.outcome == "diverged"
            assert run.trajectory is None
        run = gamp(task, d=20, start=far).runs[0]
    assert run.outcome == "diverged"
    assert run.trajectory is None


def test_a_sample_without_a_dimension_says_so():
    with pytest.raises(ValueError, match=r"^d: give the dimension"):
        sample(paper())


def test_sizes_of_memory_beyond_what_numpy_counts():
    with pytest.raises(ValueError, match=r"^d: .* take .* of memory"):
        train(paper(), 10**12)


def test_an_average_over_different_mechanisms_says_so():
    found = train(paper(2.0, 0.3), 60, "random", seeds=8, optimiser="adam")
    assert [row["mechanism"] for row in found.rows()] == list(found.mechanisms)
    first = [
        run
        for run, name in zip(found.runs, found.mechanisms, strict=True)
        if name == found.mechanisms[0]
    ]
    same = replace(found, runs=tuple(first))
    assert len(set(found.mechanisms)) > 1
    assert "different mechanisms" in str(found)
    assert "different mechanisms" not in str(same)
