"""The Bayes-optimal limit: its fibre, thresholds, identities, and that nothing beats it."""

import numpy as np
import pytest

from dotphase import attentions
from dotphase.bayes.channel import posterior, signs_of
from dotphase.bayes.limit import BayesProblem, bayes, weak_recovery
from dotphase.bayes.message_passing import BayesMessages, bayes_message_passing
from dotphase.finite.data.instance import Instance
from dotphase.numerics.rules import Sobol
from dotphase.scenario.presets import paper
from dotphase.scenario.scales import Scales
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens
from dotphase.theory.baseline import linear_baseline
from dotphase.theory.solver.solve import solve


def tokens_alike(length, teacher=None):
    return Scenario(
        teacher=attentions.mixture(np.full((length, length), 1 / length), 0.3, teacher),
        student=attentions.softmax(1),
        tokens=Tokens([[0.3] * length]),
        positions=Positions(np.eye(length)[:1]),
        sample_ratio=0.3,
        ridge=0.01,
    )


def test_two_points_are_a_tanh():
    rng = np.random.default_rng(0)
    u, w = rng.normal(size=(2, 2, 1, 50))
    V = np.array([[[0.3]], [[0.7]]])
    found = posterior(u, w, 1 / V, signs_of(paper()))
    wanted = u * np.tanh((u * w / V).sum((0, 1)))
    np.testing.assert_allclose(found.mean, wanted, rtol=1e-5)
    assert np.abs(found.mean - u).max() > 0.1


@pytest.mark.parametrize("length", [2, 3, 4])
def test_the_weak_recovery_threshold_is_the_closed_form(length):
    found = weak_recovery(tokens_alike(length))
    assert float(found.sample_ratio) == pytest.approx(1 / (length * (length + 1)), abs=1e-10)
    assert found.closed_form == pytest.approx(1 / (length * (length + 1)))


def test_other_spectra_have_another_threshold_and_one_sign_per_token_too():
    uneven = tokens_alike(2).vary(tokens=Tokens([[0.1, 0.3], [0.9, 0.3]], [0.8, 0.2]))
    assert float(weak_recovery(uneven).sample_ratio) < 1 / 6 - 0.01
    assert len(signs_of(tokens_alike(1, attentions.linear(1)))) == 2
    assert float(
        weak_recovery(tokens_alike(1, attentions.linear(1))).sample_ratio
    ) == pytest.approx(0.5)


def test_state_evolution_leaves_the_uninformed_point_at_the_threshold():
    for alpha, grows in ((0.15, False), (0.185, True)):
        problem = BayesProblem(paper(alpha=alpha), Sobol(2**15))
        slope = (1 - problem.left(_step(problem, 1 - 1e-3))) / 1e-3  # of q, per step
        assert (slope.mean() > 1) == grows
        error = slope.std(ddof=1) / np.sqrt(len(slope))
        assert abs(slope.mean() - 6 * alpha) < 4 * error + 6e-3  # curvature: q is not infinitesimal


def _step(problem, left):
    import jax

    with jax.enable_x64(True):
        return problem.step(problem.first(left))


@pytest.mark.parametrize("wrong", [False, True])
def test_nishimori_holds_with_the_tanh_and_not_with_a_sign(wrong):
    """E[g gᵀ] = −E[∂g/∂w], which in Stein's form is E[û (u − û)] = 0."""
    rng, q, rho = np.random.default_rng(1), 0.1, 0.25
    w = np.sqrt(q) * rng.normal(size=(2, 1, 200_000))
    u = w + np.sqrt(rho - q) * rng.normal(size=w.shape)
    along = (u * w).sum((0, 1)) / (rho - q)
    known = u * (np.sign(along) if wrong else np.tanh(along))
    gap = (known * (u - known)).sum((0, 1))
    deviation = abs(gap.mean()) / (gap.std() / np.sqrt(gap.size))
    assert deviation > 20 if wrong else deviation < 4


