"""The published method as its authors ran it."""

from math import gamma

import numpy as np
import pytest

from dotphase import paper
from dotphase.comparison.published import bfgs, planar, published


def test_the_planar_rule_is_exact_up_to_degree_seven_and_no_further():
    nodes, weights = planar()
    moment = lambda k: 0.0 if k % 2 else 2 ** (k / 2) * gamma((k + 1) / 2) / np.sqrt(np.pi)
    off = lambda a, b: abs((nodes[0] ** a * nodes[1] ** b) @ weights - moment(a) * moment(b))
    assert max(off(a, b) for a in range(8) for b in range(8 - a)) < 1e-11
    assert max(off(a, 8 - a) for a in range(9)) > 0.1


@pytest.mark.parametrize(
    ("branch", "wanted"), [("positional", (-2.2, 0.4)), ("semantic", (-0.5, 0.0))]
)
def test_it_ends_a_few_per_cent_off_where_averages_converge(branch, wanted):
    """Per cent in q and in m or θ at α = 2, against converged averages; the published curves are
    off by as much."""
    converged = {"positional": (0.0511, 0.2583), "semantic": (0.1148, 0.1581)}[branch]
    (q, m, _, theta), _, iterations = published(paper(2.0, 0.3), branch)
    found = np.array([q, abs(m) + abs(theta)]) / converged - 1
    assert np.abs(100 * found - wanted).max() < 0.3
    assert iterations < 100


def test_both_minimisers_find_the_same_minima():
    from dotphase.comparison.published import Task, _own_share, _rule, descend

    task, (nodes, _) = Task.of(paper(2.0, 0.3)), _rule()
    w, u = np.array([[0.26], [-0.26]]) + 0.22 * nodes[:2, ::4], 0.5 * nodes[2:, ::4]
    T = (1 - task.omega) * _own_share(u) + task.omega * task.diagonal
    one, other = (inner(w, T, 11.5, task.variance) for inner in (bfgs, descend))
    assert (np.abs(one - other).max(0) < 1e-3).mean() > 0.95


def test_other_tasks_are_refused():
    with pytest.raises(ValueError, match="symmetric under exchange"):
        published(paper(positional="alternative"), "semantic")
    with pytest.raises(ValueError, match="the paper's task"):
        published(paper(student_rank=2), "semantic")
    with pytest.raises(ValueError, match="starts for positional and semantic"):
        published(paper(), "uninformed")
