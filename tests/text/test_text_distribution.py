"""The distribution of tokens, measured; and real sentences as data of training and message passing."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dotphase import gamp, paper, train
from dotphase.cli.app import app
from dotphase.finite import fit_linear
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.test_error import held_out_error
from dotphase.finite.training.objective import Objective
from dotphase.scenario.scales import Scales
from dotphase.scenario.tokens import Tokens, exponential_correlation, isotropic
from dotphase.text.distribution import MeasuredTokens, tokens_from_samples
from dotphase.text.phase import scenario_of
from dotphase.text.reading import read_text
from dotphase.text.sentences import Sentences
from dotphase.text.universality import universality, variant

COUNT, D = 20_000, 40


def drawn(tokens: Tokens, seed: int = 0) -> np.ndarray:
    """Sentences (n, L, d) of a distribution, in a rotated basis."""
    data = sample(scenario_of(tokens), D, seed, count=COUNT)
    x = data.tokens - data.instance.positions[:, None]
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((D, D)))[0]
    return np.moveaxis(x, 0, 1) @ turn


def test_gaussian_tokens_are_one_kind_without_scales():
    distribution = tokens_from_samples(drawn(isotropic(2, 0.5)))
    assert distribution.tokens.scales is None
    assert len(distribution.tokens.gamma) == 1
    assert distribution.tokens.deviation == pytest.approx(0.5, rel=4 / np.sqrt(COUNT * D))
    assert abs(distribution.tokens.Gamma[0, 0, 1]) < 4 * 0.25 / np.sqrt(COUNT * D)
    assert abs(distribution.neglected["kurtosis"]) < 0.05
    assert (
        distribution.neglected["off_diagonal"]
        < 1.2 * distribution.neglected["off_diagonal_of_noise"]
    )


def test_kinds_correlations_and_scales_are_found():
    Gamma = np.stack(
        [0.1 * exponential_correlation(2, 0.5), 0.4 * exponential_correlation(2, -0.3)]
    )
    true = Tokens(covariances=Gamma, weights=[0.5, 0.5], scales=Scales(np.sqrt([0.4, 1.6])))
    distribution = tokens_from_samples(drawn(true), groups=2)
    np.testing.assert_allclose(
        distribution.tokens.Gamma[::-1], Gamma, atol=4 * 0.4 * np.sqrt(3 / COUNT)
    )
    s2 = distribution.tokens.scales.s**2
    fourth = float(distribution.tokens.scales.share @ (s2[:, 0] ** 2 if s2.ndim == 2 else s2**2))
    assert fourth == pytest.approx(1.36, abs=0.05)
    assert abs(distribution.neglected["kurtosis"]) < 5 / D


def test_leaving_the_scales_out_of_the_correlation_is_noticed():
    """E[x_l x_l'] = E[s_l s_l'] Γ_ll': the measured product alone is not Γ."""
    true = Tokens(
        covariances=0.25 * exponential_correlation(2, 0.5)[None], scales=Scales(np.sqrt([0.1, 1.9]))
    )
    x = drawn(true)
    product = float((x[:, 0] * x[:, 1]).mean())
    found = tokens_from_samples(x, groups=1).tokens.Gamma[0, 0, 1]
    error = 0.25 / np.sqrt(COUNT * D)
    assert abs(found - 0.125) < 6 * error
    assert abs(product - 0.125) > 20 * error


def test_scales_that_tokens_share_are_joint():
    together = Scales(np.sqrt([[0.4, 0.4], [1.6, 1.6]]))
    distribution = tokens_from_samples(drawn(Tokens([[0.25, 0.25]], scales=together)), alike=True)
    assert not distribution.tokens.scales.independent
    expected = float(together.second_moment(2)[0, 1])
    assert distribution.tokens.scales.second_moment(2)[0, 1] == pytest.approx(expected, abs=0.02)
    alone = tokens_from_samples(
        drawn(Tokens([[0.25, 0.25]], scales=Scales(np.sqrt([0.4, 1.6])))), alike=True
    )
    assert alone.tokens.scales.independent


def test_alike_tokens_have_one_law():
    distribution = tokens_from_samples(drawn(isotropic(3, 0.5)), alike=True)
    G = distribution.tokens.Gamma[0]
    assert np.ptp(np.diagonal(G)) == 0
    assert G[0, 1] == G[1, 2]


@pytest.mark.parametrize(
    "x", [np.ones((5, 2)), np.ones((3, 2, 4)), np.zeros((50, 2, 4)), np.full((50, 2, 4), np.nan)]
)
def test_arrays_that_tell_no_law_are_refused(x):
    with pytest.raises(ValueError, match="x: "):
        tokens_from_samples(x)


# ----------------------------------------------------------------------------------- real sentences


@pytest.fixture(scope="module")
def words() -> Sentences:
    return read_text(dimension=40, length=2, whiten=True)


@pytest.fixture(scope="module")
def distribution(words) -> MeasuredTokens:
    return tokens_from_samples(words, alike=True)


def test_a_law_says_itself(distribution):
    assert "groups of directions" in repr(distribution) or "1 group of directions" in repr(
        distribution
    )
    assert "neglected" in str(distribution)
    assert distribution.lengths.spread > 2 * distribution.lengths.spread_of_gaussians
    assert distribution.tokens.scales is not None


