"""Learning curves: exact symmetries, orthogonal modes, errors that cover, files, and what is
refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import dotphase
from dotphase import Attention, Scales, Tokens, attentions, learning_curve, paper
from dotphase.finite.data.instance import Instance
from dotphase.finite.training.optimisers import GradientDescent
from dotphase.learning import Decomposition, LearningCurve, Start
from dotphase.learning.full_batch.descent import Descent
from dotphase.learning.full_batch.learning_curve import OBSERVABLES
from dotphase.learning.full_batch.loss import SampleLoss
from dotphase.learning.full_batch.schedule import schedule_of
from dotphase.learning.full_batch.starts import first_weights
from dotphase.numerics.rules import Sobol
from dotphase.results.statistics import over_seeds

CHEAP = {"steps": 30, "step_size": 1.0, "paths": 256}


@pytest.mark.parametrize(("start", "zero"), [("positional", "theta"), ("semantic", "m")])
def test_what_is_zero_by_symmetry_stays_zero(start, zero):
    found = learning_curve(paper(alpha=1, omega=0.3), start, **CHEAP)
    assert found.outcome == "finished"
    assert (getattr(found, zero).value == 0).all()
    assert (np.diff(found.train_loss.value) < 0).all()


def test_a_random_start_learns_nothing_without_a_dimension_and_something_with_one():
    options = {**CHEAP, "steps": 100}
    stays = learning_curve(paper(alpha=2, omega=0.6), "random", **options)
    assert stays.m[-1] == stays.theta[-1] == 0
    leaves = learning_curve(paper(alpha=2, omega=0.6), "random", d=1000, **options)
    assert leaves.m[0].value < 0.01
    assert leaves.m[-1].value > 0.1


def test_the_dimension_enters_the_loss():
    """α E[½ Tr[S p pᵀ Sᵀ]]/d: here p_1 = −p_2, so it is at most α/d."""
    alone, sized = (learning_curve(paper(alpha=1), d=d, **CHEAP) for d in (None, 100))
    gap = (sized.train_loss - alone.train_loss)[0].value
    assert 0 < gap < 1 / 100


def test_the_positional_start_is_that_of_training():
    found = learning_curve(paper(alpha=1), "positional", d=400, **CHEAP)
    assert found.m.value[0] == pytest.approx(1 / 20)
    assert learning_curve(paper(alpha=1), "positional", **CHEAP).m.value[0] == pytest.approx(1)


def test_modes_and_noise_are_orthonormal():
    scenario, rule = paper(alpha=1.2, omega=0.3, ridge=0.001), Sobol(2**11, 4)
    distribution = scenario.distribution
    first = first_weights(scenario, Start(0.4, 0.2, 0.3), distribution, None, 0)
    descent = Descent(scenario, first, distribution, SampleLoss(scenario, distribution, None), rule)
    found = descent.run(schedule_of(scenario, 300, None, 0.75, 0.0), 1e-8, lambda *_: None)
    pushes = descent.modes.pushes[0]
    assert pushes.shape[1] > 20
    gram = scenario.sample_ratio / 512 * pushes @ pushes.swapaxes(1, 2)
    assert np.abs(gram - np.eye(pushes.shape[1])).max() < 1e-10
    # Φ = σ (ξ + c): take the memory away, and the normals are left.
    xi = descent.modes.fields / np.sqrt(distribution.gamma[0, 0])
    xi[:, -pushes.shape[1] :] -= pushes
    normals = xi.reshape(4, -1, 512)
    both = normals @ normals.swapaxes(1, 2) / 512
    assert np.abs(both - np.eye(normals.shape[1])).max() < 1e-10
    assert np.abs(normals.mean(-1)).max() < 1e-12
    assert found.modes == len(descent.modes.group)


@pytest.mark.parametrize(
    "scenario",
    [
        paper(alpha=1).vary(student=attentions.softmax(2)),
        paper(alpha=1).vary(student=attentions.softmax(1, tied=False)),
        paper(alpha=1).vary(student=Attention(lambda h: jnp.cos(h @ h.T) / 2, rank=1)),
        paper(alpha=1).vary(tokens=Tokens([[0.2, 0.3], [0.5, 0.1]], [0.6, 0.4])),
    ],
    ids=["rank two", "untied", "own function", "two groups"],
)
def test_every_scenario_of_the_kind_has_a_curve(scenario):
    found = learning_curve(scenario, "semantic", d=300, **CHEAP)
    assert found.outcome == "finished"
    assert (np.diff(found.train_loss.value) < 0).all()
    for name in OBSERVABLES:
        assert np.isfinite(getattr(found, name).value).all()


def test_time_and_steps_are_one_schedule():
    by_time = learning_curve(paper(alpha=1), time=10, step_size=0.8, paths=256)
    assert len(by_time.times) == 14
    assert by_time.times[-1] == pytest.approx(10)
    sizes = np.full(13, 10 / 13)
    assert learning_curve(paper(alpha=1), step_size=sizes, paths=256) == by_time


def test_steps_that_are_too_long_are_named_unstable():
    found = learning_curve(paper(alpha=2), "positional", steps=60, step_size=12.0, paths=256)
    assert found.outcome == "unstable"
    assert "lower step_size" in found.reason


def test_too_few_paths_are_named_imprecise():
    found = learning_curve(
        paper(alpha=1, ridge=0.001), Start(0.3, 0.3, 0.3), steps=300, paths=64, cut=1e-9
    )
    assert found.outcome == "imprecise"
    assert "raise paths" in found.reason


def test_results_are_kept_and_shown(tmp_path):
    found = learning_curve(paper(alpha=1), **CHEAP)
    found.save(tmp_path / "curve.dotphase")
    again = dotphase.load(tmp_path / "curve.dotphase")
    assert again == found
    assert isinstance(again, LearningCurve)
    assert found.to_xarray()["test_error"].shape == (31,)
    assert found.to_xarray()["q_of_token"].dims[:2] == ("step", "token")
    assert found.to_dict()["train_loss"]["value"][-1] == found.train_loss.value[-1]
    assert len(found.rows()) == len(found.to_pandas()) == 31
    assert len(found.plot().axes) == 3
    assert "semantic start" in str(found)


def test_the_same_seed_gives_the_same_curve_and_another_one_does_not():
    one, same, other = (learning_curve(paper(alpha=1), seed=s, **CHEAP) for s in (0, 0, 1))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either steps or time"),
        ({"steps": 3, "time": 2.0}, "either steps or time"),
        ({"steps": 0}, "steps: expected a whole number"),
        ({"time": -1.0}, "time: must be positive"),
        ({"steps": 3, "step_size": 0}, "step_size: must be positive"),
        ({"steps": 3, "step_size": [0.1, -1]}, "step_size: expected a positive number"),
        ({"steps": 3, "step_size": [0.1, 0.1]}, "leave out steps"),
        ({"steps": 3, "momentum": 1.0}, "below 1"),
        ({"steps": 3, "paths": 1000}, "paths: expected a power of two"),
        ({"steps": 3, "replicates": 2}, "replicates: expected a whole number of at least 4"),
        ({"steps": 3, "cut": 0}, "cut: must"),
        ({"steps": 3, "d": 0}, "d: expected"),
        ({"steps": 3, "start": "uninformed"}, "start: expected semantic"),
        ({"steps": 3, "start": Decomposition(np.zeros((1, 2, 3)), np.zeros((1, 1, 1)))}, "shapes"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        learning_curve(paper(), **options)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (Tokens(covariances=[[[0.25, 0.1], [0.1, 0.25]]]), "correlated tokens"),
        (Tokens([[0.25, 0.25]], scales=Scales(np.sqrt([0.4, 1.6]))), "random scales"),
    ],
)
def test_tokens_without_equations_are_refused(tokens, words):
    with pytest.raises(ValueError, match=words):
        learning_curve(paper().vary(tokens=tokens), steps=3)


def test_errors_cover():
    """Deviations of independent runs from their mean, in units of their own errors."""
    options = {"steps": 60, "step_size": 1.0, "paths": 512, "replicates": 8}
    runs = [
        learning_curve(paper(alpha=1), Start(0.4, 0.2, 0.3), seed=seed, **options)
        for seed in range(200)
    ]
    for name in OBSERVABLES:
        values = np.array([getattr(run, name).value[5::5] for run in runs])
        errors = np.array([getattr(run, name).error[5::5] for run in runs])
        z = (values - values.mean(0)) / errors
        rms = np.sqrt((z**2).mean() * len(runs) / (len(runs) - 1))
        assert 0.8 < rms < 1.25, name


def test_a_student_that_has_learned_everything_stays():
    """Without ridge and mixing the semantic start is the teacher: all losses are zero."""
    found = learning_curve(paper(alpha=1, omega=0, ridge=0), "semantic", **CHEAP)
    assert found.outcome == "finished"
    assert np.abs(found.train_loss.value).max() < 1e-12
    assert found.theta.value == pytest.approx(0.25 * np.ones(31), abs=1e-12)


def test_noise_does_not_push_small_overlaps():
    """m and θ of order 1/√d grow in proportion to what they were, however small that is."""
    grown = []
    for d in (10**8, 10**12):
        found = learning_curve(paper(alpha=2), "random", d=d, **CHEAP)
        grown.append(
            [found.m.value[-1] / found.m.value[0], found.theta.value[-1] / found.theta.value[0]]
        )
        assert found.m.value[-1] > 3 * found.m.value[0]
    np.testing.assert_allclose(grown[0], grown[1], rtol=1e-3)


def test_correlations_between_two_times_are_those_of_training():
    scenario, steps = paper(alpha=1, omega=0.3), (0, 20, 60)
    curve = learning_curve(scenario, "semantic", steps=60, step_size=1.0, d=500, keep=steps)
    assert curve.correlation is not None
    np.testing.assert_allclose(np.diag(curve.correlation.value), curve.q.value[list(steps)])
    seen = []
    for seed in range(12):
        paths = [Instance(scenario, 500, seed).teacher_weights]
        for count in (20, 40):
            method = GradientDescent(1.0, count, tolerance=1e-300)
            run = dotphase.train(scenario, 500, paths[-1], method, seeds=[seed]).runs[0]
            paths.append(run.weights)
        seen.append([[0.25 * (a * b).sum() / 500 for b in paths] for a in paths])
    gap = over_seeds(np.array(seen)) - curve.correlation
    assert np.abs(gap.deviation()[np.triu_indices(3, 1)]).max() < 4
    without = over_seeds(np.array(seen)).value[0, 2]
    assert abs(curve.q.value[60] - without) > 10 * gap.error[0, 2]  # not the same as q


def test_a_start_whose_loss_is_not_finite_is_refused():
    scenario = paper(alpha=1).vary(student=attentions.linear(1))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"^start: the loss is not"):
        learning_curve(scenario, Start(1e200, 0.0, 0.0), **CHEAP)


def test_more_steps_than_anyone_can_wait_for_are_refused():
    with pytest.raises(ValueError, match=r"^time: 1e\+12 steps are too many, at most 1e\+06"):
        learning_curve(paper(), time=1e9, step_size=1e-3)
    with pytest.raises(ValueError, match=r"^steps: 2e\+07 steps"):
        learning_curve(paper(), steps=20_000_000)
    with pytest.raises(ValueError, match=r"^step_size: 2e\+06 steps"):
        learning_curve(paper(), step_size=np.ones(2_000_000))
