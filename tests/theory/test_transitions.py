"""Transitions: located with honest errors, and absent where there is none."""

import numpy as np
import pytest

import dotphase
from dotphase.numerics.rules import Sobol
from dotphase.theory.branches.continuation import follow
from dotphase.theory.branches.node_sets import once_each, scan_points
from dotphase.theory.branches.phases import phase, phase_of
from dotphase.theory.branches.roots import Absent, Difference, coarse_root
from dotphase.theory.branches.transitions import critical, critical_line

RULE = Sobol(2**13)


def within(estimate, expected: float, error: float = 0.0) -> bool:
    """Whether an estimate agrees with a number within three standard errors."""
    return abs(estimate.value - expected) < 3 * np.hypot(estimate.error, error)


def test_alpha_c_and_alpha_l_agree_with_independent_nodes():
    """Two independent scrambles of few nodes against a third of many: within three combined errors."""
    task = dotphase.paper(omega=0.3)
    for kind, between, reference in (
        ("train-loss", (1.1, 1.45), 1.253),
        ("linear", (1.4, 1.6), 1.492),
    ):
        found = critical(
            task, kind, between=between, budget=2**13, rule=Sobol(2**13, seed=5), scan=2
        )
        assert found.outcome in ("located", "imprecise")
        assert found.evaluations > 0
        assert within(found.location, reference, 0.004), (kind, found)


def test_remarks_of_several_node_sets_are_one_sentence_each():
    missing = [f"the branch is missing at {n} values from 0.5 to {0.6 + n / 100}" for n in (8, 9)]
    found = once_each([missing[0], "it ends", missing[1], "it ends"])
    assert found == [f"{missing[0]} (other node sets: similar numbers)", "it ends"]
    assert once_each(missing[:1] * 4) == missing[:1]


def test_at_the_transition_the_difference_vanishes():
    found = critical(
        dotphase.paper(omega=0.3), "linear", between=(1.4, 1.6), budget=2**13, rule=RULE, scan=2
    )
    task = dotphase.paper(alpha=found.location.value, omega=0.3)
    semantic = dotphase.solve(task, "semantic", rule=RULE, rtol=None).test_error
    baseline = dotphase.linear_baseline(task).test_error
    assert abs(semantic.value - baseline.value) < 0.2 * semantic.error


def test_quoted_errors_are_the_scatter_over_scrambles():
    task, found = dotphase.paper(omega=0.3), []
    for seed in range(6):
        rule = Sobol(2**12, seed=seed)
        found.append(
            critical(task, "linear", between=(1.3, 1.7), budget=2**12, rule=rule, scan=2).location
        )
    scatter, quoted = (
        np.std([f.value for f in found], ddof=1),
        np.sqrt(np.mean([f.error**2 for f in found])),
    )
    assert 0.35 < scatter / quoted < 2.5


def test_no_transition_is_said_and_why():
    found = critical(dotphase.paper(omega=0.3), "train-loss", between=(1.8, 2.0), rule=RULE, scan=2)
    assert found.outcome == "absent"
    assert "the semantic branch has the lower training loss throughout" in found.reason
    gone = critical(dotphase.paper(omega=0.3), "linear", between=(0.3, 0.5), rule=RULE, scan=2)
    assert "the semantic branch is missing" in gone.reason


def test_along_another_parameter():
    """At α = 1.25 the training losses cross at about ω = 0.3 too: one line, cut the other way."""
    found = critical(
        dotphase.paper(alpha=1.253),
        along="omega",
        between=(0.26, 0.34),
        budget=2**13,
        rule=RULE,
        scan=2,
    )
    assert within(found.location, 0.3, 0.001), found


def test_a_line_is_traced_in_order():
    between = (0.6, 1.3)
    line = critical_line(
        dotphase.paper(), "train-loss", [0.1, 0.2], between=between, budget=2**13, rule=RULE, scan=4
    )
    assert line[0].location.value < line[1].location.value


def test_where_a_small_m_begins_to_grow_on_the_semantic_branch():
    """ω = 0.3: above the onset the semantic point is stable against m, below it is not, on other
    nodes."""
    task = dotphase.paper(omega=0.3)
    found = critical(
        task, "instability", between=(0.7, 1.0), rule=Sobol(2**14), precision=0.04, scan=4
    )
    assert found.outcome in ("located", "imprecise"), found
    assert within(found.location, 0.8125, 0.006), found  # four node sets of 2^15, seeds 0 to 3
    sides = [found.location.value + side for side in (0.06, -0.03)]
    above, below = follow(task, sides, rule=Sobol(2**15, seed=9))
    assert above.stability.leading["m"].value.real < 1 < below.stability.leading["m"].value.real


