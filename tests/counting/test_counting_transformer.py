"""The transformer: the fast form is the textbook form, and a mechanism is nothing but zeros."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dotphase.counting import (
    MECHANISMS,
    CountingTask,
    Weights,
    attention,
    fold,
    initial_weights,
    logits,
)
from dotphase.counting.epochs import loss_and_accuracy

TASK = CountingTask(length=7, letters=5, samples=1000)
TOKENS = np.random.default_rng(1).integers(TASK.letters, size=(6, TASK.length)).astype(np.int32)
EVERY = pytest.mark.parametrize("mechanism", MECHANISMS)


@pytest.fixture(scope="module")
def weights():
    """Random weights of width 16, none of them at a special value (biases and LayerNorm start
    there)."""
    rng = np.random.default_rng(0)
    shapes = [
        (5, 16),
        (7, 16),
        (16, 16),
        (16, 16),
        (16, 16),
        (16,),
        (16,),
        (16, 24),
        (24,),
        (24, 8),
        (8,),
    ]
    return Weights(*(jnp.asarray(0.5 * rng.normal(size=shape), jnp.float32) for shape in shapes))


def textbook(weights, tokens, mechanism):
    """One sequence, token by token, in double precision, with the masks on the embeddings and the
    scores."""
    w = type(weights)(*(np.asarray(a, np.float64) for a in weights))
    D = w.W_E.shape[1]
    first, second = np.arange(D) < D // 2, np.arange(D) >= D // 2
    everything = np.ones(D, bool)
    token_home, position_home, seen = {
        "semantic": (first, second, first),
        "positional": (first, second, second),
        "free": (everything,) * 3,
    }[mechanism]
    x = np.array([w.W_E[t] * token_home + w.W_pos[i] * position_home for i, t in enumerate(tokens)])
    scores = (x[:, seen] @ w.W_Q[seen]) @ (x[:, seen] @ w.W_K[seen]).T / np.sqrt(D)
    A = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    z = A @ (x @ w.W_V)
    z = (z - z.mean(1, keepdims=True)) / np.sqrt(
        z.var(1, keepdims=True) + 1e-5
    ) * w.ln_scale + w.ln_shift
    return A, np.maximum(z @ w.W_in + w.b_in, 0) @ w.W_out + w.b_out


@EVERY
def test_the_circuits_compute_the_textbook_transformer(weights, mechanism):
    A, answer = attention(weights, TOKENS, mechanism), logits(weights, TOKENS, mechanism)
    assert A.dtype == answer.dtype == jnp.float32
    for n, tokens in enumerate(TOKENS):
        expected_A, expected_answer = textbook(weights, tokens, mechanism)
        # float32 carries seven digits; the scores here reach about 10, the logits about 10.
        np.testing.assert_allclose(A[n], expected_A, atol=1e-5)
        np.testing.assert_allclose(answer[n], expected_answer, atol=1e-4)


@EVERY
def test_one_sequence_or_many(weights, mechanism):
    alone = logits(weights, TOKENS[0], mechanism)
    assert alone.shape == (TASK.length, TASK.length + 1)
    np.testing.assert_allclose(alone, logits(weights, TOKENS, mechanism)[0], atol=1e-5)


@EVERY
def test_a_folded_model_is_the_same_model_without_a_restriction(weights, mechanism):
    folded = fold(weights, mechanism)
    np.testing.assert_array_equal(
        logits(folded, TOKENS, "free"), logits(weights, TOKENS, mechanism)
    )
    np.testing.assert_array_equal(attention(folded, TOKENS), attention(weights, TOKENS, mechanism))


def test_semantic_attention_knows_no_positions(weights):
    """Reordering a sequence reorders its attention, and nothing else."""
    order = np.random.default_rng(2).permutation(TASK.length)
    A = np.asarray(attention(weights, TOKENS, "semantic"))
    np.testing.assert_allclose(
        attention(weights, TOKENS[:, order], "semantic"), A[:, order][:, :, order], atol=1e-6
    )
    assert np.ptp(A, axis=0).max() > 0.1  # it does know the letters


def test_positional_attention_knows_no_letters(weights):
    A = np.asarray(attention(weights, TOKENS, "positional"))
    np.testing.assert_allclose(A, np.broadcast_to(A[0], A.shape), atol=1e-6)
    assert np.ptp(A[0]) > 0.1  # it does know the positions


def test_free_attention_knows_both(weights):
    A = np.asarray(attention(weights, TOKENS, "free"))
    order = np.roll(np.arange(TASK.length), 1)
    assert np.ptp(A, axis=0).max() > 0.1
    assert np.abs(attention(weights, TOKENS[:, order]) - A[:, order][:, :, order]).max() > 0.1


@pytest.mark.parametrize(
    ("mechanism", "hidden_rows"), [("semantic", slice(8, 16)), ("positional", slice(0, 8))]
)
def test_what_a_mechanism_hides_is_not_trained(weights, mechanism, hidden_rows):
    gradient = jax.jit(jax.grad(lambda w: loss_and_accuracy(w, TOKENS, mechanism)[0]))(weights)
    assert not gradient.W_E[:, 8:].any()
    assert not gradient.W_pos[:, :8].any()
    assert not gradient.W_Q[hidden_rows].any()
    assert not gradient.W_K[hidden_rows].any()
    assert all(np.abs(g).max() > 0 for g in gradient)


def test_float32_even_where_double_precision_is_on(weights):
    differentiate = jax.jit(jax.value_and_grad(loss_and_accuracy, has_aux=True), static_argnums=2)
    with jax.enable_x64(True):
        drawn = initial_weights(jax.random.key(0), TASK)
        measured, gradient = differentiate(weights, TOKENS, "free")
    assert {a.dtype for a in (*drawn, *measured, *gradient)} == {jnp.dtype("float32")}


def test_odd_widths_are_refused():
    with pytest.raises(ValueError, match="width: must be even"):
        initial_weights(jax.random.key(0), TASK, width=15)
