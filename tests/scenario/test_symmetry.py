"""The symmetries a scenario is found to have are those it has."""

from dataclasses import replace

import numpy as np
import pytest

from dotphase import attentions
from dotphase.scenario.attentions.attention import Attention
from dotphase.scenario.attentions.symmetry import _invariances, symmetries
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens, isotropic, no_positions, opposite_positions


def test_the_paper_has_both_signs_and_the_swap():
    found = symmetries(paper())
    assert len(found) == 8
    assert {g.order for g in found} == {(0, 1), (1, 0)}


def test_an_asymmetric_positional_matrix_breaks_the_swap():
    assert {g.order for g in symmetries(paper(positional="alternative"))} == {(0, 1)}


def test_different_spectra_break_the_swap():
    scenario = paper().vary(tokens=Tokens([[0.25, 0.3]]))
    assert {g.order for g in symmetries(scenario)} == {(0, 1)}


def test_positions_of_different_length_break_the_swap():
    scenario = paper().vary(positions=Positions([[1.0, -0.5]]))
    assert {g.order for g in symmetries(scenario)} == {(0, 1)}


def test_an_odd_attention_has_no_sign():
    odd = Attention(lambda h: np.eye(2) * h, rank=1)
    found = symmetries(Scenario(odd, odd, isotropic(2), opposite_positions(), 1.0, 0.1))
    assert {g.student for g in found} == {(1,)}


def test_correlated_teacher_and_positions_break_the_teachers_sign():
    scenario = paper().vary(teacher_weights=[[1.0]])
    assert {g.teacher for g in symmetries(scenario) if g.order == (0, 1)} == {(1,)}


def test_columns_flip_one_by_one_and_a_large_group_is_cut_to_signs():
    three = attentions.mixture(np.full((3, 3), 1 / 3), 0.5)
    found = symmetries(
        Scenario(three, attentions.softmax(2), isotropic(3), no_positions(3), 1.0, 0.1)
    )
    assert len(found) == 6 * 4 * 2
    four = attentions.mixture(np.full((4, 4), 0.25), 0.5)
    found = symmetries(
        Scenario(four, attentions.softmax(2), isotropic(4), no_positions(4), 1.0, 0.1)
    )
    assert {g.order for g in found} == {(0, 1, 2, 3)}
    assert len(found) == 8


def test_a_rare_asymmetry_is_seen_and_a_doubt_can_be_said():
    """Asymmetric at large fields only, which one in a few random fields is."""
    from dataclasses import replace

    import jax.numpy as jnp

    def lopsided(h):
        even = jnp.exp(-0.5 * h @ h.T)
        return even + jnp.where(jnp.abs(h).max() > 2.5, h, 0.0)

    student = Attention(lopsided, rank=1)
    assert {g.student for g in symmetries(paper().vary(student=student))} == {(1,)}
    doubted = replace(attentions.softmax(), symmetric=False)
    found = symmetries(paper().vary(student=doubted))
    assert {g.student for g in found} == {(1,)}
    assert {g.order for g in found} == {(0, 1)}


def test_without_symmetries_the_answer_is_the_same_within_errors():
    from dataclasses import replace

    from dotphase import solve

    task = paper(alpha=2)
    known = solve(task, "positional", rtol=None)
    doubted = solve(
        task.vary(student=replace(attentions.softmax(), symmetric=False)), "positional", rtol=None
    )
    assert doubted.outcome == "converged"
    for name in ("test_error", "train_loss", "m"):
        assert abs(getattr(doubted, name).deviation(getattr(known, name))) < 3


def _declared():
    """Attentions of the catalogue, with numbers that have a symmetry and numbers that have none."""
    even, uneven = [0.5, -0.2, 0.1, -0.2, 0.5], [0.5, -0.2, 0.1, 0.3, 0.4]
    swapped = [[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    scored = ("softmax", "linear", "tempered", "causal", "sink", "sigmoid", "relu")
    for name in scored:
        for rank, tied in ((1, True), (2, True), (1, False), (2, False)):
            yield getattr(attentions, name)(rank, tied)
    for bias in (even, uneven, np.zeros(5)):
        yield attentions.relative(1, bias=bias)
        yield attentions.relative(1, tied=False, bias=bias)
    yield from (attentions.kernel(2), attentions.heads(3, 1), attentions.heads(2, 2))
    for matrix in (swapped, np.arange(9.0).reshape(3, 3), np.full((3, 3), 0.1 + 0.2)):
        yield attentions.constant(matrix)
        for mixing in (0.0, 0.3, 1.0):
            yield attentions.mixture(matrix, mixing)
            yield attentions.mixture(matrix, mixing, attentions.causal(2))
            yield attentions.mixture(matrix, mixing, attentions.softmax(1, tied=False))


@pytest.mark.parametrize("attention", list(_declared()), ids=str)
def test_the_symmetries_an_attention_declares_are_those_that_trying_finds(attention):
    assert callable(attention.symmetric)
    assert _invariances(attention, 3) == _invariances(replace(attention, symmetric=True), 3)


def test_a_wrong_declaration_is_seen_by_trying():
    wrong = replace(attentions.causal(), symmetric=lambda order, signs: True)
    assert _invariances(wrong, 3) != _invariances(replace(wrong, symmetric=True), 3)


def test_a_mixture_with_a_users_function_is_tried():
    own = Attention(lambda h: h @ h.T, rank=1)
    assert attentions.mixture(np.eye(2), 0.5, own).symmetric is True
    assert attentions.mixture(np.eye(2), 0.5, replace(own, symmetric=False)).symmetric is False
