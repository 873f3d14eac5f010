"""Correlated tokens and random scales: what is accepted, refused, compared and written."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

from dotphase import Scales, Tokens, attentions, paper
from dotphase.results.archive import load, save
from dotphase.scenario import correlated, exponential_correlation, isotropic
from dotphase.scenario.attentions.symmetry import symmetries
from dotphase.scenario.files import (
    scenario_from_tables,
    scenario_from_toml,
    scenario_to_tables,
    scenario_to_toml,
)
from dotphase.scenario.tokens import Positions

GAMMA = [[[0.25, 0.1], [0.1, 0.25]], [[0.5, -0.2], [-0.2, 0.4]]]
TWO = Scales(np.sqrt([0.4, 1.6]))


def test_a_diagonal_covariance_is_the_same_as_its_eigenvalues():
    by_matrix = Tokens(covariances=[np.diag([0.25, 0.25]), np.diag([0.1, 1.0])], weights=[3, 1])
    by_eigenvalues = Tokens([[0.25, 0.25], [0.1, 1.0]], [3, 1])
    assert by_matrix == by_eigenvalues
    assert not by_matrix.joint
    assert correlated(2, 0.5, 0.0) == isotropic(2, 0.5)
    positions = Positions([[1.0, -1.0], [1.0, -1.0]])
    one, two = (
        paper().vary(tokens=tokens, positions=positions) for tokens in (by_matrix, by_eigenvalues)
    )
    assert one == two
    assert one.structure == two.structure
    assert not one.structure.joint
    np.testing.assert_array_equal(by_matrix.Gamma[1], np.diag([0.1, 1.0]))


def test_covariances_give_the_law_its_matrices():
    tokens = Tokens(covariances=GAMMA, weights=[0.75, 0.25])
    scenario = paper().vary(tokens=tokens, positions=Positions([[1.0, -1.0], [1.0, -1.0]]))
    distribution = scenario.distribution
    assert tokens.joint
    assert scenario.structure.joint
    assert scenario.structure.shape == (1, 2, 2)
    np.testing.assert_allclose(
        distribution.mean_Gamma, 0.75 * np.array(GAMMA[0]) + 0.25 * np.array(GAMMA[1])
    )
    np.testing.assert_allclose(distribution.joint_rho[..., 0, 0], distribution.mean_Gamma)
    np.testing.assert_allclose(distribution.mean_gamma, np.diagonal(distribution.mean_Gamma))
    # Directions with the same diagonal and another correlation are of another kind.
    apart = Tokens(covariances=[[[1, 0.3], [0.3, 1]], [[1, -0.3], [-0.3, 1]]])
    assert (
        paper().vary(tokens=apart, positions=Positions([[1.0, -1.0]])).structure.direction_groups
        == 2
    )


def test_the_deviation_varies_and_correlation_stays():
    scenario = paper().vary(tokens=correlated(2, 0.5, 0.3))
    wider = scenario.vary(sigma=1.0)
    np.testing.assert_allclose(wider.tokens.Gamma[0], [[1, 0.3], [0.3, 1]])
    scaled = paper().vary(tokens=replace(isotropic(2, 0.5), scales=TWO)).vary(sigma=2.0)
    assert scaled.tokens.scales == TWO
    assert scaled.structure.scaled


def test_exponential_correlation_falls_by_a_factor():
    np.testing.assert_allclose(
        exponential_correlation(3, 0.5), [[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]
    )
    np.testing.assert_allclose(exponential_correlation(3, -0.5)[0], [1, -0.5, 0.25])
    assert np.linalg.eigvalsh(exponential_correlation(6, -0.9)).min() > 0


def test_scales_have_a_mean_square_of_one():
    scales = Scales([3.0, 1.0], [1, 3])
    assert scales.share @ scales.s**2 == pytest.approx(1, abs=1e-14)
    assert scales.s[1] / scales.s[0] == pytest.approx(3)
    joint = Scales([[1.0, 5.0], [2.0, 2.0]], [0.5, 0.5])
    np.testing.assert_allclose(joint.share @ joint.s**2, 1)
    assert Scales(scales.s, scales.share) == scales  # nothing moves when it is normalised already
    values, weights = TWO.outcomes(2)
    assert len(values) == 4
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        np.einsum("n,nl,nk->lk", weights, values, values), TWO.second_moment(2)
    )
    assert not joint.independent
    assert joint.dimension(2) == 1
    assert TWO.dimension(2) == 2


def test_scales_of_one_are_none():
    assert replace(isotropic(2, 0.5), scales=Scales([2.0, 2.0])) == isotropic(2, 0.5)


def test_scales_are_drawn_from_their_law():
    joint = Scales([[0.5, 2.0], [1.0, 1.0], [2.0, 0.5]], [0.2, 0.5, 0.3])
    drawn = joint.draw(np.random.default_rng(0), 40_000, 2)
    assert drawn.shape == (2, 40_000)
    for row, weight in zip(joint.s, joint.share, strict=True):
        seen = (drawn == row[:, None]).all(0).mean()
        assert abs(seen - weight) < 4 * np.sqrt(weight * (1 - weight) / 40_000)
    alone = TWO.draw(np.random.default_rng(0), 40_000, 3)
    assert abs(np.corrcoef(alone)[0, 1]) < 4 / np.sqrt(40_000)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tokens(), "give `eigenvalues`"),
        (lambda: Tokens([[1.0, 1.0]], covariances=GAMMA), "give `eigenvalues`"),
        (lambda: Tokens(covariances=[[[1.0, 0.5], [0.2, 1.0]]]), "symmetric"),
        (lambda: Tokens(covariances=[[[1.0, 2.0], [2.0, 1.0]]]), "positive semi-definite"),
        (lambda: Tokens(covariances=[[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), "(K, L, L)"),
        (lambda: Tokens(covariances=[[[1.0, np.nan], [np.nan, 1.0]]]), "finite"),
        (
            lambda: paper().vary(tokens=Tokens(covariances=[[[1.0, 1.0], [1.0, 1.0]]])),
            "copies of one another",
        ),
        (lambda: correlated(2, 0.5, [[2.0, 0.0], [0.0, 1.0]]), "ones on the diagonal"),
        (lambda: exponential_correlation(3, 1.0), "between -1 and 1"),
        (lambda: Scales([]), "got shape"),
        (lambda: Scales([1.0, 0.0]), "positive"),
        (lambda: Scales([1.0, 2.0], [1.0]), "one per scale"),
        (lambda: Scales([1.0, 2.0], [0.0, 0.0]), "all zero"),
        (lambda: replace(isotropic(3), scales=Scales([[1.0, 2.0]])), "of 2 tokens"),
        (lambda: replace(isotropic(3), scales=[1.0, 2.0]), "expected Scales"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(ValueError, match=rf"^[^\n]*{re.escape(words)}[^\n]*$"):
        make()


def three(**tokens):
    A = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    parts = {
        "teacher": attentions.mixture(A, 0.3),
        "tokens": Tokens(**tokens),
        "positions": Positions(np.zeros((1, 3))),
    }
    return replace(paper(), **parts)


def orders(scenario):
    return {g.order for g in symmetries(scenario)}


def test_a_permutation_of_tokens_has_to_leave_their_correlation_alone():
    assert len(orders(three(eigenvalues=[[0.25] * 3]))) == 6
    assert len(orders(three(covariances=[0.25 * correlated(3, 1.0, 0.3).Gamma[0]]))) == 6
    chain = three(covariances=[0.25 * exponential_correlation(3, 0.4)])
    assert orders(chain) == {(0, 1, 2), (2, 1, 0)}
    # Two kinds that a permutation exchanges are left alone together, if they have equal shares.
    kinds = [[[1, 0.3, 0], [0.3, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0.3], [0, 0.3, 1]]]
    assert orders(three(covariances=kinds)) == {(0, 1, 2), (2, 1, 0)}
    assert orders(three(covariances=kinds, weights=[0.4, 0.6])) == {(0, 1, 2)}


def test_a_permutation_of_tokens_has_to_leave_the_law_of_scales_alone():
    plain = {"eigenvalues": [[0.25] * 3]}
    assert len(orders(three(**plain, scales=TWO))) == 6
    assert len(orders(three(**plain, scales=Scales([[1.0] * 3, [2.0] * 3])))) == 6
    assert orders(three(**plain, scales=Scales([[1, 2, 1], [2, 1, 2]]))) == {(0, 1, 2), (2, 1, 0)}
    assert orders(three(**plain, scales=Scales([[1, 2, 3], [3, 1, 2]]))) == {(0, 1, 2)}


SCENARIOS = [
    paper().vary(tokens=correlated(2, 0.5, -0.3)),
    paper().vary(tokens=replace(isotropic(2, 0.5), scales=TWO)),
    paper().vary(
        tokens=replace(correlated(2, 0.5, 0.3), scales=Scales([[1.0, 2.0], [3.0, 1.0]], [0.3, 0.7]))
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_files_archives_and_pickles_give_it_back(scenario, tmp_path):
    assert scenario_from_toml(scenario_to_toml(scenario)) == scenario
    assert scenario_from_tables(scenario_to_tables(scenario)) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert hash(pickle.loads(pickle.dumps(scenario))) == hash(scenario)
    save(scenario.tokens, tmp_path / "tokens.dotphase")
    assert load(tmp_path / "tokens.dotphase") == scenario.tokens


def test_a_file_may_say_it_briefly():
    tables = scenario_to_tables(paper())
    tables["tokens"] = {
        "length": 2,
        "sigma": 0.5,
        "correlation": -0.3,
        "scales": {"values": [0.6, 1.3]},
    }
    built = scenario_from_tables(tables)
    assert built.tokens == replace(correlated(2, 0.5, -0.3), scales=Scales([0.6, 1.3]))
    assert "correlated" in str(built)
    assert "2 scales" in str(built)
    for wrong, words in (
        ({"length": 2, "covariances": GAMMA}, "give `eigenvalues`"),
        ({"eigenvalues": [[1.0, 1.0]], "correlation": 0.3}, "give `eigenvalues`"),
        ({"length": 2, "scales": {"values": [1.0], "wieghts": [1.0]}}, "wieghts"),
        ({"length": 2, "scales": {"values": [-1.0, 2.0]}}, "positive"),
    ):
        with pytest.raises(ValueError, match=words):
            scenario_from_tables({**tables, "tokens": wrong})
