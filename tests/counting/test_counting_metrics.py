"""The metrics, on models whose mechanism is known because they were made by hand."""

from dataclasses import fields, replace

import jax.numpy as jnp
import numpy as np
import pytest

from dotphase.counting import Scores, Weights, attention, mean_scores, measure, separation
from dotphase.counting import metrics as metrics_module
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


def direct(weights, tokens):
    """The scores by their definitions, grouping every single attention entry."""
    A = np.asarray(attention(weights, tokens), np.float64)
    i, j = np.meshgrid(range(LENGTH), range(LENGTH), indexing="ij")
    by_position = np.broadcast_to(i * LENGTH + j, A.shape)
    by_letter = tokens[:, :, None] * LETTERS + tokens[:, None, :]
    equal = tokens[:, :, None] == tokens[:, None, :]
    off = ~np.eye(LENGTH, dtype=bool)

    def share(groups):
        mean = {g: A[groups == g].mean() for g in np.unique(groups)}
        return np.vectorize(mean.get)(groups).var() / A.var()

    a_equal, a_different = A[equal & off].mean(), A[~equal].mean()
    return share(by_position), share(by_letter), a_equal / (a_equal + a_different)


@pytest.mark.parametrize(("letters", "positions"), [(2, 0), (0, 2), (1, 1)])
def test_the_sums_give_the_definitions(letters, positions):
    weights = by_hand(letters, positions)
    scores = measure(weights, TOKENS, "free")
    ours = scores.position_share.value, scores.letter_share.value, scores.equal_letter_weight.value
    np.testing.assert_allclose(ours, direct(weights, TOKENS), rtol=1e-9)


def test_hand_made_mechanisms_are_recognised():
    semantic, positional = (
        measure(by_hand(2, 0), TOKENS, "free"),
        measure(by_hand(0, 2), TOKENS, "free"),
    )
    assert (semantic.verdict, positional.verdict) == ("semantic", "positional")
    assert positional.position_share.value == pytest.approx(1, abs=1e-9)
    assert (
        abs(positional.equal_letter_weight.value - 0.5) < 5 * positional.equal_letter_weight.error
    )
    expected = np.exp(2) / (1 + np.exp(2))  # where softmax did not couple the entries of a row
    assert 0.7 < semantic.equal_letter_weight.value < expected
    assert separation(semantic.equal_letter_weight, positional.equal_letter_weight) > 10


def test_more_of_one_mechanism_is_seen_as_more_of_it():
    """More positions on fixed letters lower the letter share, and the other way round."""
    positional = [measure(by_hand(1, p), TOKENS, "free").letter_share.value for p in (0, 1, 2)]
    semantic = [measure(by_hand(s, 1), TOKENS, "free") for s in (0, 1, 2)]
    assert np.all(np.diff(positional) < 0)
    assert np.all(np.diff([s.position_share.value for s in semantic]) < 0)
    assert np.all(np.diff([s.equal_letter_weight.value for s in semantic]) > 0)


def test_uniform_attention_is_undecided_not_nan():
    scores = measure(by_hand(0, 0), TOKENS, "free")
    assert scores.verdict == "undecided"
    assert np.isfinite([each.value for each in vars(scores).values()]).all()


def test_the_error_is_the_spread_over_fresh_sequences():
    """Jackknifed errors against the real scatter of 40 repetitions (known to about 1/√78 = 11 %)."""
    weights = by_hand(1, 1)
    rng = np.random.default_rng(2)
    repeated = [
        measure(weights, rng.integers(LETTERS, size=(400, LENGTH)).astype(np.int32), "free")
        for _ in range(40)
    ]
    for name in (field.name for field in fields(Scores)):
        estimates = [getattr(scores, name) for scores in repeated]
        errors = [estimate.error for estimate in estimates]
        assert np.mean(errors) == pytest.approx(np.std(estimates, ddof=1), rel=0.4)


def test_seeds_average_with_their_standard_error():
    def scores(value):
        return Scores(*(Estimate(value, 0.0),) * 4)

    together = mean_scores([scores(1.0), scores(2.0), scores(3.0)])
    assert together.position_share.value == pytest.approx(2.0)
    assert together.position_share.error == pytest.approx(1 / 3**0.5)
    assert mean_scores([scores(4.0)]) == scores(4.0)


def test_a_difference_within_its_error_decides_nothing():
    close = Scores(Estimate(0.6, 0.1), Estimate(0.5, 0.1), Estimate(0.1, 0.05), Estimate(0.5, 0.1))
    assert close.verdict == "undecided"
    assert replace(close, share_difference=Estimate(0.1, 0.01)).verdict == "positional"
    assert replace(close, share_difference=Estimate(-0.1, 0.01)).verdict == "semantic"


def test_separation_counts_standard_errors():
    assert separation(Estimate(1.0, 0.3), Estimate(0.0, 0.4)) == pytest.approx(2.0)
    assert separation(Estimate(1.0, 0.0), Estimate(0.0, 0.0)) == np.inf


def test_too_few_sequences_get_no_error_bar():
    with pytest.raises(
        ValueError, match=f"at least {2 * metrics_module.BLOCKS} validation sequences"
    ):
        measure(by_hand(1, 1), TOKENS[:30], "free")
