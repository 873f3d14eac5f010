"""Averages over seeds, in datasets too, and the limit of many dimensions."""

import numpy as np
import pytest

import dotphase
from dotphase.results import Estimate, at_infinite_size, seed_average


def test_a_line_in_one_over_d_is_extrapolated_with_its_error():
    sizes, truth = np.array([100, 200, 400, 800]), 0.3
    rng, limits = np.random.default_rng(0), []
    for _ in range(400):
        values = truth + 5 / sizes + 0.01 * rng.standard_normal(4)
        limits.append(at_infinite_size(sizes, [Estimate(v, 0.01) for v in values]))
    z = np.array([(limit.value - truth) / limit.error for limit in limits])
    assert abs(z.mean()) < 4 / np.sqrt(400)
    assert z.std() == pytest.approx(1, abs=0.15)
    without = np.mean([limit.value - truth - 5 / 800 for limit in limits])
    assert abs(without) > 3 * limits[0].error / np.sqrt(400)  # the slope is taken out, not left in


def test_what_cannot_be_extrapolated_is_refused():
    with pytest.raises(ValueError, match=r"^sizes: at least two"):
        at_infinite_size([100], [Estimate(1, 0.1)])
    with pytest.raises(ValueError, match=r"^estimates: each needs"):
        at_infinite_size([100, 200], [Estimate(1, 0.1), Estimate(1, np.inf)])


@pytest.fixture
def dataset():
    import xarray

    rng = np.random.default_rng(1)
    excess = rng.standard_normal((3, 2, 20)) / 10
    error = 1 + 2 * excess + 0.01 * rng.standard_normal(excess.shape)
    dims = ("alpha", "start", "seed")
    coordinates = {"alpha": [0.5, 1.0, 1.5], "start": ["semantic", "positional"]}
    return xarray.Dataset(
        {"run_test_error": (dims, error), "run_teacher_excess": (dims, excess)}, coordinates
    )


def test_seeds_are_averaged_as_runs_are(dataset):
    plain = seed_average(dataset, "run_test_error")
    adjusted = seed_average(dataset, "run_test_error", adjusted=True)
    assert plain["run_test_error"].dims == ("alpha", "start")
    one = dotphase.results.over_seeds(dataset["run_test_error"].values[0, 0])
    assert float(plain["run_test_error"][0, 0]) == pytest.approx(one.value)
    assert float(plain["run_test_error_error"][0, 0]) == pytest.approx(one.error)
    assert (adjusted["run_test_error_error"] < 0.2 * plain["run_test_error_error"]).all()
    away = abs(adjusted["run_test_error"] - 1) / adjusted["run_test_error_error"]
    assert float(away.max()) < 4


def test_an_axis_under_the_name_of_the_paper_has_its_label():
    solutions = [dotphase.solve(dotphase.paper(alpha=a), "positional") for a in (1, 2)]
    labels = {axis.get_xlabel() for axis in dotphase.plot(solutions, against="alpha").axes}
    assert labels == {r"samples per dimension $\alpha$"}


def test_a_dataset_is_drawn_over_its_axis(dataset):
    axis = dotphase.plot(dataset).axes[0]
    assert len(axis.containers) == 2
    assert {text.get_text() for text in axis.get_legend().get_texts()} == {
        "run semantic",
        "run positional",
    }
    assert axis.get_xlabel() == r"samples per dimension $\alpha$"
    with pytest.raises(ValueError, match=r"^quantity: no variable"):
        dotphase.plot(dataset, quantity="colour")
    with pytest.raises(ValueError, match=r"^against: no test_error depends on 'omega'"):
        dotphase.plot(dataset, against="omega")
    with pytest.raises(ValueError, match=r"^against: no axis of numbers"):
        dotphase.plot(dataset.isel(alpha=[0]))


def test_seeds_without_a_value_are_left_out_of_the_adjusted_mean_too(dataset):
    missing = dataset.copy(deep=True)
    for name in missing:
        missing[name][0, 0, 3] = np.nan
    fewer = seed_average(
        dataset.isel(seed=[k for k in range(20) if k != 3]), "run_test_error", True
    )
    found = seed_average(missing, "run_test_error", adjusted=True)
    for name in found:
        assert float(found[name][0, 0]) == pytest.approx(float(fewer[name][0, 0]), rel=1e-12)


def test_a_label_may_hold_another_one(dataset):
    import json

    both = dataset.rename(run_test_error="run_small_test_error")
    both = both.assign(run_small_teacher_excess=both["run_teacher_excess"])
    both["run_teacher_excess"] = 0 * both["run_teacher_excess"] + np.arange(20)
    both.attrs["study"] = json.dumps({"compute": {"run": {}, "run_small": {}}})
    one = seed_average(dataset, "run_test_error", adjusted=True)["run_test_error"]
    two = seed_average(both, "run_small_test_error", adjusted=True)["run_small_test_error"]
    np.testing.assert_array_equal(one, two)
