"""The kinds `bayes`, `learning_curve`, `dynamics` and `flow`: shapes as promised, numbers as their functions give
them."""

import numpy as np
import pytest

from dotphase import learning_curve, solve, train
from dotphase.bayes.limit import bayes
from dotphase.finite.training.optimisers import GradientDescent
from dotphase.learning.online.decomposition import Start
from dotphase.learning.online.one_pass import one_pass
from dotphase.scenario.presets import paper
from dotphase.studies.study.computation import Point, computation_named


def computed(name, own=None, scenario=None, **parameters):
    kind = computation_named(name).model_validate({"kind": name, **parameters})
    row = kind.compute_point(Point(scenario or paper(alpha=0.3), {}, own or {}, {}))
    lengths = {dim: len(values) for dim, values in kind.coordinates().items()}
    for key, variable in kind.every_variable().items():
        if key in row and variable.dims:
            assert np.shape(row[key]) == tuple(lengths[dim] for dim in variable.dims), key
    assert set(kind.variables()) - {"seconds"} <= set(row)
    return row


def test_bayes():
    row = computed("bayes")
    found = bayes(paper(alpha=0.3))
    assert row["test_error"] == float(found.test_error)
    assert row["threshold"] == pytest.approx(1 / 6)
    seeds = [0, 1]
    passed = computed("bayes", {"seed": seeds}, paper(alpha=0.8), d=150, seeds=2)
    assert set(passed["outcome"]) <= {"perfect", "stuck", "stopped", "converged"}


def test_learning_curve():
    row = computed("learning_curve", time=6.0, points=3, step_size=0.75, paths=64)
    curve = learning_curve(paper(alpha=0.3), steps=9, step_size=2 / 3, paths=64)
    np.testing.assert_array_equal(row["test_error"], curve.test_error.value[::3])
    np.testing.assert_array_equal(row["theta_error"], curve.theta.error[::3])
    assert row["outcome"] == curve.outcome


def test_a_learning_curve_with_training():
    options = {"time": 6.0, "points": 3, "step_size": 1.0, "paths": 64, "d": 60, "seeds": 2}
    row = computed("learning_curve", {"seed": [0, 1]}, **options)
    runs = train(paper(alpha=0.3), 60, "semantic", GradientDescent(1.0, 6), seeds=[1])
    assert row["train_loss_seen"][-1, 1] == pytest.approx(runs.train_loss.value, rel=1e-9)
    assert row["theta_seen"][-1, 1] == pytest.approx(runs.theta.value, rel=1e-9)
    assert row["test_error_seen"][1] == pytest.approx(runs.test_error.value, rel=1e-9)
    limit = computed("learning_curve", time=1.0, points=1, paths=64, limit=True)["theta_limit"]
    assert limit == solve(paper(alpha=0.3), "semantic", minimum="reached").theta.value
    with pytest.raises(ValueError, match="limit: the minimum of a random start"):
        computed("learning_curve", start="random", limit=True)
    with pytest.raises(ValueError, match="seeds: training needs a dimension"):
        computed("learning_curve", seeds=2)


def test_dynamics():
    row = computed("dynamics", {"seed": [0, 1]}, d=60, seeds=2, semantic=0.3, until=2.0, points=3)
    path = one_pass(paper(alpha=0.3), Start(0.3, 0.0, 0.1), 10.0, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(row["theta"], path.theta.value[:, 0, 0, 0])
    late = computation_named("dynamics").model_validate(
        {"kind": "dynamics", "early": 0.1, "until": 10.0, "points": 4}
    )
    np.testing.assert_allclose(late.coordinates()["time"], [0, 0.1, 1, 10])


def test_flow():
    row = computed("flow", {}, paper(alpha=2.0), nodes=6)
    assert any(kind.startswith("semantic") for kind in row["rest_kind"])
    assert np.isfinite(row["speed_m"]).all()
