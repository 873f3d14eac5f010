"""Shared by the counting tests: a task to check the machinery with, and one that is learnt in
seconds."""

from dataclasses import replace

import pytest

from dotphase.counting import CountingTask, Experiment, Recipe, train

# One shape for all tests of the machinery, since compiling takes longer than running it.
# An epoch is 525 small steps: long enough to be killed in the middle of it.
MACHINERY = Experiment(
    task=CountingTask(length=4, letters=12, samples=6000),
    recipe=Recipe(batch=8, epochs=3),
    seeds=(0, 1),
)
QUICK = Experiment(
    task=CountingTask(length=6, letters=12, samples=12_000),
    recipe=Recipe(epochs=8),
    seeds=(0, 1, 2),
)


@pytest.fixture(scope="session")
def machinery():
    return MACHINERY


@pytest.fixture(scope="session")
def uninterrupted():
    return train(MACHINERY)


@pytest.fixture(scope="session")
def learnt():
    """Both mechanisms, trained in the quick setting."""
    return {
        mechanism: train(replace(QUICK, mechanism=mechanism))
        for mechanism in ("semantic", "positional")
    }
