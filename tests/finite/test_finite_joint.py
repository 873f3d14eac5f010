"""Correlated tokens and tokens of random length at finite d."""

import numpy as np
import pytest
from finite_scenarios import THREE

from dotphase import attentions
from dotphase.finite import test_error as module
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.linear_fit import fit_linear
from dotphase.finite.message_passing import local_problem as local_module
from dotphase.finite.message_passing.gamp import Gamp, gamp
from dotphase.finite.message_passing.local_problem import LocalProblem
from dotphase.finite.sample_minima import cavity
from dotphase.finite.test_error import exact_test_error, held_out_error
from dotphase.finite.training.checkpoint import checkpoint
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.optimisers import LBFGS
from dotphase.finite.training.training import train
from dotphase.scenario.presets import paper
from dotphase.scenario.scales import Scales
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens, correlated, exponential_correlation

GAMMA = np.array([[[0.3, 0.1], [0.1, 0.2]], [[0.2, -0.05], [-0.05, 0.4]]])
TWO_LENGTHS = Scales(np.sqrt([0.4, 1.6]))
TOGETHER = Scales([[0.5, 1.2], [1.0, 0.4], [0.7, 2.0]], [0.5, 0.3, 0.2])
MANY = Scales(np.linspace(0.3, 1.5, 9))


def two_kinds(scales: Scales | None = None) -> Scenario:
    tokens = Tokens(covariances=GAMMA, weights=[0.7, 0.3], scales=scales)
    return paper(alpha=2).vary(tokens=tokens, positions=Positions([[1.0, -1.0], [0.5, -1.2]]))


def three_tokens(scales: Scales | None = None, rank: int = 2) -> Scenario:
    Gamma = 0.25 * exponential_correlation(3, 0.4)[None]
    positions = Positions([[1.0, 0.0, -1.0]])
    tokens = Tokens(covariances=Gamma, scales=scales)
    return Scenario(
        attentions.mixture(THREE, 0.3), attentions.softmax(rank), tokens, positions, 1.5, 0.05
    )


def scaled(scales: Scales = TWO_LENGTHS) -> Scenario:
    return paper(alpha=2).vary(tokens=Tokens([[0.25, 0.25]], scales=scales))


SCENARIOS = {
    "correlated": two_kinds(),
    "correlated, scaled": two_kinds(TWO_LENGTHS),
    "scaled": scaled(),
    "scaled together": scaled(TOGETHER),
    "many scales": scaled(MANY),
    "three tokens": three_tokens(TWO_LENGTHS),
}


def unscaled(scenario: Scenario) -> Scenario:
    tokens = scenario.tokens
    return scenario.vary(tokens=Tokens(weights=tokens.share, covariances=tokens.Gamma))


def uncorrelated(scenario: Scenario) -> Scenario:
    tokens = scenario.tokens
    return scenario.vary(tokens=Tokens(tokens.gamma, tokens.share, scales=tokens.scales))


# ----------------------------------------------------------------------------------------- sampling


@pytest.mark.parametrize("name", SCENARIOS)
def test_drawn_tokens_have_the_covariances_they_should(name):
    count, scenario = 20_000, SCENARIOS[name]
    data = sample(scenario, 20, 0, count=count)
    x, tokens = data.tokens - data.instance.positions[:, None], scenario.tokens
    Gamma = tokens.Gamma[data.instance.kind]
    if tokens.scales is not None:
        Gamma = Gamma * tokens.scales.second_moment(scenario.length)
    products = np.einsum("lni,kni->nilk", x, x)
    error = products.std(0) / np.sqrt(count)
    assert np.abs((products.mean(0) - Gamma) / error).max() < 4.8


def test_drawn_scales_have_the_law_they_should():
    data = sample(scaled(TOGETHER), 20, 0, count=20_000)
    for row, share in zip(TOGETHER.s, TOGETHER.share, strict=True):
        seen = (np.abs(data.scales - row[:, None]) < 1e-12).all(0).mean()
        assert abs(seen - share) < 4 * np.sqrt(share * (1 - share) / 20_000)
    x = data.tokens - data.instance.positions[:, None]
    bare = x / data.scales[:, :, None]
    assert np.abs((bare**2).mean() / 0.25 - 1) < 4 * np.sqrt(2 / x.size)
    # Given its scale a token is Gaussian: the square of its length varies as it should, and not
    # more.
    assert np.abs((bare**2).sum(-1).var() / (2 * 20 * 0.25**2) - 1) < 0.1


