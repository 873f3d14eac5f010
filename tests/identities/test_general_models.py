"""Beyond two tokens and rank one: several spectra, matrix overlaps, untied attention, and the
gauge."""

import numpy as np
import pytest

from dotphase import attentions
from dotphase.numerics.rules import Sobol
from dotphase.overlaps.overlaps import Overlaps
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens, isotropic, opposite_positions
from dotphase.theory.solver.solve import solve

A = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]


def three_tokens(student):
    tokens = Tokens([[0.3, 0.2, 0.25], [0.15, 0.5, 0.2], [0.4, 0.1, 0.6]], [0.3, 0.4, 0.3])
    positions = Positions([[1.2, -0.3, -0.9], [0.2, 1.0, -1.1], [-0.5, 0.4, 0.1]])
    return Scenario(attentions.mixture(A, 0.3), student, tokens, positions, 2.0, 0.01)


@pytest.fixture(scope="module")
def rank_two():
    return solve(three_tokens(attentions.softmax(2)), "semantic", rtol=None)


def check_identities(found):
    assert found.ok
    assert found.residual < 1e-8
    for matrices in (found.overlaps.q, found.overlaps.V, found.conjugates.q):
        np.testing.assert_allclose(matrices, np.swapaxes(matrices, 1, 2), rtol=1e-10, atol=1e-14)
        assert np.linalg.eigvalsh(matrices).min() > 0
    rest = found.scenario.distribution.rho - np.einsum(
        "lat,lab,lbu->ltu",
        found.overlaps.theta,
        np.linalg.inv(found.overlaps.q),
        found.overlaps.theta,
    )
    assert np.linalg.eigvalsh(rest).min() > 0


def test_three_tokens_three_spectra_rank_two(rank_two):
    check_identities(rank_two)
    assert rank_two.mechanism == "semantic"


def test_rotating_the_students_columns_leaves_the_observables(rank_two):
    """Tied attention is unchanged under Q → QO: the rotated point is a solution as well, on other
    effective nodes."""
    angle = 0.6
    O = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    o = rank_two.overlaps
    rotated = Overlaps(O.T @ o.q @ O, O.T @ o.V @ O, o.m @ O, O.T @ o.theta)
    other = solve(rank_two.scenario, rotated, rule=Sobol(2**13), rtol=None)
    check_identities(other)
    assert np.abs(other.overlaps.theta[:, 1]).min() > 0.05  # it stayed in the rotated gauge
    for mine, theirs in (
        (other.test_error, rank_two.test_error),
        (other.train_loss, rank_two.train_loss),
    ):
        assert abs(mine.value - theirs.value) < 4 * np.hypot(mine.error, theirs.error)
    for name in ("q", "V"):
        traces = [np.trace(getattr(s.overlaps, name), axis1=1, axis2=2) for s in (other, rank_two)]
        np.testing.assert_allclose(*traces, rtol=0.03)


def test_untied_query_and_key():
    scenario = Scenario(
        attentions.mixture([[0.6, 0.4], [0.4, 0.6]], 0.3),
        attentions.softmax(1, tied=False),
        isotropic(2, 0.5),
        opposite_positions(),
        2.0,
        0.01,
    )
    for branch in ("semantic", "positional"):
        found = solve(scenario, branch, rtol=None)
        check_identities(found)
        assert found.mechanism == branch
