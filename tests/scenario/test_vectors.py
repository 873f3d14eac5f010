"""Positions from vectors, fewer groups of directions, and what objects show of themselves."""

import numpy as np
import pytest

import dotphase
from dotphase.scenario import Tokens, in_groups

RNG = np.random.default_rng(3)
D = 60


def rotation():
    return np.linalg.qr(RNG.standard_normal((D, D)))[0]


def test_vectors_keep_their_scalar_products_in_any_basis():
    p = RNG.standard_normal((3, D))
    for positions in (
        dotphase.Positions.from_vectors(p),
        dotphase.Positions.from_vectors(p, rotation()),
    ):
        np.testing.assert_allclose(positions.tau.T @ positions.tau / D, p @ p.T, atol=1e-12)


def test_an_instance_gives_the_vectors_back():
    p, basis = RNG.standard_normal((2, D)), rotation()
    tokens = Tokens(np.repeat(np.linspace(0.1, 0.4, D)[:, None], 2, axis=1))
    positions = dotphase.Positions.from_vectors(p, basis)
    scenario = dotphase.paper().vary(tokens=tokens, positions=positions)
    np.testing.assert_allclose(dotphase.sample(scenario, d=D).positions, p @ basis, atol=1e-12)


@pytest.mark.parametrize("groups", [1, 4, 60])
def test_groups_of_directions_lose_no_encoding(groups):
    """Random encodings change sign from direction to direction: a mean over a group would lose them."""
    p = RNG.standard_normal((2, D)) / np.sqrt(D)
    tokens = Tokens(RNG.uniform(0.1, 0.5, (D, 2)))
    few, positions = in_groups(tokens, dotphase.Positions.from_vectors(p), groups)
    assert len(few.share) <= 2 * groups
    gram = np.einsum("k,kl,km->lm", few.share, positions.tau, positions.tau)
    np.testing.assert_allclose(gram, p @ p.T, atol=1e-12)
    np.testing.assert_allclose(few.share @ few.gamma, tokens.gamma.mean(0), rtol=1e-12)
    lost = np.mean(dotphase.Positions.from_vectors(p).tau.reshape(1, D, 2).mean(1) ** 2)
    assert lost < 0.2 * np.trace(gram)


def test_as_many_groups_as_directions_change_no_answer():
    p = RNG.standard_normal((2, 6))
    tokens = Tokens(np.linspace(0.1, 0.5, 12).reshape(6, 2))
    positions = dotphase.Positions.from_vectors(p)
    scenario = dotphase.paper().vary(tokens=tokens, positions=positions)
    few, fewer = in_groups(tokens, positions, 6)
    other = scenario.vary(tokens=few, positions=fewer)
    rule = dotphase.Sobol(1024)
    one, two = (dotphase.solve(s, "positional", rule=rule, rtol=None) for s in (scenario, other))
    assert one.test_error.value == pytest.approx(two.test_error.value, rel=1e-6)


def test_wrong_vectors_are_refused_by_name():
    make = dotphase.Positions.from_vectors
    with pytest.raises(ValueError, match=r"^p: "):
        make([1.0, 2.0])
    with pytest.raises(ValueError, match=r"^basis: expected shape"):
        make(np.ones((2, 5)), np.eye(4))
    with pytest.raises(ValueError, match=r"^basis: its columns"):
        make(np.ones((2, 5)), 2 * np.eye(5))
    with pytest.raises(ValueError, match=r"^positions: expected 3 rows"):
        in_groups(Tokens(np.ones((3, 2))), dotphase.Positions([[1.0, -1.0]]), 2)


def test_a_covariance_of_many_dimensions_is_not_taken_for_many_tokens():
    with pytest.raises(ValueError, match=r"\(3, 50, 50\) means 50 correlated tokens.*\(L, d, d\)"):
        Tokens(covariances=np.stack([np.eye(50)] * 3))


def test_parts_are_exchanged_together():
    tokens, positions = Tokens(np.ones((3, 2))), dotphase.Positions(np.ones((3, 2)))
    scenario = dotphase.paper().vary(tokens=tokens, positions=positions)
    more = Tokens(np.ones((5, 2))), dotphase.Positions(np.ones((5, 2)))
    changed = scenario.vary(positions=more[1], tokens=more[0], sigma=0.5)
    assert len(changed.positions.tau) == 5
    assert changed.tokens.deviation == pytest.approx(0.5)


@pytest.mark.parametrize(
    "made",
    [
        dotphase.paper(),
        dotphase.paper().tokens,
        dotphase.scenario.correlated(3, 0.5, 0.2),
        dotphase.Positions(np.ones((200, 2))),
        dotphase.attentions.heads(2),
        dotphase.paper().teacher,
        dotphase.Estimate(0.25, 0.01, 8),
        dotphase.sample(dotphase.paper(), d=20),
    ],
    ids=lambda made: type(made).__name__,
)
def test_objects_show_themselves_in_a_line_and_in_a_notebook(made):
    text = repr(made)
    assert len(text) < 130
    assert "\n" not in text
    assert "object at 0x" not in text
    if not isinstance(made, dotphase.Positions):
        assert made._repr_html_().startswith("<")
