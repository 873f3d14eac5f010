import numpy as np
import pytest
from finite_scenarios import uneven

from dotphase import attentions
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.message_passing.gamp import Gamp, gamp
from dotphase.finite.message_passing.local_problem import LocalProblem
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.optimisers import LBFGS
from dotphase.finite.training.starts import start_weights
from dotphase.finite.training.training import train
from dotphase.scenario.attentions.attention import matrices
from dotphase.scenario.presets import paper


@pytest.mark.parametrize("start", ["semantic", "positional"])
@pytest.mark.parametrize("alpha", [2.0, pytest.param(1.25, marks=pytest.mark.slow)])
def test_a_fixed_point_is_a_critical_point_of_training(alpha, start):
    found = gamp(paper(alpha=alpha), 100, start, seeds=2)
    for run in found.runs:
        assert run.outcome == "converged"
        objective = Objective(sample(paper(alpha=alpha), 100, run.seed))
        value, gradient = objective(run.weights)
        assert objective.relative_gradient(run.weights, value, gradient) < 1e-6
        moved = LBFGS(tolerance=1e-6).minimise(objective, run.weights)
        assert moved.steps == 0
        settled = LBFGS(tolerance=1e-9).minimise(objective, run.weights)
        assert np.linalg.norm(settled.weights - run.weights) < 1e-4 * np.linalg.norm(run.weights)


def test_from_the_teacher_it_finds_what_training_finds():
    passed, trained = (
        gamp(paper(), 100, "semantic", seeds=2),
        train(paper(), 100, "semantic", seeds=2),
    )
    for one, other in zip(passed.runs, trained.runs, strict=True):
        assert one.train_loss == pytest.approx(other.train_loss, rel=1e-9)
        np.testing.assert_allclose(np.abs(one.weights), np.abs(other.weights), atol=1e-4)


@pytest.mark.slow
def test_every_student_converges_to_a_critical_point():
    for scenario in (
        uneven(attentions.softmax(1)),
        uneven(attentions.softmax(1, tied=False), alpha=3.0),
    ):
        found = gamp(scenario, 120, "semantic", seeds=1, iterations=800)
        assert found.outcomes == {"converged": 1}, found.runs[0].reason


def test_the_local_loss_is_the_exact_loss_of_the_sample():
    """½‖A − S K‖² differs from ‖y − f‖²/(2d) by a constant of the sample: differences between two z
    must agree."""
    from dotphase.finite.training.objective import gram_loss
    from dotphase.inner.loss import Problem, sample_loss

    data = sample(uneven(), 30, 1)
    local = LocalProblem(Objective(data))
    random = np.random.default_rng(0)
    losses, exact = [], []
    for _ in range(2):
        z = random.standard_normal((3, 2, data.count))
        problem = Problem(local._target, z, np.ones((3, 2, 2)), np.ones(3), local._parameters)
        losses.append(np.asarray(sample_loss(local._form, problem, z)))
        exact.append(
            np.asarray(gram_loss(data.answers, matrices(data.scenario.student, z), data.grams))
        )
    np.testing.assert_allclose(losses[0] - losses[1], exact[0] - exact[1], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_the_response_is_the_derivative_of_the_prox():
    data = sample(uneven(), 30, 1)
    local = LocalProblem(Objective(data))
    random = np.random.default_rng(0)
    w = random.standard_normal((3, 2, data.count))
    V = np.stack([np.array([[0.5, 0.1], [0.1, 0.3]]) * (l + 1) for l in range(3)])
    here = local.prox(w, V, w)
    h = 1e-5
    for l, a in ((0, 0), (1, 1), (2, 0)):
        along = np.zeros_like(w)
        along[l, a] = h
        change = (local.prox(w + along, V, w).slopes - local.prox(w - along, V, w).slopes) / (2 * h)
        np.testing.assert_allclose(
            here.slope_response[l, a], change[l].sum(-1), rtol=1e-4, atol=1e-4
        )


def test_a_step_from_a_fixed_point_stays():
    run = gamp(paper(), 100, "semantic", seeds=1, tolerance=1e-9, iterations=1000).runs[0]
    objective = Objective(sample(paper(), 100, 0))
    method = Gamp(objective)
    state = method.first(run.weights, run.trajectory.response[-1])
    slopes = -np.asarray(_slopes(objective, run.weights))
    state = state._replace(slopes=slopes)
    after, _ = method.step(state)
    assert np.linalg.norm(after.weights - run.weights) < 1e-6 * np.linalg.norm(run.weights)


def test_without_the_onsager_term_it_is_not_a_fixed_point():
    run = gamp(paper(), 100, "semantic", seeds=1, tolerance=1e-9, iterations=1000).runs[0]
    method = Gamp(Objective(sample(paper(), 100, 0)))
    after, _ = method.step(method.first(run.weights, run.trajectory.response[-1]))  # slopes zero
    assert np.linalg.norm(after.weights - run.weights) > 1e-2 * np.linalg.norm(run.weights)


def _slopes(objective, weights):
    """∇ℓ_μ at the fields of the weights, by differences of the loss of each sample."""
    from dotphase.finite.training.objective import gram_loss

    z, data, h = objective.fields(weights), objective.sample, 1e-5
    slopes = np.zeros_like(z)
    for l in range(z.shape[0]):
        for a in range(z.shape[1]):
            up, down = z.copy(), z.copy()
            up[l, a] += h
            down[l, a] -= h
            loss = lambda z: np.asarray(
                gram_loss(data.answers, matrices(data.scenario.student, z), data.grams)
            )
            slopes[l, a] = (loss(up) - loss(down)) / (2 * h)
    return slopes


def test_trajectories_begin_at_the_start():
    run = gamp(paper(), 100, "semantic", seeds=1).runs[0]
    instance = Instance(paper(), 100, 0)
    Q = start_weights(instance, "semantic")
    assert run.trajectory.overlaps.q[0, 0, 0, 0] == pytest.approx(0.25 * (Q**2).sum() / 100)
    assert len(run.trajectory.gradient_norm) == run.steps + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("damping", 1.0), ("iterations", 0), ("searching", -1), ("tolerance", 0.0), ("seeds", [2, 2])],
)
def test_bad_input_is_refused(name, value):
    with pytest.raises(ValueError, match=name):
        gamp(paper(), 40, **{name: value})


def test_few_iterations_are_an_outcome():
    found = gamp(paper(), 100, iterations=2)
    assert found.outcomes == {"stopped": 1}
    assert "asked for" in found.runs[0].reason
