"""What the pieces of work say agrees with the library they call."""

import numpy as np
import pytest

import dotphase
from dotphase.explorer.answers import work
from dotphase.explorer.answers.rows import row
from dotphase.explorer.answers.sentences import inner_landscape, look
from dotphase.explorer.answers.task import Task
from dotphase.numerics.rules import Sobol


@pytest.fixture(scope="module")
def solved():
    return {branch: work.solved(Task(), branch, 2**11, "lowest") for branch in work.BRANCHES}


def said(name, **arguments):
    messages = []
    work.WORKS[name](lambda message: messages.append(message) if message else None, **arguments)
    return messages


def test_a_branch_point_is_the_solution(solved):
    task = Task().model_dump(by_alias=True)
    (told,) = said("branch_point", task=task, branch="semantic", stage="coarse", minimum="lowest")
    direct = dotphase.solve(dotphase.paper(), "semantic", rule=Sobol(2**11), rtol=None)
    assert told["numbers"]["train_loss"] == direct.train_loss.to_dict()
    assert told["numbers"]["theta"]["value"] == pytest.approx(np.abs(direct.overlaps.theta).mean())
    assert told["numbers"]["m"]["value"] == 0


def test_what_is_no_answer_has_a_reason_and_no_numbers():
    task = Task(alpha=0.3).model_dump(by_alias=True)
    (told,) = said("branch_point", task=task, branch="semantic", stage="coarse", minimum="lowest")
    assert told["numbers"] is None
    assert told["reason"]


def test_a_row_finds_the_transition(solved):
    alphas = [0.5, 1.0, 1.5]
    found = [
        [work.solved(Task(alpha=a), b, 2**13, "lowest") for b in work.BRANCHES] for a in alphas
    ]
    told = row(alphas, found)
    assert told["winner"] == ["positional", "positional", "semantic"]
    assert told["missing"]["semantic"] == [True, False, False]
    place, error = told["lines"]["train-loss"]
    assert abs(place - 1.25) < 0.1 + 3 * error
    assert told["lines"]["spinodal-semantic"] == [0.75, 0.25]


def test_students_see_a_sentence_as_the_theory_says(solved):
    """Over many sentences the fields have the moments of the overlaps, in units of their standard
    error."""
    seen = [look(solved, seed) for seed in range(400)]
    u = np.array([s["teacher"]["fields"] for s in seen])[..., 0]
    for branch, solution in solved.items():
        h = np.array([s[branch]["fields"] for s in seen])[..., 0]
        mean, error = h.mean(0), h.std(0) / 20
        assert (np.abs(mean - solution.overlaps.m[:, 0]) < 4 * error).all()
        product = h * u
        expected, error = solution.overlaps.theta[:, 0, 0], product.std(0) / 20
        assert (np.abs(product.mean(0) - expected) < 4 * error).all()
        assert np.allclose(h.var(0), solution.overlaps.q[:, 0, 0], rtol=0.35)
    assert np.allclose(np.sum(seen[0]["teacher"]["attention"], axis=1), 1)


def test_students_see_correlated_words_as_the_theory_says():
    """As above, where fields of one word tell something of those of the other."""
    solution = work.solved(Task(correlation=0.5), "semantic", 2**11, "lowest")
    assert solution.joint is not None
    seen = [look({"semantic": solution}, seed) for seed in range(400)]
    u = np.array([s["teacher"]["fields"] for s in seen])[..., 0]
    h = np.array([s["semantic"]["fields"] for s in seen])[..., 0]
    for fields, expected in (
        (h, solution.joint.overlaps.q),
        (u, solution.scenario.distribution.joint_rho),
    ):
        product = fields[:, 0] * fields[:, 1]
        assert abs(product.mean() - expected[0, 1, 0, 0]) < 4 * product.std() / 20
    product = h[:, 0] * u[:, 1]
    assert abs(product.mean() - solution.joint.overlaps.theta[0, 1, 0, 0]) < 4 * product.std() / 20


def test_the_minima_of_a_landscape_are_minima(solved):
    told = inner_landscape(solved["positional"], 2)
    assert told["candidates"] == 1000
    lowest, reached = told["minima"]["lowest"], told["minima"]["reached"]
    energy, axis = np.array(told["energy"]), np.array(told["axis"])
    assert lowest["energy"] <= energy.min()
    assert lowest["energy"] < reached["energy"]
    near = tuple(int(np.abs(axis - z).argmin()) for z in reached["z"])
    around = energy[tuple(slice(at - 2, at + 3) for at in near)]
    assert reached["energy"] <= around.min()


def test_a_landscape_without_a_second_minimum_says_so(solved):
    assert set(inner_landscape(solved["semantic"], 2)["minima"]) == {"lowest"}


def test_a_landscape_needs_a_student_of_rank_one():
    solution = work.solved(Task(alpha=0.3), "semantic", 2**11, "lowest")
    with pytest.raises(ValueError, match="semantic"):
        inner_landscape(solution, 0)


def test_live_training_ends_where_train_ends():
    task = Task().model_dump(by_alias=True)
    told = said("training", task=task, d=80, start="semantic", optimiser="lbfgs", seed=3, seeds=1)
    run = dotphase.train(
        dotphase.paper(), d=80, start="semantic", optimiser="lbfgs", seeds=[3]
    ).runs[0]
    assert told[0] == {"event": "begin", "seed": 3, "n": 160, "d": 80}
    assert told[-1]["loss"] == pytest.approx(run.train_loss, rel=1e-9)
    assert told[-1]["test_error"]["value"] == pytest.approx(run.test_error.value, rel=1e-9)
    assert all(m["event"] == "step" for m in told[1:-1])
    assert len(told) > 2
