"""Students without a minimum, and those that jump, are refused in one line; sharp ones are not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dotphase
from dotphase import Attention


def cosine(h):
    unit = h / jnp.linalg.norm(h, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize(
    "jumping",
    [
        lambda h: jax.nn.one_hot(jnp.argmax(h @ h.T, axis=1), 2, dtype=h.dtype),
        lambda h: jax.nn.softmax(jnp.sign(h @ h.T), axis=1),
        lambda h: jax.nn.softmax(h @ h.T, axis=1) + 0.2 * jnp.sign(h @ h.T),
    ],
    ids=["argmax", "sign", "a small jump"],
)
def test_a_student_that_jumps_is_refused(jumping):
    with pytest.raises(ValueError, match="student: its function is not differentiable"):
        dotphase.paper().vary(student=Attention(jumping, rank=1))


@pytest.mark.parametrize("temperature", [1.0, 0.02])
def test_a_sharp_or_kinked_student_is_not(temperature):
    sharp = Attention(lambda h: jax.nn.softmax(h @ h.T / temperature, axis=1), rank=1)
    kinked = Attention(lambda h: jnp.maximum(h @ h.T, 0) / temperature, rank=1)
    for student in (sharp, kinked):
        assert dotphase.paper().vary(student=student).student is student


def test_a_student_that_does_not_feel_the_size_of_its_fields_has_no_minimum():
    scenario = dotphase.paper().vary(student=Attention(cosine, rank=2))
    with pytest.raises(ValueError, match="the loss has no minimum"):
        dotphase.solve(scenario, "semantic")
    with pytest.raises(ValueError, match="the loss has no minimum"):
        dotphase.phase(scenario)


def test_a_constant_student_has_one():
    constant = Attention(lambda h: jnp.eye(2) + 0.0 * h @ h.T, rank=1)
    found = dotphase.solve(dotphase.paper().vary(student=constant), "semantic", rtol=None)
    assert found.outcome == "collapsed"
    assert np.abs(found.overlaps.q).max() < 1e-6
