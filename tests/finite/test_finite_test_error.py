import numpy as np
import pytest
from finite_scenarios import SCENARIOS, uneven

from dotphase.finite import test_error as module
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.test_error import exact_test_error
from dotphase.finite.training.objective import gram_loss
from dotphase.numerics.rules import GaussHermite, Sobol
from dotphase.scenario.attentions.attention import matrices
from dotphase.scenario.presets import paper


def monte_carlo(instance, weights, count):
    """The mean of ‖y − f_Q(x)‖²/(dL) over `count` fresh samples, all of them drawn, and its
    standard error."""
    data = sample(instance, count=count, stream="test")
    fields = np.einsum("lni,ir->lrn", data.tokens, weights) / np.sqrt(instance.dimension)
    guess = matrices(data.scenario.student, fields)
    losses = 2 * np.asarray(gram_loss(data.answers, guess, data.grams)) / data.scenario.length
    return losses.mean(), losses.std() / np.sqrt(count)


def weights_of(instance, mix=0.6, seed=0):
    random = np.random.default_rng(seed).standard_normal(
        (instance.dimension, instance.scenario.student.rank)
    )
    toward = instance.teacher_weights[:, :1] + 3 * instance.positions[:1].T
    return mix * toward + 0.5 * random


@pytest.mark.parametrize("name", SCENARIOS)
def test_exact_equals_monte_carlo(name):
    """10⁶ fresh samples; anisotropic Σ_l and p ≠ 0 in all but the first."""
    instance = Instance(SCENARIOS[name], 12, 5)
    weights = weights_of(instance)
    mean, error = monte_carlo(instance, weights, 10**6)
    rule = None if name == "paper" else Sobol(2**16)
    exact = exact_test_error(instance, weights, rule)
    assert exact.error < 2 * error
    assert abs(exact.value - mean) < 4 * np.hypot(error, exact.error)


@pytest.mark.parametrize("forgotten", ["cross", "encodings", "rest", "true"])
def test_a_forgotten_term_is_noticed(monkeypatch, forgotten):
    instance = Instance(uneven(), 12, 5)
    weights = weights_of(instance)
    mean, error = monte_carlo(instance, weights, 10**5)
    whole = module.moments(instance, weights)
    crippled = whole._replace(**{forgotten: np.zeros_like(getattr(whole, forgotten))})
    monkeypatch.setattr(module, "moments", lambda *_: crippled)
    assert abs(exact_test_error(instance, weights).value - mean) > 10 * error


def test_the_two_rules_agree_within_their_errors():
    instance = Instance(paper(), 100, 1)
    weights = weights_of(instance)
    tensor = exact_test_error(instance, weights, GaussHermite(14))
    points = exact_test_error(instance, weights, Sobol(2**14))
    assert abs(tensor.value - points.value) < 4 * (points.error + tensor.error)


def test_a_student_that_is_the_teacher_errs_only_by_its_encodings():
    semantic = paper(omega=0.0)
    bare = semantic.vary(positions=type(semantic.positions)([[0.0, 0.0]]))
    instance = Instance(bare, 50, 0)
    assert abs(exact_test_error(instance, instance.teacher_weights).value) < 1e-12
    assert exact_test_error(Instance(semantic, 50, 0), instance.teacher_weights).value > 1e-3


def test_it_tends_to_the_asymptotic_average_as_d_grows():
    """Where the weights are given by their overlaps alone, only O(1/d) is left of the difference."""
    differences = []
    for d in (100, 400, 1600):
        instance = Instance(paper(), d, 3)
        exact = exact_test_error(instance, weights_of(instance)).value
        flat = module.moments(instance, weights_of(instance))
        # The high-dimensional loss: token vectors orthogonal, of length ∫γ, the encodings' own
        # length forgotten.
        gamma = instance.gamma.mean(1)
        limit = flat._replace(
            true=np.zeros_like(flat.true),
            rest=gamma,
            cross=0 * flat.cross,
            encodings=0 * flat.encodings,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "moments", lambda *_, limit=limit: limit)
            differences.append(abs(exact - exact_test_error(instance, weights_of(instance)).value))
    assert differences[1] < differences[0] / 2
    assert differences[2] < differences[1] / 2
