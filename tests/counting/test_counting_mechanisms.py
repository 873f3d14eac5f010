"""The two mechanisms really appear, tell themselves apart, and survive surgery: the experiment in
small."""

import jax
import numpy as np
import pytest

from dotphase.counting import (
    Experiment,
    Recipe,
    all_data,
    fold,
    load,
    logits,
    operate,
    perform,
    separation,
    train,
    what_stayed,
)
from dotphase.counting.summary import seed_weights, summarise
from dotphase.counting.surgery import distance

BOTH = pytest.mark.parametrize("mechanism", ["semantic", "positional"])


@BOTH
def test_a_restricted_model_learns_to_count_by_its_mechanism(learnt, mechanism):
    summary = summarise(learnt[mechanism])
    assert summary.accuracy.value > 0.95  # always answering 1 is right about 60 % of the time
    assert [seed.verdict for seed in summary.seeds] == [mechanism] * 3
    assert summary.scores.verdict == mechanism


def test_the_mechanisms_stand_more_than_ten_standard_errors_apart(learnt):
    """Over seeds in the weight on equal letters, and over sequences, every pair of seeds, in the
    shares."""
    semantic, positional = (summarise(learnt[m]) for m in ("semantic", "positional"))
    assert (
        separation(semantic.scores.equal_letter_weight, positional.scores.equal_letter_weight) > 10
    )
    for a in semantic.seeds:
        for b in positional.seeds:
            assert separation(a.scores.position, b.scores.position) > 10
            assert separation(a.scores.content, b.scores.content) > 10


@BOTH
def test_surgery_without_noise_changes_nothing(learnt, mechanism):
    run = learnt[mechanism]
    weights, tokens = seed_weights(run, 0), all_data(run.experiment).validation[0]
    operated = operate(weights, mechanism, jax.random.key(0), 0.0)
    np.testing.assert_array_equal(
        logits(operated, tokens, "free"), logits(weights, tokens, mechanism)
    )


@BOTH
def test_surgery_shakes_every_weight_by_the_noise(learnt, mechanism):
    weights = seed_weights(learnt[mechanism], 0)
    operated = operate(weights, mechanism, jax.random.key(0), 1e-2)
    number = sum(leaf.size for leaf in weights)
    # ‖noise‖² is 1e-4 χ² with `number` degrees of freedom: relative spread of its root √(1/2n),
    # about 0.5 %.
    assert distance(fold(weights, mechanism), operated) == pytest.approx(
        1e-2 * number**0.5, rel=5 / (2 * number) ** 0.5
    )
    assert not any((a == b).all() for a, b in zip(fold(weights, mechanism), operated, strict=True))


@BOTH
def test_both_are_minima_of_one_landscape(learnt, mechanism, tmp_path):
    """Unrestricted plain SGD stays at the trained model: accuracy, place, and attention."""
    before = learnt[mechanism]
    after = perform(before, tmp_path, Recipe("sgd", epochs=3))
    assert after.experiment.mechanism == "free"
    assert load(tmp_path).experiment == after.experiment
    for stayed in what_stayed(before, after):
        assert stayed.accuracy_after > stayed.accuracy_before - 0.005
        assert stayed.moved_share < 0.01
        assert stayed.attention_change < 0.05 * stayed.attention_scale
        assert stayed.scores_after.verdict == mechanism


def test_a_model_that_does_not_stay_is_seen_not_to(learnt):
    """The negative: shaken far away, none of the tests above passes."""
    before = learnt["positional"]
    for seed in what_stayed(before, perform(before, None, Recipe("sgd", epochs=3), noise=1.0)):
        assert seed.accuracy_after < seed.accuracy_before - 0.005
        assert seed.moved_share > 0.01
        assert seed.attention_change > 0.05 * seed.attention_scale


@pytest.mark.slow
@BOTH
def test_the_published_setting_counts_to_99_8_percent_and_stays_after_surgery(mechanism):
    """Four seeds, 200 epochs, then 100 of plain SGD: about a quarter of an hour for each mechanism."""
    before = train(Experiment(mechanism=mechanism))
    summary = summarise(before)
    assert summary.accuracy.value >= 0.998
    assert [seed.verdict for seed in summary.seeds] == [mechanism] * 4
    for stayed in what_stayed(before, perform(before)):
        assert stayed.accuracy_after >= stayed.accuracy_before
        assert stayed.moved_share < 0.01
        assert stayed.attention_change < 0.05 * stayed.attention_scale
        assert stayed.scores_after.verdict == mechanism


@pytest.mark.slow
def test_free_training_matches_letters_but_not_with_themselves():
    """Unrestricted from random weights, a short training: eight verdicts, and what is behind them."""
    run = train(Experiment(mechanism="free", recipe=Recipe(epochs=20), seeds=tuple(range(8))))
    summary = summarise(run)
    assert summary.accuracy.value > 0.99
    assert [seed.verdict for seed in summary.seeds] == ["semantic"] * 8
    assert summary.scores.position.value < 0.1
