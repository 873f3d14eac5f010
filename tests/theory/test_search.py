"""The search for minima: saddles are left, a saddle never wins, and `mixed` is a mechanism everywhere."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dotphase
from dotphase import attentions
from dotphase.cli.app import app
from dotphase.numerics.rules import Sobol
from dotphase.theory.branches.phases import phase_of
from dotphase.theory.branches.search import find_fixed_points, is_saddle

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


def test_the_mixed_mechanism_of_rank_two_sets_in_continuously():
    options = {"between": (0.4, 1.5), "precision": 0.1, "scan": 4, "rule": Sobol(2**12)}
    found = dotphase.critical(RANK_TWO, mechanisms=("positional", "mixed"), **options)
    assert "continuous" in found.reason
    assert found.name == "instability"
    assert abs(found.location.value - 0.59) < 3 * np.hypot(found.location.error, 0.022)


def test_the_command_line_names_two_mechanisms():
    answer = CliRunner().invoke(app, ["transition", "train-loss", "--between", "0.2:5"])
    assert answer.exit_code == 2
    assert "--range" in answer.stderr