def test_training_takes_every_sentence_once_and_tests_on_others(words, distribution):
    data = distribution.rotated(words)
    instance = Instance(scenario_of(distribution, alpha=3.0), 40, 1, data)
    taken = sample(instance)
    x = taken.tokens - instance.positions[:, None]
    from dotphase.finite.data.source import source_of

    rows = [source_of(instance, stream, 100).rows for stream in ("tokens", "test")]
    assert not set(rows[0]) & set(rows[1])
    assert len(set(rows[0])) == 100
    np.testing.assert_allclose(x[:, :100], data.tokens(rows[0]), atol=1e-12)
    assert np.abs(taken.scales**2 - (x**2).mean(-1) / 0.25).max() < 1e-2
    other = sample(Instance(instance.scenario, 40, 2, data))
    assert np.abs(other.tokens - taken.tokens).max() > 0.1


def test_trained_on_real_sentences_the_objective_is_stationary_and_the_error_is_measured(
    words, distribution
):
    data, task = distribution.rotated(words), scenario_of(distribution)
    run = train(task, data=data, seeds=[3]).runs[0]
    assert run.outcome == "converged"
    instance = Instance(task, 40, 3, data)
    value, gradient = Objective(sample(instance))(run.weights)
    assert np.abs(gradient).max() < 1e-6 * max(1.0, value)
    assert run.test_error == held_out_error(instance, run.weights)
    assert 0 < run.test_error.error < 0.1 * run.test_error.value
    worse = held_out_error(instance, np.zeros_like(run.weights))
    assert worse.deviation(run.test_error) > 5


def test_message_passing_and_the_baseline_take_sentences_too(words, distribution):
    data, task = distribution.rotated(words.without_repeats()), scenario_of(distribution)
    passed, trained = (run(task, data=data, seeds=1).runs[0] for run in (gamp, train))
    assert passed.outcome == "converged"
    assert passed.train_loss == pytest.approx(trained.train_loss, rel=1e-6)
    fit = fit_linear(task, data=data, seeds=2)
    assert 0 < fit.test_error.value < 0.1


def test_data_that_do_not_fit_are_refused(words, distribution):
    data, task = distribution.rotated(words), scenario_of(distribution)
    for message, call in {
        "3 tokens|tokens, but": lambda: train(scenario_of(isotropic(3, 0.5)), data=data),
        "have 40 dimensions": lambda: train(task, 50, data=data),
        "lower α": lambda: train(task.vary(alpha=1e4), data=data),
        "give the dimension": lambda: train(paper()),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_lengths_explain_what_gaussian_tokens_do_not():
    """The semantic branch on real words: off the Gaussian surrogate by many errors, on that with
    lengths within few."""
    raw = read_text(dimension=100, length=2, centre=False)
    found = universality(variant(raw, "as they are"), "semantic", 12, theory=False)
    assert found.difference("gaussian", "test_error").deviation() > 3.5
    assert abs(found.difference("scaled", "test_error").deviation()) < 2.5
    assert json.dumps(found.to_dict())


def test_every_variant_can_be_made(words):
    from dotphase.text.universality import VARIANTS

    for name in VARIANTS:
        assert variant(words, name).deviation == pytest.approx(words.deviation)
    with pytest.raises(ValueError, match="variant"):
        variant(words, "upside down")


# ------------------------------------------------------------------------------------- command line


def call(*arguments) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.exit_code, done.output


def test_text_writes_what_train_reads(tmp_path):
    file = tmp_path / "tokens.npz"
    code, told = call("text", "--dimension", 20, "--least", 50, "--whiten", "--out", file, "--json")
    assert code == 0
    assert json.loads(told)["dimension"] == 20
    code, told = call("train", "--data", file, "--seeds", 1, "--alpha", 3, "--json")
    assert code == 0, told
    answer = json.loads(told[told.index("{") :])
    assert answer["d"] == 20
    assert answer["scenario"]["sample_ratio"] == 3.0


def test_bad_input_is_one_line_and_code_two(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "binary.txt").write_bytes(b"\0\1\2")
    (tmp_path / "short.txt").write_text("one two")
    np.save(tmp_path / "E.npy", np.array([[1.0, np.nan], [0.0, 1.0]]))
    np.save(tmp_path / "ids.npy", np.array([0, 1, 0, 1]))
    np.save(tmp_path / "far.npy", np.array([0, 7, 0, 1]))
    out = ("--out", tmp_path / "t.npz")
    for arguments, message in {
        ("text", tmp_path / "empty.txt", *out): "no words",
        ("text", tmp_path / "binary.txt", *out): "binary",
        ("text", tmp_path / "short.txt", "--length", 3, *out): "too short",
        ("text", tmp_path / "missing.txt", *out): "No such file",
        (
            "text",
            "--embeddings",
            tmp_path / "E.npy",
            "--ids",
            tmp_path / "ids.npy",
            *out,
        ): "not a number",
        (
            "text",
            "--embeddings",
            tmp_path / "E.npy",
            "--ids",
            tmp_path / "far.npy",
            *out,
        ): "out of range",
        ("text", "--embeddings", tmp_path / "E.npy", *out): "give both or neither",
        ("text", "--out", tmp_path / "t.txt"): ".npz",
        ("train", "--data", tmp_path / "missing.npz"): "missing.npz",
        ("phase-of",): "--data",
    }.items():
        code, told = call(*arguments)
        assert code == 2, (arguments, told)
        assert message in told
        assert told.startswith("error: ")
        assert told.count("\n") == 1
    assert not (tmp_path / "t.npz").exists()
