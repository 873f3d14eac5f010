"""Branches: continuation, where a branch ends, and fixed points without duplicates."""

import numpy as np
import pytest

import dotphase
from dotphase.numerics.rules import Sobol
from dotphase.theory.branches.continuation import follow
from dotphase.theory.branches.search import find_fixed_points
from dotphase.theory.branches.spinodals import _present, spinodal

RULE = Sobol(2**12)


def test_following_gives_what_solving_afresh_gives():
    """Continuation and a named start lead to one fixed point, within a fraction of its error."""
    followed = follow(dotphase.paper(omega=0.3), [2.0, 1.7, 1.4], rule=RULE)
    afresh = dotphase.solve(dotphase.paper(alpha=1.4, omega=0.3), "semantic", rule=RULE, rtol=None)
    assert [s.outcome for s in followed] == ["converged"] * 3
    assert (
        abs(followed[-1].test_error.value - afresh.test_error.value) < 0.2 * afresh.test_error.error
    )


def test_a_branch_that_ends_is_in_the_list_with_its_reason():
    followed = follow(dotphase.paper(omega=0.3), [1.2, 0.5, 0.35], rule=Sobol(2**13))
    assert [_present(s, "semantic") for s in followed] == [True, False, False]
    assert followed[2].outcome == "collapsed"
    assert "θ" in followed[2].reason


def test_end_of_the_semantic_branch():
    """The branch exists above its end and not below, on the nodes that located it."""
    found = spinodal(dotphase.paper(omega=0.1), between=(0.3, 1.0), precision=0.04, rule=RULE)
    assert found.outcome in ("located", "imprecise")
    above, below = found.location.value + 4 * found.location.error + 0.1, found.location.value - 0.2
    ends = follow(dotphase.paper(omega=0.1), [above, below], rule=RULE)
    assert ends[0].mechanism == "semantic"
    assert ends[1].mechanism != "semantic"


def test_a_branch_without_end_is_said():
    found = spinodal(dotphase.paper(omega=0.3), between=(1.5, 2.0), rule=RULE)
    assert found.outcome == "absent"
    assert "does not end" in found.reason


@pytest.mark.slow
def test_a_branch_that_ends_upwards_is_located_too():
    """Too large a ridge makes all weights vanish: the branch lies below its end."""
    task = dotphase.paper(alpha=1.0, omega=0.3)
    found = spinodal(
        task, "positional", along="lambda", between=(0.03, 0.2), precision=0.04, rule=RULE, scan=3
    )
    assert found.outcome == "located"
    assert found.reason == "the positional branch lies below"
    end = float(found.location.value)
    below, above = (
        dotphase.solve(task.vary(ridge=r), "positional", rule=RULE, rtol=None)
        for r in (0.8 * end, 1.2 * end)
    )
    assert below.ok
    assert below.mechanism == "positional"
    assert above.outcome == "collapsed"
    assert "all weights vanish" in above.reason


def test_fixed_points_without_duplicates():
    found = find_fixed_points(dotphase.paper(alpha=2.0, omega=0.3), rule=RULE)
    assert [s.mechanism for s in found] == ["semantic", "positional", "uninformed"]
    losses = [float(s.train_loss.value) for s in found]
    assert losses == sorted(losses)
    assert all(np.isfinite(s.train_loss.error) for s in found)


def test_images_under_symmetries_are_one_fixed_point():
    task = dotphase.paper(alpha=2.0, omega=0.3)
    positional = dotphase.solve(task, "positional", rule=RULE, rtol=None).overlaps
    found = find_fixed_points(task, rule=RULE, extra=[positional._replace(m=-positional.m)])
    assert sum(s.mechanism == "positional" for s in found) == 1
