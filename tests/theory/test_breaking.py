"""Jumps of the prox against a case that can be integrated by hand, and what is said of replica
symmetry."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

import dotphase
from dotphase import Estimate
from dotphase.numerics.rules import Sobol
from dotphase.theory.stability.breaking import (
    Breaking,
    Jumps,
    Variance,
    at_jumps,
    deviation,
    settled_spread,
)
from dotphase.theory.stability.linearised import linearise
from dotphase.theory.stability.spectra import spectra
from dotphase.theory.stability.stability import breaking, stability

RULE = Sobol(2**13)
A, Q = 0.7, 0.3  # g = A sign(w), w ~ N(0, Q): two minima of energies −A w and A w


def two_valued(width: float = 0.1, count: int = 4096) -> Variance:
    """Samples of the two-valued g, on equally likely fields, with nothing else in the map."""
    w = np.sqrt(Q) * ndtri((np.arange(count) + 0.5) / count)
    jumps = Jumps(np.full(count, 1 / count), 2 * A * np.abs(w), -2 * A * np.sign(w)[None, None])
    q = np.full((1, 1, 1), Q)
    return Variance(
        np.eye(1),
        np.zeros((1, 1)),
        np.eye(1),
        jumps,
        at_jumps(jumps, q, width),
        deviation(jumps, q),
    )


def exact_variance(ratio: float) -> float:
    """E Var(g | w_0), w = w_0 + Δ^{1/2}ξ, ratio = Δ/q: half the mean squared difference of two such
    g, 2A² P(signs differ) = 2A² arccos(1 − Δ/q)/π."""
    return 2 * A**2 * np.arccos(1 - ratio) / np.pi


def test_the_density_at_a_jump_is_that_of_the_field():
    density, squared = two_valued().density_and_jump
    assert density == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-3)
    assert squared / density == pytest.approx(4 * A**2, rel=1e-9)


@pytest.mark.parametrize("ratio", [1e-4, 1e-3, 1e-2])
def test_jumps_add_the_variance_that_can_be_integrated(ratio):
    """Leading order in Δ/q, whose correction is a twelfth of it."""
    found = float(two_valued().next(np.full((1, 1, 1), ratio * Q))[0, 0, 0])
    assert found == pytest.approx(exact_variance(ratio), rel=ratio / 6 + 1e-3)
    assert found != pytest.approx(
        exact_variance(4 * ratio), rel=0.3
    )  # it does grow as the root of Δ


def test_the_spread_reproduces_itself():
    """Δ = b(c√Δ + rΔ) has Δ = (bc/(1 − br))²."""
    one = two_valued()._replace(response=np.full((1, 1), 0.5), squares=np.full((1, 1), 0.8))
    spread = settled_spread(one, np.full((1, 1, 1), Q))
    assert spread is not None
    c = float(two_valued().next(np.ones((1, 1, 1)))[0, 0, 0])
    assert float(spread[0, 0, 0]) == pytest.approx((0.5 * c / (1 - 0.5 * 0.8)) ** 2, rel=1e-6)
    grows = one._replace(squares=np.full((1, 1), 2.5))
    assert settled_spread(grows, np.full((1, 1, 1), Q)) is None


@pytest.fixture(scope="module")
def semantic():
    found = dotphase.solve(
        dotphase.paper(alpha=1.0, omega=0.3), "semantic", rule=Sobol(2**15), rtol=None
    )
    at = linearise(found)
    return at, spectra(at, directions=False)


def test_the_width_of_the_kernel_does_not_matter(semantic):
    at, around = semantic
    narrow, usual, wide = (breaking(at, around, width) for width in (0.125, 0.25, 0.5))
    for other in (narrow, wide):
        assert abs(other.ratio.value - usual.ratio.value) < 3 * max(
            other.ratio.error, usual.ratio.error
        )
    assert 0 < usual.ratio.value < 0.2
    assert usual.verdict.startswith("weakly broken: Δ/q = 0.0")
    assert usual.density.value > 2 * usual.density.error


def test_jumps_are_symmetrised(semantic):
    """From one node per coset, Δ is the same for both tokens, as the symmetry asks."""
    at, around = semantic
    spread = around.jumps[0].step
    assert spread.shape[:2] == (2, 1)
    q, jumps = at.solution.overlaps.q, around.jumps[0]
    average = np.full((2, 2), 0.5)
    one = Variance(
        around.responses[0],
        around.squares[0],
        average,
        jumps,
        at_jumps(jumps, q, 0.25),
        deviation(jumps, q),
    )
    settled = settled_spread(one, q)
    assert settled is not None
    assert settled[0] == pytest.approx(settled[1], rel=1e-9)
    assert float(settled[0, 0, 0] / q[0, 0, 0]) == pytest.approx(
        breaking(at, around).ratio.value, rel=1e-6
    )


def test_without_jumps_replica_symmetry_holds():
    found = dotphase.solve(dotphase.paper(alpha=2.0, omega=0.3), "semantic", rule=RULE, rtol=None)
    at = found.stability
    assert at.symmetry == "replica symmetric"
    assert at.verdict == "stable; replica symmetric"
    assert at.breaking.ratio.value == 0
    assert at.to_dict()["replica_symmetry"]["ratio"] == {"value": 0.0, "error": 0.0}


def test_changes_of_basin_are_not_counted():
    task = dotphase.paper(alpha=1.0, omega=0.3)
    at = stability(dotphase.solve(task, "semantic", minimum="reached", rule=RULE, rtol=None))
    assert at.breaking.ratio is None
    assert at.symmetry == "undecided: changes of basin are not counted"
    assert at.to_dict()["replica_symmetry"]["density"] is None


def test_the_words():
    sure, jumps = (
        Estimate(0.4, 0.1),
        {"density": Estimate(0.01, 0.001), "squared_jump": Estimate(0.002, 0.0001)},
    )
    weak = Breaking(sure, 0.02, **jumps, ratio=Estimate(0.05, 0.01))
    assert weak.verdict == "weakly broken: Δ/q = 0.050 ± 0.010, below 0.5"
    assert replace(weak, ratio=Estimate(0.9, 0.1)).verdict == "broken: Δ/q = 0.90 ± 0.10, above 0.5"
    assert replace(weak, regular=Estimate(1.3, 0.1)).verdict == "broken: replicon 1.30 ± 0.10"
    assert (
        replace(weak, regular=Estimate(0.9, 0.1)).verdict
        == "undecided: replicon 0.90 ± 0.10, within two errors of one"
    )
    assert replace(weak, ratio=None).verdict == "undecided: 2.00% of samples have several minima"
    assert Breaking(sure, 0.0, Estimate(0.0), None, Estimate(0.0)).verdict == "replica symmetric"