def test_nothing_is_known_below_the_threshold_and_everything_above_one_half():
    below = bayes(paper(alpha=0.1))
    linear = linear_baseline(paper()).test_error
    assert abs(below.test_error.deviation(linear)) < 4
    for start in ("uninformed", "informed"):
        assert bayes(paper(alpha=0.7), start).outcome == "perfect"
    between = [bayes(paper(alpha=0.3), start) for start in ("uninformed", "informed")]
    assert abs(between[0].test_error.value - between[1].test_error.value) < 1e-6
    assert 0 < between[0].test_error.value < linear.value


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0])
def test_no_minimum_of_training_beats_it(alpha):
    best = bayes(paper(alpha=alpha)).test_error
    for branch in ("semantic", "positional"):
        assert solve(paper(alpha=alpha), branch, rtol=None).test_error > best


@pytest.mark.parametrize(
    "teacher",
    [attentions.softmax(2), attentions.softmax(1, tied=False), attentions.linear(2)],
)
def test_a_continuum_of_fields_is_refused(teacher):
    with pytest.raises(ValueError, match="continuum of fields") as caught:
        bayes(tokens_alike(2, teacher))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="continuum"):
        bayes(paper(omega=1.0))
    with pytest.raises(ValueError, match="start: expected"):
        bayes(paper(), "semantic")


def test_message_passing_sees_fields_only_up_to_their_sign():
    scenario = paper(alpha=0.4)
    instance, signs = Instance(scenario, 200, 0), signs_of(scenario)
    one, other = BayesMessages(instance, signs), BayesMessages(instance, signs)
    other.u = one.u * np.random.default_rng(0).choice([-1.0, 1.0], one.u.shape[-1])
    states = [messages.step(messages.step(messages.first(0.1))) for messages in (one, other)]
    np.testing.assert_allclose(states[0].weights, states[1].weights, rtol=1e-4, atol=1e-6)


def test_message_passing_finds_the_teacher_or_says_that_it_is_stuck():
    runs = bayes_message_passing(paper(alpha=0.8), 300, 3, rule=Sobol(2**13))
    assert runs.outcomes["perfect"] >= 2
    for run in runs.runs:
        assert (run.outcome == "perfect") == (float(run.test_error) < 1e-6)
        if run.outcome == "perfect":
            assert run.overlap == pytest.approx(run.q, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.35, 0.4, 0.45])
def test_message_passing_is_on_the_curve(alpha):
    limit = bayes(paper(alpha=alpha))
    runs = bayes_message_passing(paper(alpha=alpha), 2000, 16, iterations=300, tolerance=1e-5)
    assert abs(runs.test_error.deviation(limit.test_error)) < 3
    assert abs(runs.q.deviation(float(np.trace(limit.q.value.mean(0))))) < 3


@pytest.mark.parametrize("of", [bayes, weak_recovery, lambda s: bayes_message_passing(s, 20, 1)])
def test_what_has_no_equations_is_refused_everywhere_in_the_same_words(of):
    scaled = paper().vary(tokens=Tokens([[0.25, 0.25]], scales=Scales([0.5, 1.5])))
    given = Scenario(
        attentions.softmax(1),
        attentions.softmax(1),
        Tokens([[0.3, 0.3]] * 2, [0.5, 0.5]),
        Positions(np.eye(2)[:1]),
        0.3,
        0.01,
        teacher_weights=[[1.0], [-1.0]],
    )
    with pytest.raises(ValueError, match=r"^tokens: Bayes-optimal inference has no equations"):
        of(scaled)
    with pytest.raises(ValueError, match=r"^teacher_weights: Bayes-optimal inference is for"):
        of(given)


def test_the_threshold_of_many_fields_has_the_error_of_its_average():
    found = weak_recovery(tokens_alike(9)).sample_ratio
    assert 1e-7 < found.error < 1e-3
    assert abs(found.deviation(1 / 90)) < 4
