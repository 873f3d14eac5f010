import numpy as np
import pytest
from finite_scenarios import SCENARIOS, uneven

from dotphase.finite.data import sampling as module
from dotphase.finite.data.instance import Instance, shares_of
from dotphase.finite.data.sampling import sample
from dotphase.scenario.presets import paper
from dotphase.scenario.tokens import isotropic


def test_shapes_and_reproducibility():
    first, again, other = sample(paper(), 40, 3), sample(paper(), 40, 3), sample(paper(), 40, 4)
    assert first.tokens.shape == (2, 80, 40)
    assert first.answers.shape == (2, 2, 80)
    np.testing.assert_array_equal(first.tokens, again.tokens)
    assert np.abs(first.tokens - other.tokens).max() > 1


def test_block_size_does_not_change_the_data(monkeypatch):
    whole = sample(uneven(), 30, 1)
    monkeypatch.setattr(module, "BLOCK", 700)
    cut = sample(uneven(), 30, 1)
    np.testing.assert_array_equal(whole.tokens, cut.tokens)
    for one, other in zip(whole.grams, cut.grams, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_single_precision_is_the_same_data_rounded():
    double, single = sample(uneven(), 30, 1), sample(uneven(), 30, 1, precision="float32")
    assert single.tokens.dtype == np.float32
    np.testing.assert_array_equal(single.tokens, double.tokens.astype(np.float32))
    np.testing.assert_array_equal(single.answers, double.answers)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scalar_products_and_answers_are_those_of_the_tokens(name):
    data = sample(SCENARIOS[name], 30, 2)
    seen, d = data.tokens, 30
    x = seen - data.instance.positions[:, None]
    product = lambda a, b: np.einsum("lni,kni->lkn", a, b) / d
    np.testing.assert_allclose(data.grams.true, product(x, x), atol=1e-13)
    np.testing.assert_allclose(data.grams.mixed, product(x, seen), atol=1e-13)
    np.testing.assert_allclose(data.grams.seen, product(seen, seen), atol=1e-13)
    one = data.scenario.teacher(x[:, 5] @ data.instance.teacher_weights / np.sqrt(d))
    np.testing.assert_allclose(
        data.answers[:, :, 5], one, rtol=1e-5
    )  # one at a time: single precision


def test_tokens_have_the_spectra_they_should():
    data = sample(uneven(), 20, 0, count=40_000)
    x = data.tokens - data.instance.positions[:, None]
    error = data.instance.gamma * np.sqrt(2 / 40_000)
    assert np.abs((x**2).mean(1) - data.instance.gamma).max() < 4.5 * error.max()
    assert np.abs(((x**2).mean(1) - data.instance.gamma) / error).max() < 4.5
    # Neither neighbouring tokens nor neighbouring samples share anything.
    cross = np.einsum("ni,ni->i", x[0], x[1]) / 40_000
    assert (
        np.abs(cross / np.sqrt(data.instance.gamma[0] * data.instance.gamma[1] / 40_000)).max()
        < 4.5
    )
    shifted = np.einsum("ni,ni->i", x[0, 1:], x[0, :-1]) / 40_000
    assert np.abs(shifted / (data.instance.gamma[0] / np.sqrt(40_000))).max() < 4.5


def test_directions_are_laid_out_by_share():
    instance = Instance(uneven(), 20)
    assert (instance.kind == 0).sum() == 14
    np.testing.assert_allclose(instance.gamma[:, 0], [0.25, 0.4, 0.3])
    np.testing.assert_allclose(instance.positions[:, -1] * np.sqrt(20), [-0.4, 1.2, 0.6])
    distribution = instance.scenario.distribution
    np.testing.assert_allclose(
        instance.positions @ instance.positions.T, distribution.gram, rtol=1e-12
    )
    np.testing.assert_allclose(instance.gamma.mean(1), distribution.mean_gamma, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 100, 101])
def test_shares_sum_to_the_whole(count):
    weights = np.array([0.15, 0.5, 0.05, 0.3])
    shares = shares_of(weights, count)
    assert shares.sum() == count
    assert np.abs(shares - weights * count).max() < 1


def test_given_teacher_weights_are_used():
    scenario = paper().vary(teacher_weights=[[1.0], [-2.0]])
    instance = Instance(scenario, 10)
    np.testing.assert_array_equal(instance.teacher_weights[:, 0], [1.0] * 5 + [-2.0] * 5)


def test_two_purposes_never_share_random_numbers():
    instance = Instance(paper(), 50, 7)
    train, test = sample(instance), sample(instance, stream="test")
    assert np.abs(train.tokens - test.tokens).min() > 0
    drawn = instance.random("start").standard_normal((50, 1))
    assert np.abs(drawn - instance.teacher_weights).max() > 0.1


@pytest.mark.parametrize(
    ("scenario", "d", "seed", "message"),
    [
        (paper(alpha=0.001), 100, 0, "rounds to no sample"),
        (uneven(), 1, 0, "at least 2"),
        (paper(), 0, 0, "at least 1"),
        (paper(), 2.5, 0, "whole number"),
        (paper(), 10, -1, "seed"),
    ],
)
def test_bad_sizes_are_named(scenario, d, seed, message):
    with pytest.raises(ValueError, match=message):
        Instance(scenario, d, seed)


def test_unknown_precision_is_refused():
    with pytest.raises(ValueError, match="precision"):
        sample(paper(), 10, precision="float16")


def test_isotropic_tokens_take_any_number_of_encoding_rows():
    scenario = uneven().vary(tokens=isotropic(3, 0.5))
    instance = Instance(scenario, 10)
    assert (instance.kind == 0).sum() == 5
