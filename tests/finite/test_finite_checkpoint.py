"""Checkpoints: a run that is interrupted anywhere ends with the same weights, bit by bit, in memory
or in blocks."""

import numpy as np
import pytest

from dotphase import paper
from dotphase.finite.data import blocks
from dotphase.finite.data.blocks import BlockObjective, TokenFile, sample_to_file
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.message_passing.gamp import gamp
from dotphase.finite.training.checkpoint import Tape, checkpoint
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.training import train

TASK = paper(alpha=1.5, omega=0.3)
D = 40


class Killed(BaseException):
    pass


def dying_after(monkeypatch, passes):
    real, count = Tape.record, []

    def record(self, question, answers):
        if len(count) == passes:
            raise Killed
        count.append(1)
        real(self, question, answers)

    monkeypatch.setattr(Tape, "record", record)


def descend(name):
    if name == "gamp":
        return gamp(TASK, D, "semantic", 2, iterations=30)
    return train(TASK, D, "semantic", name, 2)


def assert_same(one, two):
    for a, b in zip(one.runs, two.runs, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        assert (a.outcome, a.steps, a.evaluations, a.train_loss) == (
            b.outcome,
            b.steps,
            b.evaluations,
            b.train_loss,
        )


@pytest.mark.parametrize("name", ["lbfgs", "gamp"])
@pytest.mark.parametrize("memory", [1e9, 0])
def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path, monkeypatch, name, memory):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 7 * 2 * D * 8)  # seven samples to a block
    with checkpoint(tmp_path / "whole", memory):
        whole = descend(name)
    if memory:
        assert_same(whole, descend(name))
    for passes in (1, 9, 40):
        with monkeypatch.context() as patch, checkpoint(tmp_path / "run", memory):
            dying_after(patch, passes)
            with pytest.raises(Killed):
                descend(name)
    with checkpoint(tmp_path / "run", memory):
        assert_same(descend(name), whole)
    with monkeypatch.context() as patch, checkpoint(tmp_path / "run", memory):
        dying_after(patch, 0)  # everything is on the tape now
        assert_same(descend(name), whole)


def test_a_damaged_tape_is_played_up_to_the_damage(tmp_path):
    with checkpoint(tmp_path):
        whole = descend("lbfgs")
    tape = tmp_path / "0000" / "passes"
    content = bytearray(tape.read_bytes())
    content[len(content) // 2] ^= 1
    tape.write_bytes(content)
    with checkpoint(tmp_path):
        assert_same(descend("lbfgs"), whole)


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    with checkpoint(tmp_path):
        descend("lbfgs")
    with checkpoint(tmp_path), pytest.raises(ValueError, match="the checkpoint of another run"):
        train(TASK, D, "positional", seeds=1)
    with checkpoint(tmp_path), pytest.raises(ValueError, match="the checkpoint of another run"):
        train(TASK, 2 * D, "semantic", seeds=1)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_blocks_draw_and_answer_what_the_whole_does(tmp_path, monkeypatch, precision):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 7 * 2 * D * np.dtype(precision).itemsize)
    instance = Instance(TASK, D, 3)
    whole = sample(instance, precision=precision)
    tokens = TokenFile(tmp_path / "tokens", whole.tokens.shape, precision)
    answers, grams = sample_to_file(instance, tokens)
    read = np.concatenate([block.copy() for _, block in tokens.blocks()], 1)
    np.testing.assert_array_equal(read, whole.tokens)
    np.testing.assert_allclose(
        answers, whole.answers, rtol=1e-13
    )  # products are rounded as blocks are cut
    np.testing.assert_allclose(grams.mixed, whole.grams.mixed, rtol=1e-12, atol=1e-14)
    one, two = Objective(whole), BlockObjective(whole, tokens)
    Q = np.random.default_rng(0).standard_normal((D, 1))
    close = (
        {"rtol": 1e-12, "atol": 1e-12} if precision == "float64" else {"rtol": 1e-5, "atol": 1e-5}
    )
    for a, b in zip(one(Q), two(Q), strict=True):
        np.testing.assert_allclose(a, b, **close)
    z = one.fields(Q)
    np.testing.assert_allclose(two.fields(Q), z, **close)
    np.testing.assert_allclose(two.pull_back(z), one.pull_back(z), **close)
    np.testing.assert_allclose(two.curvature(Q)(Q), one.curvature(Q)(Q), **close)


@pytest.mark.parametrize("change", ["omega", "seed", "data", "precision"])
def test_a_folder_does_not_answer_for_another_run(tmp_path, change):
    x = np.random.default_rng(0).standard_normal((2 * D, 2, D)) / 2
    given = {"optimiser": "gd", "seeds": [0], "data": x}
    with checkpoint(tmp_path):
        train(TASK, None, "positional", **given)
    given |= {"seed": {"seeds": [1]}, "data": {"data": x[::-1]}}.get(change, {})
    given |= {"precision": {"precision": "float32"}}.get(change, {})
    task = TASK.vary(omega=0.8) if change == "omega" else TASK
    with checkpoint(tmp_path), pytest.raises(ValueError, match="checkpoint of another run"):
        train(task, None, "positional", **given)
