"""The counting task's data: exact labels, no duplicates, any size, seeded."""

from collections import Counter

import jax.numpy as jnp
import numpy as np
import pytest

from dotphase.counting import CountingTask, count_letters, make_data, read_sentence, spell
from dotphase.counting.data import draw_sequences

MANY = CountingTask(length=10, letters=15, samples=5000)
FEW = CountingTask(length=4, letters=3, samples=60)  # of 81: numbered, not redrawn
TASKS = pytest.mark.parametrize(
    "task", [MANY, FEW, CountingTask(length=1, letters=300, samples=200)]
)


def test_counts_are_those_of_a_counter():
    tokens = np.random.default_rng(0).integers(7, size=(50, 9))
    expected = [[Counter(row)[letter] for letter in row] for row in tokens.tolist()]
    np.testing.assert_array_equal(count_letters(tokens), expected)
    np.testing.assert_array_equal(count_letters(jnp.asarray(tokens)), expected)


def test_the_example_of_the_paper():
    task = CountingTask(length=5, letters=5, samples=100)
    np.testing.assert_array_equal(count_letters(read_sentence("BAADE", task)), [1, 2, 2, 1, 1])


@TASKS
def test_no_sequence_occurs_twice_not_even_across_the_split(task):
    data = make_data(task, seed=3)
    together = np.concatenate(data)
    assert together.shape == (task.samples, task.length)
    assert len(np.unique(together, axis=0)) == task.samples
    assert len(data.train) == round(0.7 * task.samples)
    assert together.min() >= 0
    assert together.max() < task.letters


@TASKS
def test_a_seed_is_one_data_set_and_another_seed_another(task):
    first, again, other = make_data(task, 0), make_data(task, 0), make_data(task, 1)
    np.testing.assert_array_equal(first.train, again.train)
    assert not np.array_equal(first.train, other.train)


def test_all_sequences_can_be_asked_for():
    tokens = draw_sequences(CountingTask(length=3, letters=3, samples=27), np.random.default_rng(0))
    assert len(np.unique(tokens, axis=0)) == 27


@TASKS
def test_letters_are_equally_likely_everywhere(task):
    """Every letter at every position, within five standard errors (of independent draws, which is
    larger)."""
    tokens = np.concatenate([np.concatenate(make_data(task, seed)) for seed in range(10)])
    p = 1 / task.letters
    shares = np.stack([(tokens == letter).mean(axis=0) for letter in range(task.letters)])
    assert np.abs(shares - p).max() < 5 * (p * (1 - p) / len(tokens)) ** 0.5


def test_the_order_is_random_too():
    """Else the split would put some letters into training and others into validation."""
    data = make_data(FEW, seed=0)
    for part in data:
        assert set(part[:, 0]) == {0, 1, 2}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"length": 2, "letters": 3, "samples": 10}, "cannot draw 10 different sequences.*make 9"),
        ({"length": 0}, "length: expected a whole number of at least 1"),
        ({"train_share": 1.0}, "strictly between 0 and 1"),
        ({"samples": 2, "train_share": 0.1}, "nothing to train on"),
    ],
)
def test_impossible_tasks_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        CountingTask(**arguments)


def test_sentences_are_read_and_spelled():
    assert "".join(spell(read_sentence("ABCDEFGHIJ", MANY))) == "ABCDEFGHIJ"
    assert spell([25, 26, 52]) == ["Z", "a", "52"]
    with pytest.raises(ValueError, match=r"^sentence: 'Z' not among the letters"):
        read_sentence("ABCDEFGHIZ", MANY)
    with pytest.raises(
        ValueError, match=r"^sentence: it has 3 letters, this run was trained on 10"
    ):
        read_sentence("ABC", MANY)
