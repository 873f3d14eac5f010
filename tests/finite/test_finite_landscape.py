import numpy as np
import pytest
from finite_scenarios import uneven

from dotphase import attentions
from dotphase.finite.data.sampling import sample
from dotphase.finite.landscape import lowest_curvatures, nearest_image, relaxed_path, straight_path
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.starts import start_weights
from dotphase.finite.training.training import train
from dotphase.scenario.presets import paper


@pytest.fixture(scope="module")
def minima():
    objective = Objective(sample(paper(alpha=2.0), 100, 0))
    return objective, *(
        train(paper(), 100, s, seeds=1).runs[0].weights for s in ("semantic", "positional")
    )


def test_lanczos_finds_the_lowest_eigenvalues_of_the_dense_hessian(minima):
    objective, semantic, _ = minima
    product = objective.curvature(semantic)
    dense = np.stack([product(e[:, None])[:, 0] for e in np.eye(100)])
    np.testing.assert_allclose(dense, dense.T, atol=1e-12)
    found = lowest_curvatures(objective, semantic, count=4)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(dense)[:4], rtol=1e-6)
    assert found.verdict == "minimum"


def test_the_origin_is_a_saddle():
    objective = Objective(sample(paper(), 100, 0))
    assert lowest_curvatures(objective, np.zeros((100, 1))).verdict == "saddle"


def test_where_the_gradient_is_not_small_there_is_no_verdict(minima):
    objective, semantic, _ = minima
    assert lowest_curvatures(objective, 1.1 * semantic).verdict == "not stationary"


def test_a_tied_student_of_rank_two_has_its_flat_direction():
    scenario = uneven(attentions.softmax(2), alpha=3.0)
    objective = Objective(sample(scenario, 60, 0))
    Q = train(scenario, 60, "semantic", seeds=1).runs[0].weights
    found = lowest_curvatures(objective, Q, count=3)
    assert found.verdict == "flat"
    turn = Q @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    overlap = abs(np.vdot(turn / np.linalg.norm(turn), found.directions[0]))
    assert overlap == pytest.approx(1.0, abs=1e-4)


def test_between_the_minima_lies_a_barrier_and_the_string_lowers_it(minima):
    objective, semantic, positional = minima
    straight = straight_path(objective, semantic, positional, points=21)
    assert straight.barrier > 0
    assert straight.distance > 0.1
    relaxed = relaxed_path(
        objective, straight_path(objective, semantic, positional, points=11), steps=30
    )
    assert 0 < relaxed.barrier < straight.barrier
    np.testing.assert_array_equal(relaxed.weights[0], straight.weights[0])
    gaps = np.diff(relaxed.position)
    assert gaps.max() < 1.2 * gaps.min()


def test_a_point_and_its_image_are_the_same_point(minima):
    objective, semantic, _ = minima
    np.testing.assert_allclose(nearest_image(objective, semantic, -semantic), semantic)
    assert straight_path(objective, semantic, -semantic).barrier == pytest.approx(0, abs=1e-12)


def test_no_turning_where_it_would_change_the_function():
    scenario = uneven(attentions.softmax(1, tied=False))
    objective = Objective(sample(scenario, 40, 0))
    random = np.random.default_rng(0)
    anchor, weights = random.standard_normal((2, 40, 2))
    np.testing.assert_array_equal(nearest_image(objective, anchor, weights), weights)
    assert start_weights(objective.sample.instance, "semantic").shape == (40, 2)