def test_what_is_stable_throughout_has_no_onset():
    """ω = 0.3: a small θ does not grow on the positional branch, and replica symmetry holds on it."""
    task, options = (
        dotphase.paper(omega=0.3),
        {"between": (1.0, 2.0), "start": "positional", "scan": 2},
    )
    theta = critical(task, "instability", rule=RULE, **options)
    assert theta.outcome == "absent"
    assert "the eigenvalue along θ of the positional branch is below one throughout" in theta.reason
    replicon = critical(task, "replicon", rule=RULE, **options)
    assert replicon.outcome == "absent"
    assert "the replicon of the positional branch is below one" in replicon.reason


def test_the_end_of_a_branch_is_a_line():
    """The semantic branch ends at larger α, the more positional the teacher is."""
    options = {"between": (0.25, 1.6), "precision": 0.1, "rule": Sobol(2**12), "scan": 5}
    near, far = critical_line(dotphase.paper(), "spinodal", [0.1, 0.45], **options)
    assert near.name == far.name == "spinodal"
    assert (
        near.location.value + 3 * np.hypot(near.location.error, far.location.error)
        < far.location.value
    )


def test_a_change_of_sign_beside_the_end_of_a_branch_is_found():
    """D(p) = p − 0.42 on a branch that exists above 0.4, scanned at points of which none lies
    between."""

    class Made(Difference):
        def __call__(self, p, rule):
            return (p - 0.42 if p > 0.4 else np.nan), np.full(8, 1e-3)

    made = Made(
        dotphase.paper(),
        "sample_ratio",
        ("semantic",),
        lambda found: (0.0, np.zeros(8)),
        ("below", "above"),
    )
    assert coarse_root(made, scan_points((0.1, 1.0), 4), RULE, 1e-6) == pytest.approx(
        0.42, abs=1e-5
    )
    with pytest.raises(Absent, match="above throughout"):
        coarse_root(made, scan_points((0.5, 1.0), 4), RULE, 1e-6)


def test_a_narrow_window_in_which_both_branches_exist_is_found():
    """D(p) = p − 0.42 where the semantic branch exists above 0.4 and the positional one below 0.47."""

    class Made(Difference):
        def __call__(self, p, rule):
            start = "semantic" if p < 0.4 else "positional" if p > 0.47 else None
            if start:
                self.missing.setdefault(start, {})[p] = "collapsed"
            return (np.nan if start else p - 0.42), np.full(8, 1e-3)

    made = Made(
        dotphase.paper(),
        "sample_ratio",
        ("semantic",),
        lambda found: (0.0, np.zeros(8)),
        ("below", "above"),
    )
    assert coarse_root(made, scan_points((0.1, 1.0), 4), RULE, 1e-6) == pytest.approx(
        0.42, abs=1e-5
    )


def test_phase_needs_no_common_nodes():
    task = dotphase.paper(alpha=2, omega=0.3)
    on = lambda branch, seed: dotphase.solve(task, branch, rule=Sobol(2**13, seed=seed), rtol=None)
    paired, apart = (
        phase_of([on("semantic", 0), on("positional", 0)]),
        phase_of([on("semantic", 0), on("positional", 1)]),
    )
    assert paired.winner == apart.winner == "semantic"
    assert apart.margin.error == pytest.approx(
        np.hypot(*(s.train_loss.error for s in apart.solutions))
    )


def test_phase_says_who_wins_and_when_it_does_not_know():
    assert phase(dotphase.paper(alpha=2, omega=0.3), rule=RULE).winner == "semantic"
    few = phase(dotphase.paper(alpha=0.9, omega=0.3), rule=RULE)
    assert few.winner == "positional"
    assert few.margin.value > 2 * few.margin.error > 0
    assert few.solutions[0].branch == "positional"
    assert phase(dotphase.paper(alpha=1.253, omega=0.3), rule=RULE).winner == "undecided"


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="expected one of train-loss, linear"):
        critical(dotphase.paper(), "magic")
    with pytest.raises(ValueError, match="not a number of this scenario"):
        critical(dotphase.paper(), along="colour")
    with pytest.raises(ValueError, match="between"):
        critical(dotphase.paper(), between=(2.0, 1.0))
    with pytest.raises(ValueError, match="start"):
        critical(dotphase.paper(), "instability", start="mystic")
    with pytest.raises(ValueError, match="direction"):
        critical(dotphase.paper(), "instability", direction="up")


def test_the_budget_need_not_be_a_power_of_two():
    options = {"between": (1.3, 1.7), "rule": Sobol(2**9), "scan": 2}
    found = critical(dotphase.paper(omega=0.3), "linear", budget=1500, precision=1e-6, **options)
    assert found.outcome == "imprecise"
    assert found.nodes == 2**10
