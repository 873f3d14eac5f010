"""The metrics, on models whose mechanism is known because they were made by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from dotphase.counting import Scores, Weights, attention, mean_scores, measure, separation
from dotphase.mechanism.entries import BLOCKS
from dotphase.results.estimate import Estimate

LENGTH, LETTERS = 5, 8
TOKENS = np.random.default_rng(0).integers(LETTERS, size=(4000, LENGTH)).astype(np.int32)


def by_hand(letters: float, positions: float) -> Weights:
    """Scores = letters·[t_i = t_j] + positions·(a random table of i, j): as much of either as
    wanted."""
    width = LETTERS + LENGTH
    table = np.random.default_rng(1).normal(size=(LENGTH, LENGTH))
    W_Q = np.zeros((width, width), np.float32)
    W_Q[:LETTERS, :LETTERS] = letters * np.sqrt(width) * np.eye(LETTERS)
    W_Q[LETTERS:, LETTERS:] = positions * np.sqrt(width) * table
    eye = np.eye(width, dtype=np.float32)
    nothing = jnp.zeros(0)
    mlp = (nothing,) * 6
    return Weights(*map(jnp.asarray, (eye[:LETTERS], eye[LETTERS:], W_Q, eye, eye)), *mlp)


def test_the_shares_of_a_hand_made_model_are_known():
    """Scores l·[t_i = t_j] + p·N_ij: with the letters drawn independently of the places, the shares
    are the two variances over the keys j ≠ i, averaged over sequences."""
    letters, positions = 1.0, 0.3
    found = measure(by_hand(letters, positions), TOKENS, "free")
    off = ~np.eye(LENGTH, dtype=bool)
    table = np.random.default_rng(1).normal(size=(LENGTH, LENGTH))
    by_row = table[off].reshape(LENGTH, -1)
    place = positions**2 * by_row.var(1).mean()
    p = 1 / LETTERS
    word = letters**2 * p * (1 - p) * (LENGTH - 2) / (LENGTH - 1)  # variance within four keys
    share = place / (place + word)
    assert abs(found.position.value - share) < 4 * found.position.error
    assert abs(found.content.value - (1 - share)) < 4 * found.content.error
    assert abs(found.rest.value) < 4 * found.rest.error + 1e-6
    # the variances the wrong way round would be far off
    assert abs(found.position.value - (1 - share)) > 10 * found.position.error


def test_the_equal_letter_weight_is_its_definition():
    weights = by_hand(1, 1)
    A = np.asarray(attention(weights, TOKENS[:2000]), np.float64)
    ids = TOKENS[:2000]
    equal = ids[:, :, None] == ids[:, None, :]
    a_equal, a_different = A[equal & ~np.eye(LENGTH, dtype=bool)].mean(), A[~equal].mean()
    ours = measure(weights, TOKENS, "free").equal_letter_weight.value
    assert ours == pytest.approx(a_equal / (a_equal + a_different), rel=1e-9)


def test_hand_made_mechanisms_are_recognised():
    semantic, positional, both = (
        measure(by_hand(l, p), TOKENS, "free") for l, p in ((2, 0), (0, 2), (1, 0.5))
    )
    assert (semantic.verdict, positional.verdict) == ("semantic", "positional")
    assert both.verdict == "both"
    assert positional.position.value == pytest.approx(1, abs=1e-5)
    assert (
        abs(positional.equal_letter_weight.value - 0.5) < 5 * positional.equal_letter_weight.error
    )
    expected = np.exp(2) / (1 + np.exp(2))  # where softmax did not couple the entries of a row
    assert 0.7 < semantic.equal_letter_weight.value < expected
    assert separation(semantic.equal_letter_weight, positional.equal_letter_weight) > 10


def test_attention_to_oneself_alone_is_neither():
    """The diagonal belongs to place and letter alike: it is not counted as either."""
    weights = by_hand(0, 0)
    table = np.zeros((LETTERS + LENGTH,) * 2, np.float32)
    table[LETTERS:, LETTERS:] = 5 * np.eye(LENGTH)
    assert measure(weights._replace(W_Q=jnp.asarray(table)), TOKENS, "free").verdict == "neither"


def test_more_of_one_mechanism_is_seen_as_more_of_it():
    """More positions on fixed letters lower the letters' share, and the other way round."""
    positional = [measure(by_hand(1, p), TOKENS, "free").content.value for p in (0, 1, 2)]
    semantic = [measure(by_hand(s, 1), TOKENS, "free") for s in (0, 1, 2)]
    assert np.all(np.diff(positional) < 0)
    assert np.all(np.diff([s.position.value for s in semantic]) < 0)
    assert np.all(np.diff([s.equal_letter_weight.value for s in semantic]) > 0)


def test_uniform_attention_is_neither_not_nan():
    found = measure(by_hand(0, 0), TOKENS, "free")
    assert found.verdict == "neither"
    assert np.isfinite([each.value for each in vars(found).values()]).all()


def test_the_error_is_the_spread_over_fresh_sequences():
    """Jackknifed errors against the real scatter of 40 repetitions (known to about 1/√78 = 11 %)."""
    weights = by_hand(1, 1)
    rng = np.random.default_rng(2)
    repeated = [
        measure(weights, rng.integers(LETTERS, size=(400, LENGTH)).astype(np.int32), "free")
        for _ in range(40)
    ]
    for name in ("position", "content", "equal_letter_weight"):  # nothing is left for the rest
        estimates = [getattr(scores, name) for scores in repeated]
        errors = [estimate.error for estimate in estimates]
        assert np.mean(errors) == pytest.approx(np.std(estimates, ddof=1), rel=0.4)


def test_seeds_average_with_their_standard_error():
    def scores(value):
        return Scores(*(Estimate(value, 0.0),) * 4)

    together = mean_scores([scores(1.0), scores(2.0), scores(3.0)])
    assert together.position.value == pytest.approx(2.0)
    assert together.position.error == pytest.approx(1 / 3**0.5)
    assert mean_scores([scores(4.0)]) == scores(4.0)


def test_a_seed_that_diverged_does_not_shrink_the_error_of_the_others():
    one, other, lost = Estimate(1.0, 0.3), Estimate(1.0, 0.4), Estimate(np.nan, np.inf)
    together = mean_scores([Scores(*(each,) * 4) for each in (one, other, lost)])
    assert together.position.value == 1.0
    assert together.position.error == pytest.approx(0.25)  # √(0.3² + 0.4²)/2
    nothing = mean_scores([Scores(*(lost,) * 4)] * 2).position
    assert np.isnan(nothing.value)
    assert nothing.error == np.inf


def test_separation_counts_standard_errors():
    assert separation(Estimate(1.0, 0.3), Estimate(0.0, 0.4)) == pytest.approx(2.0)
    assert separation(Estimate(1.0, 0.0), Estimate(0.0, 0.0)) == np.inf
    assert separation(Estimate(1.0, 0.0), Estimate(1.0, 0.0)) == 0


def test_too_few_sequences_get_no_error_bar():
    with pytest.raises(ValueError, match=f"at least {2 * BLOCKS} validation sequences"):
        measure(by_hand(1, 1), TOKENS[:30], "free")
    with pytest.raises(ValueError, match=r"sequences: at least .*, got 10"):
        measure(by_hand(1, 1), TOKENS, "free", sequences=10)