def test_scales_are_the_same_in_blocks_and_leave_the_normals_alone(monkeypatch):
    from dotphase.finite.data import sampling

    whole, bare = sample(scaled(), 30, 1), sample(unscaled(scaled()), 30, 1)
    monkeypatch.setattr(sampling, "BLOCK", 700)
    np.testing.assert_array_equal(sample(scaled(), 30, 1).tokens, whole.tokens)
    p = whole.instance.positions[:, None]
    np.testing.assert_allclose(
        whole.tokens - p, whole.scales[:, :, None] * (bare.tokens - p), atol=1e-14
    )


def test_covariances_without_correlation_are_todays_tokens():
    diagonal = paper().vary(tokens=Tokens(covariances=[[[0.25, 0.0], [0.0, 0.25]]]))
    np.testing.assert_array_equal(sample(diagonal, 30, 1).tokens, sample(paper(), 30, 1).tokens)


# --------------------------------------------------------------------------------------- test error


def weights_of(instance: Instance) -> np.ndarray:
    random = np.random.default_rng(0).standard_normal(
        (instance.dimension, instance.scenario.student.rank)
    )
    return 0.6 * (instance.teacher_weights[:, :1] + 3 * instance.positions[:1].T) + 0.4 * random


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_exact_test_error_is_that_of_fresh_samples(name):
    instance = Instance(SCENARIOS[name], 12, 5)
    weights = weights_of(instance)
    exact, seen = (
        exact_test_error(instance, weights),
        held_out_error(instance, weights, most=400_000),
    )
    assert exact.error < 2 * seen.error
    assert abs(seen.deviation(exact)) < 4


@pytest.mark.parametrize("wrong", [unscaled, uncorrelated])
def test_the_test_error_knows_of_scales_and_of_correlations(wrong):
    instance = Instance(two_kinds(TWO_LENGTHS), 12, 5)
    weights = weights_of(instance)
    seen = held_out_error(instance, weights, most=200_000)
    assert (
        abs(seen.deviation(exact_test_error(Instance(wrong(instance.scenario), 12, 5), weights)))
        > 8
    )


@pytest.mark.parametrize("left_out", ["fields", "products"])
def test_a_scale_left_out_of_one_place_is_noticed(monkeypatch, left_out):
    instance = Instance(scaled(), 12, 5)
    weights = weights_of(instance)
    seen, whole = held_out_error(instance, weights, most=200_000), module._scaled
    module._compiled.cache_clear()
    here = (1,) if left_out == "fields" else (2,)
    monkeypatch.setattr(
        module, "_scaled", lambda value, s, *l: value if len(l) in here else whole(value, s, *l)
    )
    wrong = exact_test_error(instance, weights)
    module._compiled.cache_clear()
    assert abs(seen.deviation(wrong)) > 5


def test_listed_and_drawn_scales_agree(monkeypatch):
    instance = Instance(scaled(MANY), 30, 1)
    monkeypatch.setattr(module, "LISTED", 1000)
    listed = exact_test_error(instance, weights_of(instance))
    monkeypatch.setattr(module, "LISTED", 1)
    drawn = exact_test_error(instance, weights_of(instance))
    assert abs(drawn.deviation(listed)) < 4


def test_the_linear_baseline_knows_of_both():
    fit = fit_linear(two_kinds(TWO_LENGTHS), 40, seeds=1)
    instance = Instance(two_kinds(TWO_LENGTHS), 40, 0)
    data = sample(instance, count=200_000, stream="test")
    wrong = data.answers - fit.matrices[0][:, :, None]
    each = np.einsum("ijn,jkn,ikn->n", wrong, data.grams.true, wrong) / 2
    assert abs(each.mean() - fit.test_errors[0]) < 4 * each.std() / np.sqrt(len(each))


# ---------------------------------------------------------------------------------- message passing


@pytest.mark.parametrize("start", ["semantic", "positional"])
@pytest.mark.parametrize("minimum", ["lowest", "reached"])
def test_a_fixed_point_is_a_critical_point_of_training(start, minimum):
    scenario = two_kinds(TWO_LENGTHS)
    found = gamp(scenario, 100, start, seeds=1, minimum=minimum)
    assert found.outcomes == {"converged": 1}
    objective = Objective(sample(scenario, 100, 0))
    weights = found.runs[0].weights
    value, gradient = objective(weights)
    assert objective.relative_gradient(weights, value, gradient) < 1e-6
    assert LBFGS(tolerance=1e-6).minimise(objective, weights).steps == 0
    assert found.runs[0].trajectory.response.shape[1:] == (2, 2, 1, 1)


