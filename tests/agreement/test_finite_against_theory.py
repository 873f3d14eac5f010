"""Training at finite d against the theory at d → ∞, in standard errors, with the O(1/d) correction
measured, not chosen.

An observable at dimension d is A + B/d + …; A is fitted over several d, and A is what the theory
predicts.
"""

import numpy as np
import pytest

from dotphase.comparison.compare import theory_value
from dotphase.finite.training.training import train
from dotphase.scenario.presets import paper
from dotphase.theory.solver.solve import solve


def extrapolated(scenario, start, seeds_at, names):
    """A ± its standard error for each observable: a weighted straight line in 1/d."""
    runs = {
        d: train(scenario, d, start, seeds=range(1000, 1000 + seeds))
        for d, seeds in seeds_at.items()
    }
    assert all(set(found.outcomes) == {"converged"} for found in runs.values())
    limits = {}
    for name in names:
        means = [found.adjusted(name) for found in runs.values()]
        weight = np.array([1 / mean.error for mean in means])
        design = np.stack([np.ones(len(runs)), 1 / np.array(list(runs))], axis=1) * weight[:, None]
        covariance = np.linalg.inv(design.T @ design)
        line = covariance @ design.T @ (weight * np.array([mean.value for mean in means]))
        limits[name] = (line[0], np.sqrt(covariance[0, 0]))
    return limits


def deviations(limits, solution):
    told = {}
    for name, (value, error) in limits.items():
        theory = theory_value(solution, name)
        told[name] = (value - theory.value) / np.hypot(error, theory.error)
    return told


FAST = {120: 120, 240: 60, 480: 30}
LARGE = {250: 200, 500: 100, 1000: 48, 2000: 16}
SEMANTIC = ("test_error", "train_loss", "q", "theta")


@pytest.fixture(scope="module")
def semantic_limits():
    return extrapolated(paper(alpha=2.0), "semantic", FAST, SEMANTIC)


def test_the_semantic_minimum_is_the_theorys(semantic_limits):
    found = deviations(semantic_limits, solve(paper(alpha=2.0), "semantic"))
    assert max(map(abs, found.values())) < 3.5, found


@pytest.mark.parametrize("wrong", [{"sample_ratio": 2.2}, {"ridge": 0.013}, {"mixing": 0.2}])
def test_another_theory_is_told_apart(semantic_limits, wrong):
    found = deviations(semantic_limits, solve(paper(alpha=2.0).vary(**wrong), "semantic"))
    assert max(map(abs, found.values())) > 7, found


def test_the_positional_minimum_has_the_theorys_loss():
    """The loss only: docs/finite.md says at which of several positional minima training ends."""
    limits = extrapolated(paper(alpha=2.0), "positional", FAST, ("train_loss",))
    found = deviations(limits, solve(paper(alpha=2.0), "positional"))
    assert max(map(abs, found.values())) < 3.5, found


def test_the_branches_are_not_confused(semantic_limits):
    found = deviations(semantic_limits, solve(paper(alpha=2.0), "positional"))
    assert abs(found["test_error"]) > 20
    assert abs(found["train_loss"]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.25, 2.0])
def test_up_to_two_thousand_dimensions(alpha):
    for start, names in (("semantic", SEMANTIC), ("positional", ("train_loss",))):
        found = deviations(
            extrapolated(paper(alpha=alpha), start, LARGE, names), solve(paper(alpha=alpha), start)
        )
        assert max(map(abs, found.values())) < 3.5, (start, found)


@pytest.mark.slow
def test_a_thousand_dimensions_and_twenty_four_seeds():
    """Without extrapolation: within 3 standard errors plus the correction the sizes below d = 1000
    predict."""
    for alpha in (1.25, 2.0):
        for start, names in (("semantic", SEMANTIC), ("positional", ("train_loss",))):
            scenario = paper(alpha=alpha)
            solution = solve(scenario, start)
            small = train(scenario, 250, start, seeds=range(2000, 2200))
            large = train(scenario, 1000, start, seeds=24)
            for name in names:
                theory, here, there = (
                    theory_value(solution, name),
                    large.adjusted(name),
                    small.adjusted(name),
                )
                correction = abs(there.value - theory.value) / 4
                error = np.hypot(here.error, theory.error)
                assert abs(here.value - theory.value) < 3 * error + correction, (alpha, start, name)
