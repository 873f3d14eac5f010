"""The output half-step: derivatives written by hand against differences, and small factorisations
against LAPACK."""

import jax.numpy as jnp
import numpy as np
import pytest

from dotphase import attentions
from dotphase.numerics.compilation import OPTIONS, known_options
from dotphase.numerics.precision import in_double
from dotphase.numerics.rules import Sobol
from dotphase.numerics.small_matrices import cholesky, inverse, inverted
from dotphase.overlaps.coordinates import to_coordinates
from dotphase.scenario.attentions.attention import Attention
from dotphase.scenario.attentions.symmetry import symmetries
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, isotropic
from dotphase.theory.solver.starts import start
from dotphase.theory.state_evolution.evaluator import RIVALS, evaluator_of
from dotphase.theory.state_evolution.half_steps import compiled_evaluate

A3 = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
P3 = np.array([[1.0, 0.5, 0.0], [-0.5, 1.0, 0.3], [0.2, -0.3, 1.0]])


def _scenario(student, length):
    teacher = attentions.mixture(
        A3[:length, :length] / A3[:length, :length].sum(1, keepdims=True), 0.3
    )
    return Scenario(teacher, student, isotropic(length, 0.5), Positions(P3[:, :length]), 2.0, 0.01)


SCENARIOS = {
    "paper": paper(1.5, 0.3),
    "three tokens, rank two": _scenario(attentions.softmax(2), 3),
    "untied": _scenario(attentions.softmax(1, tied=False), 2),
    "a user's own": _scenario(Attention(lambda h: jnp.tanh(h @ h.T), 1), 2),
}


@pytest.mark.parametrize("name", SCENARIOS)
@in_double
def test_slopes_of_the_averages_are_their_differences(name):
    scenario = SCENARIOS[name]
    rule = Sobol(2**10, seed=1)
    group = symmetries(scenario)
    evaluator = evaluator_of(scenario, rule, group, group[:1])
    rng = np.random.default_rng(0)
    begin = start(scenario, "semantic")
    x = np.asarray(
        to_coordinates(begin._replace(V=30 * begin.V), scenario.distribution.rho)
    )  # a loose prox has several minima
    x = x + 0.1 * rng.normal(size=x.shape)
    known = evaluator(x, evaluator.search(x)).minima  # to the last digit
    assert known.several > 0.01  # so that rivals take part
    block, minima = evaluator.ensemble.blocks[0], known.blocks[0]
    directions = rng.normal(size=(3, len(x)))

    def evaluated(at):
        run = compiled_evaluate(scenario.structure)
        return run(evaluator.values, at, directions, block, minima, 10 * known.blur)

    slopes, step = np.asarray(evaluated(x).slopes), 1e-6
    pooled = lambda at: rule.pool @ np.asarray(evaluated(at).moments)
    for direction, slope in zip(directions, slopes, strict=True):
        difference = lambda h, d=direction: (pooled(x + h * d) - pooled(x - h * d)) / (2 * h)
        precise = (
            4 * difference(step) - difference(2 * step)
        ) / 3  # the error of fourth order in h
        assert np.abs(slope - precise).max() < 1e-6 * np.abs(precise).max()
        assert len(minima.z[0, 0]) == block.xi.shape[-1] + RIVALS


@in_double
def test_small_factorisations_are_those_of_lapack():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(5, 3, 3))
    matrices = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(3)
    lower = np.linalg.cholesky(matrices)
    np.testing.assert_allclose(cholesky(matrices), lower, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(inverted(lower), np.linalg.inv(lower), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(inverse(matrices), np.linalg.inv(matrices), rtol=1e-10, atol=1e-10)
    assert not np.isfinite(cholesky(-matrices)).all()


def test_options_the_compiler_does_not_know_are_left_out(monkeypatch):
    known_options.cache_clear()
    monkeypatch.setitem(OPTIONS, "xla_cpu_no_such_option", True)
    try:
        assert "xla_cpu_no_such_option" not in known_options()
    finally:
        known_options.cache_clear()
