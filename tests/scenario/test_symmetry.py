"""The symmetries a scenario is found to have are those it has."""

import numpy as np

from dotphase import attentions
from dotphase.scenario.attentions.attention import Attention
from dotphase.scenario.attentions.symmetry import symmetries
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
