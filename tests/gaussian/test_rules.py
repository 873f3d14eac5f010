"""Rules for Gaussian averages: exact where they should be, honest about errors elsewhere."""

import numpy as np
import pytest

from dotphase.numerics.rules import GaussHermite, Sobol, pooled
from dotphase.results.estimate import Estimate, plus_minus


def average(rule, function, dimension):
    points, weights = rule.nodes(dimension)
    return pooled(rule, (function(points) * weights).sum(-1))


def test_gauss_hermite_is_exact_for_polynomials():
    found = average(GaussHermite(8), lambda p: p[:, 0] ** 6 * p[:, 1] ** 2, 2)
    assert found.value == pytest.approx(15.0, rel=1e-12)
    assert found.error < 1e-10


def test_gauss_hermite_reports_its_error_on_what_it_cannot_do():
    found = average(GaussHermite(10), lambda p: (p[:, 0] > 0.3).astype(float), 1)
    exact = 0.3820885778
    assert abs(found - exact) > 0.01
    assert found.error > 0.3 * abs(found - exact)


@pytest.mark.parametrize("dimension", [4, 8])
def test_sobol_covers_the_truth_and_its_errors_are_standard_errors(dimension):
    def jumping(points):
        return np.exp(points.sum(1) / np.sqrt(dimension)) * (points[:, 0] > 0.3)

    from scipy.stats import norm

    exact = np.exp(0.5) * norm.sf(0.3 - 1 / np.sqrt(dimension))
    found = [average(Sobol(2**12, seed=seed), jumping, dimension) for seed in range(40)]
    deviations = np.array([each.deviation(exact) for each in found])
    # The error is such that these have variance one, though 8 replicates do not know their own
    # scatter well.
    assert abs(deviations.mean()) < 4 / np.sqrt(40)
    assert 0.6 < deviations.std() < 1.5


def test_sobol_is_reproducible_and_seeds_differ():
    first, again, other = (Sobol(2**8, seed=seed).nodes(3).points for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.parametrize(
    "bad", [lambda: Sobol(2**8, replicates=3), lambda: Sobol(4), lambda: GaussHermite(2)]
)
def test_bad_rules_are_refused(bad):
    with pytest.raises(ValueError, match="at least"):
        bad()


def test_too_many_tensor_nodes_are_refused():
    with pytest.raises(ValueError, match="use Sobol"):
        GaussHermite(20).nodes(8)


def test_estimates_print_with_matching_digits():
    assert str(Estimate(0.00339123, 0.0000123)) == "0.003391 ± 0.000012"
    assert plus_minus(12.3456, 1.5) == "12.3 ± 1.5"


@pytest.mark.parametrize(("dimension", "log2"), [(1, 2), (4, 7), (9, 10)])
def test_scrambled_points_are_those_of_scipy(dimension, log2):
    from scipy.special import ndtri
    from scipy.stats import qmc

    ours = Sobol(2**log2 * 8, seed=5).nodes(dimension).points
    sources = np.random.SeedSequence(5).spawn(8)
    uniform = [
        qmc.Sobol(dimension, rng=np.random.default_rng(source)).random_base2(log2).T
        for source in sources
    ]
    np.testing.assert_array_equal(ours, ndtri(np.array(uniform)))


def test_kept_directions_are_those_of_scipy():
    from dotphase.numerics.rules import KEPT, direction_numbers

    kept = np.load(KEPT)
    assert kept.shape == (16, 30)
    assert (direction_numbers(16, 16) == kept[:, :16]).all()


def test_a_refined_rule_has_a_power_of_two_nodes_within_the_budget():
    few = Sobol(2**10, seed=3)
    assert few.refined(2.0, 10**5, most=3) == Sobol(2**12, seed=3)
    assert few.refined(1e9, 10**5, most=3) == Sobol(2**13, seed=3)
    assert few.refined(1e9, 3000, most=3) == Sobol(2**11, seed=3)
    assert few.refined(np.inf, 1500, most=3) == few
