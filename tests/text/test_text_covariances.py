"""Covariances that need not commute: what a common eigenbasis neglects, and what that changes."""

from dataclasses import replace

import numpy as np
import pytest

import dotphase
from dotphase.text import tokens_from_covariances, tokens_from_samples

D = 40
SPECTRUM = 0.4 / np.arange(1, D + 1) ** 0.7


def turned(angle):
    """Covariances of two tokens with eigenbases turned against each other in every plane (2k, 2k+1)."""
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    turn = lambda sign: np.kron(np.eye(D // 2), np.array([[c, -sign * s], [sign * s, c]]))
    return np.stack([turn(sign) @ np.diag(SPECTRUM) @ turn(sign).T for sign in (1, -1)])


def test_commuting_covariances_are_exact():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    gamma = np.stack([SPECTRUM, SPECTRUM[::-1] / 2])
    found = tokens_from_covariances((basis * gamma[:, None]) @ basis.T)
    assert found.neglected.max() < 1e-7  # the square is a difference of equal numbers
    np.testing.assert_allclose(
        np.sort(found.tokens.gamma, axis=0), np.sort(gamma.T, axis=0), atol=1e-12
    )


def test_what_is_neglected_is_the_off_diagonal_part():
    """In a plane, ½(λ₁ − λ₂) sin(angle) is off the diagonal in the basis between the two."""
    angle = 0.5
    first, second = SPECTRUM[::2], SPECTRUM[1::2]
    expected = np.sqrt(
        2 * ((0.5 * (first - second) * np.sin(angle)) ** 2).sum() / (SPECTRUM**2).sum()
    )
    found = tokens_from_covariances(turned(angle))
    np.testing.assert_allclose(found.neglected, expected, rtol=1e-10)
    assert f"{100 * expected:.2g}" in found.headline


def scenario_of(found):
    tokens, positions = found.tokens, dotphase.Positions(np.tile([1.0, -1.0], (D, 1)))
    return dotphase.paper(alpha=2, omega=0.3).vary(tokens=tokens, positions=positions)


def test_no_effect_where_nothing_is_neglected():
    exact = tokens_from_covariances(np.stack([np.diag(SPECTRUM)] * 2))
    assert abs(exact.effect(scenario_of(exact), seeds=2).value) < 1e-9


def test_an_effect_is_measured_with_its_error():
    """Tokens of half the variance have another test error than the sentences as given."""
    exact = tokens_from_covariances(np.stack([np.diag(SPECTRUM)] * 2))
    wrong = replace(exact, tokens=exact.tokens.scaled_to(exact.tokens.deviation / np.sqrt(2)))
    effect = wrong.effect(scenario_of(wrong), seeds=6)
    assert effect.count == 6
    assert effect.value > 3 * effect.error > 0


def test_wrong_covariances_are_refused():
    for wrong, says in (
        (np.eye(3), "S: expected"),
        (np.ones((2, 3, 4)), r"S: expected covariances of shape \(L, d, d\)"),
        (np.array([[[1.0, 2.0], [0.0, 1.0]]]), "S: every covariance must be symmetric"),
        (np.array([[[1.0, 2.0], [2.0, 1.0]]]), "S: the covariance of token 0 must be positive"),
    ):
        with pytest.raises(ValueError, match=rf"^{says}"):
            tokens_from_covariances(wrong)
    found = tokens_from_covariances(turned(0.1))
    with pytest.raises(ValueError, match=r"^scenario: its tokens"):
        found.effect(dotphase.paper())


def gaussian(kind, n=3000):
    rng = np.random.default_rng(5)
    normals = rng.standard_normal((n, 2, D))
    if kind == "different spectra":
        return normals * np.sqrt(np.stack([1 / np.arange(1, D + 1.0), np.ones(D)]))
    if kind == "turned":
        bases = [np.linalg.qr(rng.standard_normal((D, D)))[0] for _ in range(2)]
        steep = np.sqrt(1 / np.arange(1, D + 1.0) ** 1.2)
        return np.stack([normals[:, l] * steep @ bases[l] for l in range(2)], axis=1)
    return normals


@pytest.mark.parametrize("kind", ["isotropic", "different spectra", "turned"])
def test_gaussian_sentences_have_one_length(kind):
    assert tokens_from_samples(gaussian(kind)).tokens.scales is None


def test_lengths_that_vary_are_seen():
    x = gaussian("different spectra")
    x *= np.random.default_rng(6).choice([0.7, 1.3], size=(len(x), 2, 1))
    assert tokens_from_samples(x).tokens.scales is not None


def test_a_shared_basis_is_found_where_the_mean_has_equal_eigenvalues():
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((6, 6)))[0]
    gamma = np.array([[2.0, 2, 2, 1, 1, 1], [1, 1, 1, 2, 2, 2]])
    found = tokens_from_covariances((basis * gamma[:, None]) @ basis.T)
    assert found.neglected.max() < 1e-7
    rows = sorted(map(tuple, np.round(found.tokens.gamma, 9).tolist()))
    assert rows == [(1, 2)] * 3 + [(2, 1)] * 3
