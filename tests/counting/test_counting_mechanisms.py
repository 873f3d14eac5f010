"""The two mechanisms really appear, tell themselves apart, and survive surgery: the experiment in small."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from dotphase.counting import Experiment, Recipe, fold, load, operate, perform, separation, what_stayed
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
    """Over seeds in the weight on equal letters, and over sequences, every pair of seeds, in the shares."""
    semantic, positional = (summarise(learnt[m]) for m in ("semantic", "positional"))
    assert separation(semantic.scores.equal_letter_weight, positional.scores.equal_letter_weight) > 10
    for a in semantic.seeds:
        for b in positional.seeds:
            assert separation(a.scores.share_difference, b.scores.share_difference) > 10


@BOTH
def test_surgery_without_noise_changes_nothing(learnt, mechanism):
    from dotphase.counting import all_data, logits

    run = learnt[mechanism]
    weights, tokens = seed_weights(run, 0), all_data(run.experiment).validation[0]
    operated = operate(weights, mechanism, jax.random.key(0), 0.0)
    np.testing.assert_array_equal(logits(operated, tokens, "free"), logits(weights, tokens, mechanism))


@BOTH
def test_surgery_shakes_every_weight_by_the_noise(learnt, mechanism):
    weights = seed_weights(learnt[mechanism], 0)
    operated = operate(weights, mechanism, jax.random.key(0), 1e-2)
    number = sum(leaf.size for leaf in weights)
    # ‖noise‖² is 1e-4 χ² with `number` degrees of freedom: relative spread of its root √(1/2n), about 0.5 %.
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
def test_full_setting_counts_to_99_8_percent_and_stays_after_surgery(mechanism):
    """The published setting, four seeds: about half an hour for both mechanisms and their surgery."""
    before = summarise_and_train(Experiment(mechanism=mechanism))
    assert before.accuracy.value >= 0.998
    assert [seed.verdict for seed in before.seeds] == [mechanism] * 4


@pytest.mark.slow
def test_free_training_lands_on_one_side_or_the_other():
    """Unrestricted from random weights, a short training: every seed counts well, whatever it looks at."""
    summary = summarise_and_train(
        Experiment(mechanism="free", recipe=Recipe(epochs=10), seeds=tuple(range(8)))
    )
    assert summary.accuracy.value > 0.99
    assert all(seed.verdict != "undecided" for seed in summary.seeds)


def summarise_and_train(experiment):
    from dotphase.counting import train

    return summarise(train(replace(experiment)))
