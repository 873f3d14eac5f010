"""A number with an error behaves like a number, and its error like one of independent numbers."""

import json
import pickle

import numpy as np
import pytest

from dotphase.results.estimate import Estimate
from dotphase.results.json import plain
from dotphase.results.statistics import over_seeds


@pytest.fixture
def pair():
    return Estimate(3.0, 0.3), Estimate(2.0, 0.4)


OPERATIONS = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "with plain numbers": lambda x, y: (2 - x / 3) * (y + 1) / 7,
    "plain number to a power": lambda x, y: 2.0 ** (x - y),
    "numpy's": lambda x, y: np.float64(2) * np.sqrt(x) - np.log(y) / np.float64(3),
    "numpy's functions": lambda x, y: np.exp(-x) + np.log10(np.square(np.absolute(-y))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_errors_are_those_of_independent_numbers(pair, name):
    """Against the scatter of a million draws with errors so small that first order is all there is."""
    small = [Estimate(e.value, 1e-4 * e.error) for e in pair]
    rng = np.random.default_rng(0)
    draws = [rng.normal(e.value, e.error, 10**6) for e in small]
    found, wanted = OPERATIONS[name](*small), OPERATIONS[name](*draws)
    assert found.value == pytest.approx(OPERATIONS[name](*(e.value for e in small)), rel=1e-12)
    # The standard deviation of n draws is known to 1/√(2n): five of those.
    assert found.error == pytest.approx(wanted.std(), rel=5 / np.sqrt(2e6))


def test_it_is_a_number(pair):
    x, y = pair
    assert float(x) == 3.0
    assert round(x, 1) == 3.0
    assert abs(-x) == x
    assert x > y
    assert y <= 2.0
    assert x > 2.5
    assert x == 3.0
    assert x != y
    assert np.asarray([x, y]).tolist() == [3.0, 2.0]
    assert bool(np.isfinite(x))
    assert np.float64(1) < x
    assert 2 * x == Estimate(6.0, 0.6)
    assert hash(x) == hash(Estimate(3.0, 0.3))
    with pytest.raises(AttributeError):
        x.value = 4.0
    with pytest.raises(TypeError, match=r"\.value"):
        np.sin(x)
    with pytest.raises(TypeError, match=r"\.error"):
        list(x)
    with pytest.raises(TypeError):
        x + "text"


def test_an_unknown_error_stays_unknown():
    lone = Estimate(1.5, np.inf)
    assert str(lone) == "1.5 ± ?"
    assert np.isinf((lone + 1).error)
    assert np.isinf((lone * 2).error)
    assert np.isnan(lone.deviation(1.0))
    assert json.dumps(lone.to_dict(), allow_nan=False) == '{"value": 1.5, "error": null}'


def test_it_is_written_as_people_write_it():
    e = Estimate(0.00339123, 0.0000123)
    assert str(e) == f"{e:±}" == "0.003391 ± 0.000012"
    assert f"{e:()}" == "0.003391(12)"
    assert f"{e:.3g}" == "0.00339"
    assert str(Estimate(np.nan, np.inf)) == "no value"
    assert str(Estimate(0.25)) == "0.25"


def test_arrays_of_numbers():
    a = Estimate([1.0, 2.0], 0.1)
    assert a.error.tolist() == [0.1, 0.1]
    assert a[1] == Estimate(2.0, 0.1)
    assert len(a) == 2
    assert (np.array([1.0, 3.0]) * a).value.tolist() == [1.0, 6.0]
    assert a == Estimate([1.0, 2.0], [0.1, 0.1])
    assert a != Estimate([1.0, 2.0], [0.1, 0.2])
    assert pickle.loads(pickle.dumps(a)) == a


def test_deviation_is_in_standard_errors(pair):
    x, y = pair
    assert x.deviation(y) == pytest.approx(2.0)
    assert x.deviation(2.4) == pytest.approx(2.0)


def test_matplotlib_takes_it(pair):
    from matplotlib.figure import Figure

    axis = Figure().add_subplot()
    axis.errorbar([0, 1], pair, yerr=[e.error for e in pair])
    axis.plot(pair, pair)


def test_average_over_seeds():
    values = [1.0, 2.0, None, 4.0]
    found = over_seeds(values)
    known = [1.0, 2.0, 4.0]
    assert found == Estimate(np.mean(known), np.std(known, ddof=1) / np.sqrt(3))
    assert found.count == 3
    assert over_seeds([None]).count == 0
    assert np.isnan(over_seeds([None]).value)
    assert np.isinf(over_seeds([1.0]).error)


def test_a_known_influence_is_taken_out():
    rng = np.random.default_rng(0)
    control = rng.normal(size=400)
    values = 3.0 + 2.0 * control + 0.1 * rng.normal(size=400)
    adjusted, bare = over_seeds(values, control), over_seeds(values)
    assert abs(adjusted.deviation(3.0)) < 3
    assert adjusted.error < bare.error / 10


def test_plain_data_is_json():
    value = {
        "a": np.array([1.0, np.inf]),
        "b": Estimate(1.0, 2.0),
        "c": (1 + 2j),
        "d": np.int64(3),
    }
    wanted = {"a": [1.0, None], "b": {"value": 1.0, "error": 2.0}, "c": [1.0, 2.0], "d": 3}
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == wanted
