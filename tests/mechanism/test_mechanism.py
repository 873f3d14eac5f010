"""Shares of variance in cases whose answer is known, and formulas that must not pass."""

import warnings

import numpy as np
import pytest

from dotphase.mechanism import measure_shares, permutation_scores, verdict_of
from dotphase.mechanism.entries import entries_of
from dotphase.mechanism.fit import centred, comparable_groups, fit_without_blocks
from dotphase.results.estimate import Estimate

L, V = 6, 12
CASES = ("positions", "words", "noise", "positions and words", "all three")


class World:
    """Scores from positions P, words T and noise; words as frequent as in a text."""

    def __init__(self, causal):
        self.rng = np.random.default_rng(2026 + causal)
        self.causal = causal
        self.P = self.rng.standard_normal((L, L))
        self.T = self.rng.standard_normal((V, V))
        weight = 1 / np.arange(1, V + 1)
        self.frequency = weight / weight.sum()

    def draw(self, n):
        ids = self.rng.choice(V, size=(n, L), p=self.frequency)
        words, noise = self.T[ids[:, :, None], ids[:, None]], self.rng.standard_normal((n, L, L))
        row = 3 * self.rng.standard_normal((n, L, 1))  # free, must not matter
        parts = (self.P + 0 * words, words, noise, self.P + words, self.P + words + noise)
        return ids, np.stack([part + row for part in parts], 1)

    def truth(self):
        """(position, content) of every case, from the variances within rows of 40,000 sentences."""
        _, scores = self.draw(40_000)
        seen = np.tril(np.ones((L, L), bool), -1) if self.causal else ~np.eye(L, dtype=bool)
        rows = [scores[:, :3, i][:, :, seen[i]] for i in range(L) if seen[i].sum() > 1]
        position, words, noise = sum(row.var(-1).mean(0) * row.shape[-1] for row in rows)
        powers = [(1, 0), (0, 1), (0, 0)]
        for total in (position + words, position + words + noise):
            powers.append((position / total, words / total))
        return np.array(powers)


def deviations(causal, n, draws=100):
    """z of position, content and rest in all cases, (draws, 3, cases)."""
    world = World(causal)
    p, c = world.truth().T
    found = []
    for _ in range(draws):
        ids, scores = world.draw(n)
        shares = measure_shares(scores, ids, causal)
        listed = (shares.position, shares.content, shares.rest)
        found.append([e.deviation(t) for e, t in zip(listed, (p, c, 1 - p - c), strict=True)])
    return np.array(found)


@pytest.mark.parametrize(
    ("causal", "n"), [(False, 100), (True, 400), pytest.param(False, 1000, marks=pytest.mark.slow)]
)
def test_shares_are_right_and_errors_cover(causal, n):
    z = deviations(causal, n)
    rms, mean = np.sqrt((z**2).mean(0)), z.mean(0)
    assert (np.abs(mean) < 4 * np.maximum(z.std(0), 0.1) / 10).all()
    exact = np.zeros((3, 5), bool)  # where nothing fluctuates, the share is exact to rounding
    exact[:, :2] = exact[2, 3] = True
    assert (rms[exact] < 1).all()
    error = (z**2).std(0) / (2 * np.maximum(rms, 1e-300) * np.sqrt(len(z)))  # of rms itself
    assert ((rms + 3 * error)[~exact] > 0.8).all()
    assert ((rms - 3 * error)[~exact] < 1.25).all()


def test_exact_cases_are_exact():
    world = World(False)
    ids, scores = world.draw(100)
    shares = measure_shares(scores, ids)
    np.testing.assert_allclose(shares.position.value[:2], [1, 0], atol=1e-6)
    np.testing.assert_allclose(shares.content.value[:2], [0, 1], atol=1e-6)


def test_wrong_formulas_fail():
    """Without the cross-fit noise looks like meaning; centring before fitting T alone loses a part
    of a head that sees words only."""
    ids, scores = World(False).draw(100)
    entries = entries_of(ids, causal=False)
    taken = scores[entries.sentence, :, entries.query, entries.key]
    s = centred(taken, comparable_groups(entries))
    *_, (_, whole) = fit_without_blocks(entries, taken)
    biased = (s * whole).sum(0) / (s * s).sum(0)
    assert biased[2] > 0.03 + measure_shares(scores, ids).content.value[2]
    mean = np.bincount(entries.pair, s[:, 1]) / np.bincount(entries.pair)
    assert (s[:, 1] * mean[entries.pair]).sum() / (s[:, 1] ** 2).sum() < 0.9