@pytest.mark.parametrize(
    "scenario", [correlated(2, 0.5, -0.2), scaled().tokens], ids=["correlated", "scaled"]
)
def test_from_the_teacher_it_finds_what_training_finds(scenario):
    task = paper().vary(tokens=scenario)
    one, other = gamp(task, 100, seeds=1).runs[0], train(task, 100, seeds=1).runs[0]
    assert one.train_loss == pytest.approx(other.train_loss, rel=1e-9)
    assert one.test_error.value == pytest.approx(other.test_error.value, rel=1e-3)


@pytest.mark.slow
def test_three_tokens_of_rank_two_converge():
    found = gamp(three_tokens(TWO_LENGTHS, rank=1), 120, seeds=1)
    assert found.outcomes == {"converged": 1}


def settled(scenario: Scenario):
    """A fixed point, as the state before a step of plain (undamped) message passing."""
    run = gamp(scenario, 100, "semantic", seeds=1, tolerance=1e-9).runs[0]
    method = Gamp(Objective(sample(scenario, 100, 0)))
    state = method.first(run.weights, run.trajectory.response[-1])
    slopes = -method.local.slopes(method.objective.fields(run.weights))
    return method, state._replace(slopes=slopes)


def moved(method: Gamp, state) -> float:
    after, _ = method.step(state)
    return float(np.linalg.norm(after.weights - state.weights) / np.linalg.norm(state.weights))


def test_a_step_from_a_fixed_point_stays_and_wrong_ones_do_not():
    method, state = settled(two_kinds(TWO_LENGTHS))
    assert moved(method, state) < 1e-6
    method.coupling.scales = np.ones_like(
        method.coupling.scales
    )  # the Onsager term without its scales
    assert moved(method, state) > 1e-4
    method, state = settled(two_kinds(TWO_LENGTHS))
    method.local._scales = np.ones_like(method.local._scales)  # the prox without its scales
    assert moved(method, state) > 1e-4
    method, state = settled(two_kinds(TWO_LENGTHS))
    after, _ = method.step(state)
    np.testing.assert_allclose(after.response, state.response, rtol=1e-6)
    assert np.abs(state.response[0, 1]).max() > 0.01 * state.response[0, 0].max()


def test_the_response_is_the_derivative_of_the_prox():
    data = sample(three_tokens(TWO_LENGTHS), 20, 1)
    local, random = LocalProblem(Objective(data)), np.random.default_rng(0)
    w = random.standard_normal((3, 2, data.count))
    root = 0.4 * random.standard_normal((6, 6)) + np.eye(6)
    V = local_module.blocks_of((root @ root.T)[None], 3)
    here, h, s = local.prox(w, V, w, "nearest"), 1e-5, data.scales
    expected = np.linalg.solve(
        local_module.joined(V), ((here.fields - w) / s[:, None]).reshape(6, -1)
    )
    np.testing.assert_allclose(here.slopes * s[:, None], expected.reshape(w.shape), atol=1e-8)
    for l, a in ((0, 0), (2, 1)):
        along = np.zeros_like(w)
        along[l, a] = h
        change = (
            (
                local.prox(w + along, V, w, "nearest").slopes
                - local.prox(w - along, V, w, "nearest").slopes
            )
            / 2
            / h
        )
        for k in range(3):
            seen = (s[l] * s[k] * change[k]).sum(-1)
            np.testing.assert_allclose(here.slope_response[k, l, :, a], seen, rtol=1e-4, atol=1e-4)


def test_a_trained_model_has_cavity_fields():
    scenario = two_kinds(TWO_LENGTHS)
    objective = Objective(sample(scenario, 60, 0))
    found = cavity(objective, train(scenario, 60, seeds=1).runs[0].weights)
    assert found.response.shape == (2, 2, 1, 1)
    assert np.isfinite(found.centres).all()
    assert found.higher.mean() < 0.2


# ------------------------------------------------------------------------------- files, checkpoints


@pytest.mark.parametrize("memory", [1e9, 1e3])
def test_checkpoints_keep_the_scales(tmp_path, memory):
    scenario = two_kinds(TWO_LENGTHS)
    plain = gamp(scenario, 60, seeds=1).runs[0]
    for _ in range(2):  # the second is played back
        with checkpoint(tmp_path / "kept", memory=memory):
            kept = gamp(scenario, 60, seeds=1).runs[0]
        np.testing.assert_allclose(kept.weights, plain.weights, rtol=1e-9, atol=1e-12)
