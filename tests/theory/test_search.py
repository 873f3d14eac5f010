"""The search for minima: saddles are left, a saddle never wins, and `mixed` is a mechanism everywhere."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dotphase
from dotphase import attentions
from dotphase.cli.app import app
from dotphase.numerics.rules import Nodes, Sobol
from dotphase.theory.branches.phases import margin_between, phase_of
from dotphase.theory.branches.rows import solve_afresh
from dotphase.theory.branches.search import find_fixed_points, is_saddle
from dotphase.theory.stability.breaking import Breaking
from dotphase.theory.stability.stability import Stability

RULE = Sobol(2**13)
RANK_TWO = dotphase.paper(alpha=2, omega=0.3).vary(student=attentions.softmax(rank=2))
TWO_HEADS = RANK_TWO.vary(student=attentions.heads(heads=2, rank=1))


@pytest.mark.parametrize("scenario", [RANK_TWO, TWO_HEADS], ids=["rank two", "two heads"])
def test_the_lowest_minimum_of_several_columns_is_mixed(scenario):
    found = dotphase.phase(scenario, rule=RULE)
    winner, *others = found.solutions
    assert found.winner == winner.mechanism == "mixed"
    assert not is_saddle(winner)
    assert sorted(winner.columns) == ["positional", "semantic"]
    pure = [s for s in others if s.mechanism in ("semantic", "positional")]
    assert len(pure) == 2
    for saddle in pure:
        assert is_saddle(saddle)
        lower = saddle.train_loss.value - winner.train_loss.value
        assert lower > 5 * RULE.error(saddle.deviations.train_loss - winner.deviations.train_loss)


def test_a_saddle_is_left_even_where_no_start_is_mixed():
    found = dotphase.phase(RANK_TWO, starts=["semantic"], rule=RULE, check=False)
    assert found.winner == "mixed"


def test_a_saddle_never_wins():
    saddles = [
        dotphase.solve(RANK_TWO, s, rule=RULE, rtol=None) for s in ("semantic", "positional")
    ]
    found = phase_of(saddles)
    assert found.winner == "unknown"
    assert "saddle" in found.reason


def test_a_minimum_above_a_saddle_is_not_called_the_lowest():
    """Where the lowest fixed point is a saddle there must be a lower minimum than those found."""
    semantic, mixed = (
        dotphase.solve(RANK_TWO, s, rule=RULE, rtol=None) for s in ("semantic", "mixed")
    )
    higher = dotphase.results.Estimate(semantic.train_loss.value + 1e-3, mixed.train_loss.error)
    found = phase_of([semantic, _with_loss(mixed, higher)])
    assert found.winner == "undecided"
    assert "saddle lies below" in found.reason


def _with_loss(solution, loss):
    from dataclasses import replace

    changed = replace(solution, train_loss=loss)
    changed.__dict__["stability"] = solution.stability
    return changed


def test_at_rank_one_nothing_changes():
    for alpha, winner in ((2.0, "semantic"), (1.0, "positional")):
        found = dotphase.phase(dotphase.paper(alpha=alpha, omega=0.3), rule=RULE)
        assert found.winner == winner
        assert len(found.solutions) == 2


def test_all_fixed_points_contain_the_minimum_and_its_saddles():
    found = find_fixed_points(RANK_TWO, rule=Sobol(2**12))
    assert found[0].mechanism == "mixed"
    assert not is_saddle(found[0])
    assert {"semantic", "positional"} <= {s.mechanism for s in found if is_saddle(s)}


def test_branches_of_several_columns_have_the_mixed_one():
    found = dotphase.branches(RANK_TWO, [1.0, 2.0], rule=RULE, rtol=None)
    assert list(found.solutions) == ["semantic", "positional", "mixed"]
    assert [phase.winner for phase in found.phases] == ["mixed", "mixed"]


SMALL = ["--student", "softmax:rank=2", "--alpha", "2", "--omega", "0.3", "--json"]


@pytest.mark.parametrize(
    "command",
    [
        ["solve", "--start", "mixed", "--rtol", "0.05"],
        ["phase", "--nodes", "4096"],
        ["branches", "--values", "2", "--rtol", "0.05"],
        ["train", "--start", "mixed", "--d", "40", "--seeds", "1"],
        ["gamp", "--start", "mixed", "--d", "40", "--seeds", "1", "--iterations", "3"],
        ["dynamics", "--start", "mixed", "--until", "1"],
    ],
    ids=lambda command: command[0],
)
def test_mixed_is_a_word_of_every_command(command):
    answer = CliRunner().invoke(app, [*command, *SMALL])
    assert answer.exit_code in (0, 3), answer.output
    json.loads(answer.stdout)
    if command[0] in ("solve", "phase", "branches"):
        assert "mixed" in answer.stdout


def test_a_mixed_start_of_training_has_both_signals():
    runs = dotphase.train(RANK_TWO, d=200, start="mixed", seeds=2)
    for run in runs.runs:
        assert np.abs(run.overlaps.m).max() > 0.1
        assert np.abs(run.overlaps.theta).max() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [RANK_TWO, TWO_HEADS], ids=["rank two", "two heads"])
def test_training_from_random_weights_does_not_end_below_the_winner(scenario):
    """On each data set the lowest of several random starts, then the mean over data sets."""
    winner = dotphase.phase(scenario).solutions[0]
    d, losses = 500, []
    at_d = dotphase.solve(scenario, winner, d=d, rtol=None, rule=winner.rule).train_loss
    for seed in range(6):
        instance = dotphase.finite.Instance(scenario, d, seed)
        rng = np.random.default_rng(seed)
        starts = [0.3 * rng.standard_normal((d, scenario.student.rank)) for _ in range(6)]
        runs = [
            dotphase.train(scenario, d=d, start=start, seeds=[instance.seed]) for start in starts
        ]
        losses.append(min(float(run.train_loss.value) for run in runs))
    mean, error = np.mean(losses), np.std(losses, ddof=1) / np.sqrt(len(losses))
    assert mean > at_d.value - 3 * np.hypot(error, at_d.error)


def test_a_crossing_of_saddles_is_no_transition():
    options = {"between": (1.2, 2.2), "precision": 0.05, "scan": 4}
    found = dotphase.critical(RANK_TWO, mechanisms=("semantic", "positional"), **options)
    assert found.outcome == "absent"
    assert "saddle" in found.reason


@pytest.mark.slow
def test_the_mixed_mechanism_of_rank_two_sets_in_continuously():
    options = {"between": (0.45, 0.8), "precision": 0.1, "scan": 2, "rule": Sobol(2**12)}
    found = dotphase.critical(RANK_TWO, mechanisms=("positional", "mixed"), **options)
    assert "continuous" in found.reason
    assert found.name == "instability"
    assert abs(found.location.value - 0.59) < 3 * np.hypot(found.location.error, 0.022)


def test_the_command_line_names_two_mechanisms():
    answer = CliRunner().invoke(app, ["transition", "train-loss", "--between", "0.2:5"])
    assert answer.exit_code == 2
    assert "--range" in answer.stderr


def test_errors_cancel_in_a_margin_on_the_same_nodes_only():
    """As many nodes with another scramble are other nodes."""
    task = dotphase.paper(alpha=1.25, omega=0.3)
    one, same = (dotphase.solve(task, s, rule=RULE, rtol=None) for s in ("semantic", "positional"))
    other = dotphase.solve(task, "positional", rule=Sobol(RULE.count, seed=1), rtol=None)
    independent = np.hypot(one.train_loss.error, other.train_loss.error)
    assert margin_between(one, other).error == pytest.approx(independent)
    assert margin_between(one, same).error < 0.7 * independent
    found = [solve_afresh(task, s, Sobol(2**9), rtol=2e-2) for s in ("semantic", "positional")]
    for each in found:  # linearised on the nodes it was solved on
        again = each.line.deviations.scatter.train_loss
        assert np.corrcoef(again, each.solution.deviations.train_loss)[0, 1] > 0.98


def test_a_single_start_is_taken():
    task, rule = dotphase.paper(alpha=2, omega=0.3), Sobol(2**9)
    found = dotphase.phase(task, "semantic", rule=rule)
    assert [s.branch for s in found.solutions] == ["semantic"]
    for start in (found.solutions[0], found.solutions[0].overlaps):
        assert dotphase.phase(task, start, rule=rule).winner == "semantic"
    followed = dotphase.branches(task, [1.5, 2], starts="semantic", rule=rule, rtol=None)
    assert list(followed.solutions) == ["semantic"]
    with pytest.raises(ValueError, match=r"^starts: expected starts by name"):
        dotphase.branches(task, [1.5, 2], starts=found.solutions[0])
    compared = dotphase.compare(task, d=30, seeds=2, starts="semantic")
    assert list(compared.theory) == ["semantic"]
    with pytest.raises(ValueError, match=r"^starts: expected some of semantic"):
        dotphase.compare(task, d=30, seeds=2, starts="uninformed")


def test_a_stability_that_is_not_finite_is_json_all_the_same():
    nothing = Breaking(dotphase.Estimate(np.nan, np.inf), np.nan, None, None, None)
    written = json.dumps(Stability({}, {}, nothing).to_dict(), allow_nan=False)
    assert json.loads(written)["several_minima"] is None


def test_one_rule_for_all_or_one_for_each():
    with pytest.raises(ValueError, match=r"^rule, rules: "):
        dotphase.solve_many([RANK_TWO], rules=[RULE], rule=RULE)


class Doubled:
    """A user's own rule: the nodes of another, each twice."""

    def __init__(self, rule):
        self.rule, self.pool, self.error = rule, rule.pool, rule.error

    def nodes(self, dimension, images=1):
        points, weights = self.rule.nodes(dimension, images)
        return Nodes(np.repeat(points, 2, -1), np.repeat(weights, 2, -1) / 2)


def test_rules_of_ones_own_are_taken_in_a_list_too():
    task = dotphase.paper(alpha=2, omega=0.3)
    rule = Doubled(Sobol(2**8))
    one = dotphase.solve(task, rule=rule, rtol=None)
    (listed,) = dotphase.solve_many([task], rules=[rule], rtol=None)
    assert listed.test_error.value == one.test_error.value
    with pytest.raises(ValueError, match=r"^rules: expected a Rule"):
        dotphase.solve_many([task], rules=[1024])