def test_more_pairs_than_allowed_are_left_out():
    ids, scores = World(False).draw(100)
    few = measure_shares(scores, ids, most_pairs=30)
    assert len(few.pairs) <= 30
    assert few.coverage < measure_shares(scores, ids).coverage
    np.testing.assert_allclose(few.content.value[1], 1, atol=1e-6)


def test_constant_rows_have_nothing_to_explain():
    ids, scores = World(False).draw(50)
    shares = measure_shares(np.ones_like(scores[:, :1]), ids)
    assert [shares.position.value[0], shares.content.value[0], shares.rest.value[0]] == [0, 0, 0]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.zeros((1, 6), int), "at least 8"),
        (np.zeros((50, 2), int), "two others"),
        (np.arange(300).reshape(50, 6), "no two words occur together"),
        (np.tile(np.arange(6), (50, 1)), "cannot be told apart"),
    ],
)
def test_sentences_that_say_nothing_are_refused(ids, message):
    with pytest.raises(ValueError, match=message):
        measure_shares(np.zeros((len(ids), 1, ids.shape[1], ids.shape[1])), ids)


@pytest.mark.parametrize("causal", [False, True])
def test_permutation_scores(causal):
    world = World(causal)
    ids = world.rng.choice(V, size=(300, 8))

    def head(ids):
        words = world.T[ids[:, :, None], ids[:, None]]
        places = np.broadcast_to(np.random.default_rng(1).standard_normal((8, 8)), words.shape)
        return np.stack([places, words], 1)

    found = permutation_scores(head, ids, causal)
    np.testing.assert_allclose(found.positional.value[0], 1)
    np.testing.assert_allclose(found.symbolic.value[1], 1)
    assert abs(found.symbolic[0].deviation()) < 4


def test_verdicts():
    share = lambda value: Estimate(value, 0.01)
    assert verdict_of(share(0.9), share(0.05)).word == "positional"
    assert verdict_of(share(0.05), share(0.9)).word == "semantic"
    assert verdict_of(share(0.5), share(0.4)).word == "both"
    assert verdict_of(share(0.1), share(0.1)).word == "neither"
    unsafe = verdict_of(share(0.9), share(0.24))
    assert unsafe.word == "undecided"
    assert abs(unsafe.margin - 1) < 1e-9


def test_sentences_whose_words_meet_nowhere_else_leave_no_gap():
    """Every sentence is a block; at first one of them, then ten, have no words of the others."""
    rng = np.random.default_rng(0)
    ids = rng.integers(4, size=(12, 5))
    ids[-2] = 100 + np.arange(5)
    scores = rng.standard_normal((12, 1, 5, 5))
    entries = entries_of(ids, False)
    assert set(entries.block) == set(range(11))
    shares = measure_shares(scores, ids)
    assert shares.blocks == 11
    assert np.isfinite(shares.position.error).all()
    ids[:9] = 200 + np.arange(45).reshape(9, 5)
    with pytest.raises(ValueError, match=r"^sentences: words meet again in 2 of 12 blocks"):
        entries_of(ids, False)


def test_an_unknown_error_decides_nothing():
    for shares in (
        (Estimate(0.9, np.nan), Estimate(0.0, 0.01)),
        (Estimate(0.9, 0.01), Estimate(0.0, np.nan)),
    ):
        assert verdict_of(*shares).word == "undecided"


def test_permutation_scores_of_short_sentences_and_of_constant_rows():
    ids = np.random.default_rng(0).integers(5, size=(6, 3))
    flat = lambda x: np.zeros((len(x), 2, x.shape[1], x.shape[1]))
    for causal in (False, True):
        with pytest.raises(ValueError, match=r"^ids: at least 4 tokens per sentence"):
            permutation_scores(flat, ids, causal)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = permutation_scores(flat, np.tile(ids, 2))
    assert np.isnan(found.positional.value).all()
